"""What the driver does, the process that calls `train`: it opens shards, has workers work, follows an incarnation, recovers, and gathers the result."""
