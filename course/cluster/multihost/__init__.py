"""Tasks started by hand, on one host or several: joining, heartbeats, and the reason that a refused task gets."""
