"""What `train` does: it opens shards, has workers work, follows an incarnation, recovers, and gathers the result."""
