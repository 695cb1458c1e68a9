"""CUDA's own kernels, as data: which dtypes they take, and what they are called in torch's messages."""
