"""The driver, the process that calls `train`: opens shards, starts workers, follows, recovers, gathers the result."""
