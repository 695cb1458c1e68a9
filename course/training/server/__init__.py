"""The parameter server: the store, the rule of when a push is applied, shard 0 that orders pushes, its followers."""
