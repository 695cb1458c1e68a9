"""Clusters that Dask's own deployers start: behind the course's `Cluster` as far as these go."""
