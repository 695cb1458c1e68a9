"""The worker: the loop that pulls, computes and pushes, and its connections to all shards."""
