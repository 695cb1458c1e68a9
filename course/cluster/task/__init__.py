"""What runs inside a task: its Dask worker, its share of the host's GPUs, where work is placed, what comes back."""
