"""Simulated GPUs from a program's own `import torch` on, where the environment asks for them.

PyTorch calls `start_if_asked` at the end of its import, by the entry point `torch.backends`. Without `SIMGPU_GPUS` in
the environment it returns at once, and loads nothing else of this package.
"""

import os

from simgpu.variables import GPUS


def start_if_asked() -> None:
    """Start the simulated GPUs that the environment asks for; without `SIMGPU_GPUS` do nothing.

    `SIMGPU_GPUS` is their count, `SIMGPU_MODEL` a model's name ("H200"), `SIMGPU_MEMORY` the bytes of each ("2GiB"),
    `CUDA_VISIBLE_DEVICES` those of them that the process sees. They end with the process. Where they can't
    be started, the reason is printed on the standard error and the program goes on without GPUs: no import fails.
    """
    count = os.environ.get(GPUS)
    if count:
        from simgpu.environment import start

        start(count)
