"""What every room speaks of: the result and its history, a training's settings, where its shards are, its errors."""
