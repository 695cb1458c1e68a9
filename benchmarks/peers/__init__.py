"""The forms that ours are measured beside: the limit, the usual way on Dask, and figures recorded elsewhere."""
