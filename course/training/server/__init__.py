"""The parameter server: the store, the rules of when a push is applied, shard 0's decisions and how others follow."""
