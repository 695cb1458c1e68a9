"""How tensors get from a worker to a shard: frames, the layout of tensors in a buffer, shared memory, the listener."""
