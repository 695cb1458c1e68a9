"""What a hook may ask for before a step, and how it is looked up after it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from course.training.checkpoint.snapshot import Snapshot

#: A parameter's name or "version"; a function of the parameters (name to tensor); a list or a dict of these.
Fetch = str | Callable[[dict[str, torch.Tensor]], Any]
Fetches = Fetch | Sequence[Fetch] | Mapping[str, Fetch]


def fetched(fetches: Fetches, snapshot: Snapshot, asker: object) -> Any:
    """Return what `fetches` asks for, in its own form: one value, a list, or a dict with the same keys.

    Tensors are copies. `asker`: the hook, for the error: ValueError for what can't be fetched.
    """
    if isinstance(fetches, Mapping):
        return {key: _fetched_value(fetch, snapshot, asker) for key, fetch in fetches.items()}
    if isinstance(fetches, (list, tuple)):
        return [_fetched_value(fetch, snapshot, asker) for fetch in fetches]
    return _fetched_value(fetches, snapshot, asker)


def _fetched_value(fetch, snapshot, asker):
    if isinstance(fetch, str) and fetch in snapshot.parameters:
        return snapshot.parameters[fetch].clone()
    if fetch == "version":
        return snapshot.version
    if callable(fetch):
        return fetch({name: value.clone() for name, value in snapshot.parameters.items()})
    raise ValueError(
        f"{type(asker).__name__}.before_run asks for {fetch!r}: give {', '.join(snapshot.parameters)} or version, a "
        "function of the parameters, or a list or a dict of these."
    )
