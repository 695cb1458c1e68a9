"""Torch's own database of operators, each called on the CPU and on `cuda` from the same numbers."""
