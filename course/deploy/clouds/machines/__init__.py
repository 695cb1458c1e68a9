"""Clusters whose scheduler and workers are machines of a cloud, which a start-up script ends for certain."""
