"""The environment's variables that ask for simulated GPUs. A leaf, imported whenever torch is."""

GPUS, MODEL, MEMORY, REPORT = "SIMGPU_GPUS", "SIMGPU_MODEL", "SIMGPU_MEMORY", "SIMGPU_REPORT"
VISIBLE = "CUDA_VISIBLE_DEVICES"
