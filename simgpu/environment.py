"""Simulated GPUs as the environment's variables describe them, and the report of them when the process ends."""

import atexit
import dataclasses
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simgpu.units import bytes_in_words, seconds_in_words
from simgpu.variables import GPUS, MEMORY, MODEL, REPORT, VISIBLE

if TYPE_CHECKING:
    from simgpu.models.device_model import DeviceModel
    from simgpu.session import SimulatedGPUs

MOST = 128
LEAST_MEMORY = 2**20  # less holds not even what PyTorch takes at a time
_UNITS = {"": 1, "B": 1}
_UNITS |= {
    f"{letter}{unit}": base**power
    for power, letter in enumerate("KMGT", 1)
    for unit, base in (("iB", 1024), ("B", 1000))
}


def start(count_text: str) -> "SimulatedGPUs | None":
    """Start `count_text` GPUs with the environment's model and memory; print why on standard error where that fails."""
    from simgpu.session import simulated_gpus
    from simgpu.state import active

    if active() is not None:  # two entry points, or a plugin, came first
        return None
    try:
        count = visible(count_of(count_text), os.environ)
        if not count:
            return None
        gpus = simulated_gpus(count, model(os.environ.get(MODEL, "H200"), os.environ.get(MEMORY)))
    except Exception as error:  # a card's ValueError, or torch's own: `import torch` must not fail for any
        print(f"simgpu: no simulated GPUs in this process. {type(error).__name__}: {error}", file=sys.stderr)
        return None
    if os.environ.get(REPORT):
        atexit.register(report, gpus)
    return gpus


def count_of(text: str, name: str = GPUS) -> int:
    """Return the number of GPUs that `text`, given as `name`, says, 1 to 128; raises ValueError otherwise.

    >>> count_of("4")
    4
    """
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
        raise ValueError(f"{name}={text!r}: give a whole number from 1 to {MOST}, as in {name}=4.")
    return int(text)


def bytes_of(text: str) -> int:
    """Return the bytes that `text` says: a number with KiB, MiB, GiB, TiB (powers of 1,024) or KB, MB, GB, TB.

    Raises ValueError for anything else, and for less than 1 MiB.

    >>> bytes_of("2GiB"), bytes_of("1.5 GB"), bytes_of("4000000")
    (2147483648, 1500000000, 4000000)
    """
    words = text.strip()
    number = words.rstrip("KMGTiB ")
    unit = words[len(number) :].strip()
    try:
        count = int(float(number) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        count = 0
    if count < LEAST_MEMORY:
        raise ValueError(f"memory {text!r}: give a size of 1 MiB or more with its unit, as in 2GiB, 512MiB or 16GB.")
    return count


def model(name: str, memory: str | None = None) -> "DeviceModel":
    """Return the `DeviceModel` called `name`, with `memory` ("2GiB") instead of its own if that is given."""
    from simgpu.models.catalogue import model_for

    card = model_for(name)
    return card if memory is None else dataclasses.replace(card, memory=bytes_of(memory))


def visible(count: int, environment: Mapping[str, str]) -> int:
    """Return how many of `count` GPUs `CUDA_VISIBLE_DEVICES` shows: as CUDA reads it, up to the first that isn't there.

    >>> visible(4, {}), visible(4, {"CUDA_VISIBLE_DEVICES": "2,3"}), visible(4, {"CUDA_VISIBLE_DEVICES": "0,9,1"})
    (4, 2, 1)
    """
    listing = environment.get(VISIBLE)
    if listing is None:
        return count
    shown: list[str] = []
    for entry in (part.strip() for part in listing.split(",")):
        if not (entry.isascii() and entry.isdigit() and int(entry) < count):
            break
        if entry in shown:
            return 0  # CUDA shows none at all where one is named twice
        shown.append(entry)
    return len(shown)


def report(gpus: "SimulatedGPUs") -> None:
    """Say on the standard error what the program used of `gpus`: modelled seconds, peak memory."""
    accounts = [gpus.memory.account(index) for index in range(gpus.count)]
    if not gpus.clock.spans and "torch.distributed.run" in sys.modules:
        return  # torchrun's own process: each rank prints its own report
    if not gpus.clock.spans:
        print(f"simgpu: {gpus!r}: the program ran nothing on them.", file=sys.stderr)
        return
    rank = os.environ.get("RANK")
    peaks = ", ".join(f"cuda:{i} {bytes_in_words(a.peak)}" for i, a in enumerate(accounts) if a.peak)
    total = bytes_in_words(accounts[0].total)
    print(
        f"simgpu{'' if rank is None else f' rank {rank}'}: {gpus.count} × {gpus.model.hardware}, simulated. "
        f"{seconds_in_words(gpus.clock.host)} of the host ({gpus.model.label}). "
        f"Peak memory of {total} each: {peaks or 'none'}.",
        file=sys.stderr,
    )
