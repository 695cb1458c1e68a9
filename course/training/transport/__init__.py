"""How tensors get from a worker to a shard: the wire, its layout, shared memory, and who listens."""
