"""Tasks started by hand, on one host or several: joining, leases, heartbeats, and what a refused one is told."""
