"""The worker: its loop, and its connections to the shards."""
