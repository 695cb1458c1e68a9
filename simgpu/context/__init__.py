"""The context of a process on simulated GPUs: device-side asserts that lose it, the CUDA graph captured in it."""
