"""What `train` does: starts shards and workers, watches them, recovers, and gathers the result."""
