"""What a training that goes on from a checkpoint does otherwise than before: it is allowed, and never silent."""

import warnings
from collections.abc import Iterator
from typing import Any

from course.training.checkpoint.checkpoints import CheckpointWarning
from course.training.checkpoint.snapshot import Snapshot


def warn_of_changes(start: Snapshot, optimizer: dict[str, Any], seed: int, total_steps: int) -> None:
    """Warn (CheckpointWarning) of a setting that is not the checkpoint's, and of steps that are done already.

    `start`: the snapshot of the checkpoint; `optimizer`: the state of the optimiser that goes on, as a snapshot has it;
    `seed`, `total_steps`: as given to `train`.
    """
    settings = dict(_changed(start.optimizer, optimizer))
    if seed != start.seed:
        settings["seed"] = (start.seed, seed)
    if settings:
        words = ", ".join(f"{name}={after} (it was {before})" for name, (before, after) in settings.items())
        text = f"training goes on from step {start.version} with {words}. Give what it was, or resume=False to begin "
        warnings.warn(text + "anew (--no-resume), unless this change is meant.", CheckpointWarning, stacklevel=3)
    if start.version > total_steps:
        text = f"the checkpoint has {start.version} updates, more than total_steps={total_steps}: nothing is trained. "
        warnings.warn(text + "Give more steps, or resume=False to begin anew.", CheckpointWarning, stacklevel=3)


def _changed(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield (hyperparameter's name, (its value before, after)) of those that any parameter has another value of."""
    old, new = ({name: group for group in of["groups"] for name in group["names"]} for of in (before, after))
    for name in new:
        for key in (old[name].keys() & new[name].keys()) - {"names"}:
            if str(old[name][key]) != str(new[name][key]):  # either may be a tensor
                yield key, (old[name][key], new[name][key])
