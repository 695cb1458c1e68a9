"""A training at one version, all of it: parameters, the optimiser's state, and which pushes are in them.

Each parameter-server task gives its part; `merge` makes one snapshot of them, `part` cuts it for any number of tasks.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import torch

_PIECE = 1 << 20  # bytes


class Applied(NamedTuple):
    """What one worker's session has got in: its last sequence number, and how many pushes were applied and dropped."""

    worker: int
    last: int
    applied: int
    dropped: int


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """The state of a training (or of the part of it that one task keeps) after exactly `version` updates.

    - `parameters`: name to CPU tensor, never changed afterwards by the training. `seed`: as given to `train`.
    - `optimizer`: `{"groups": [{"names": […], "lr": 0.1, …}], "state": {parameter's name: {key: tensor or number}}}`;
      `kind`: the optimiser's class name.
    - `incarnation`: how often the training had to start again from a checkpoint; `applied`: session's id to `Applied`,
      the pushes that are in these parameters. Older incarnations and pushes seen before are refused by it.

    >>> whole = Snapshot(7, {"a": torch.zeros(2), "b": torch.ones(3)}, kind="SGD")
    >>> Snapshot.merge([whole.part(["b"]), whole.part(["a"])], names=["a", "b"])
    Snapshot(version 7, incarnation 0, SGD, a: (2,), b: (3,))
    """

    version: int
    parameters: dict[str, torch.Tensor]
    optimizer: dict = field(default_factory=lambda: {"groups": [], "state": {}})
    kind: str = ""
    incarnation: int = 0
    applied: dict[str, Applied] = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def merge(cls, parts: Sequence["Snapshot"], names: Iterable[str] | None = None) -> "Snapshot":
        """Return the snapshot of which `parts` are the parts; `names`: the order of its parameters.

        The first part that has a table of applied pushes gives it: shard 0 keeps it for all. Raises ValueError for
        parts of different versions, incarnations or optimisers, for a parameter in two parts, and for a missing one.
        """
        if not parts:
            raise ValueError("Snapshot.merge(parts=[]): there is nothing to merge; give at least one part.")
        first = parts[0]
        for part in parts:
            for name in ("version", "incarnation", "kind", "seed"):
                if getattr(part, name) != getattr(first, name):
                    raise ValueError(
                        f"Snapshot.merge(parts): their {name} differs, {getattr(first, name)} and "
                        f"{getattr(part, name)}. Merge parts of one cut only."
                    )
        parameters = _united([part.parameters for part in parts])
        names = list(parameters) if names is None else list(names)
        if set(names) != set(parameters):
            raise ValueError(f"Snapshot.merge(names={names}): the parts hold {list(parameters)}. Name each once.")
        groups = _joined_groups([part.optimizer["groups"] for part in parts], names)
        state = _united([part.optimizer["state"] for part in parts])
        applied = next((part.applied for part in parts if part.applied), {})
        parameters = {name: parameters[name] for name in names}
        return replace(first, parameters=parameters, optimizer={"groups": groups, "state": state}, applied=applied)

    def part(self, names: Sequence[str]) -> "Snapshot":
        """Return the snapshot of these parameters, in this order, tensors shared; ValueError for one not here."""
        unknown = [name for name in names if name not in self.parameters]
        if unknown:
            raise ValueError(f"Snapshot.part({unknown}): the parameters are {', '.join(self.parameters)}.")
        wanted = set(names)
        groups = [{**group, "names": [n for n in group["names"] if n in wanted]} for group in self.optimizer["groups"]]
        state = {name: self.optimizer["state"][name] for name in names if name in self.optimizer["state"]}
        parameters = {name: self.parameters[name] for name in names}
        return replace(self, parameters=parameters, optimizer={"groups": groups, "state": state})

    def check(self, parameters: dict[str, torch.Tensor], kind: str | None = None) -> None:
        """Raise ValueError, naming the tensor, unless a training of `parameters` (name to tensor) can go on from here.

        `kind`: the class name of the optimiser that is to go on, or None where it doesn't matter.
        """
        saved, needed = _described(self.parameters), _described(parameters)
        for name in sorted(saved.keys() | needed.keys()):
            if saved.get(name) != needed.get(name):
                raise ValueError(
                    f"the checkpoint (step {self.version}) has {name!r}: {saved.get(name, 'no such parameter')}; the "
                    f"problem has {name!r}: {needed.get(name, 'no such parameter')}. Train the problem that was saved, "
                    "or give another checkpoint_dir."
                )
        if kind is not None and kind != self.kind:
            raise ValueError(
                f"the checkpoint (step {self.version}) was written with the optimiser {self.kind}, not {kind}. "
                f"Train on with {self.kind}, or give another checkpoint_dir."
            )

    def as_pieces(self) -> list[bytes]:
        """Return the snapshot as bytes in pieces, joined for `from_bytes`: its way from a shard to the driver."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        state["applied"] = {session: list(entry) for session, entry in self.applied.items()}
        pieces: list[bytes] = []
        save_in_pieces(state, lambda piece: pieces.append(bytes(piece)))
        return pieces

    @classmethod
    def from_bytes(cls, data: bytes | bytearray) -> "Snapshot":
        """Return the snapshot that `as_pieces` wrote; nothing but tensors and plain data is read."""
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        state["applied"] = {session: Applied(*entry) for session, entry in state["applied"].items()}
        return cls(**state)

    def __repr__(self):
        shapes = ", ".join(f"{name}: {tuple(value.shape)}" for name, value in self.parameters.items())
        return f"Snapshot(version {self.version}, incarnation {self.incarnation}, {self.kind}, {shapes})"


def save_in_pieces(state: dict[str, Any], take: Callable[[memoryview], object]) -> None:
    """Call `take` with what `torch.save` writes of `state`, from its beginning to its end, at most 1 MiB at a time.

    Other threads have their turn between two pieces. Raises the OSError that `take` raises.
    """
    writer = _Writer(take)
    try:
        torch.save(state, writer)  # type: ignore[arg-type]  # of a file it takes write and flush alone
    except RuntimeError:
        if writer.error is None:
            raise
        raise writer.error from None  # PyTorch's writer has its own, unrelated words for a full disk


class _Writer:
    def __init__(self, take):
        self._take, self.error = take, None

    def write(self, data):
        view = memoryview(data).cast("B")
        try:
            for at in range(0, len(view), _PIECE):
                self._take(view[at : at + _PIECE])
        except OSError as error:
            self.error = self.error or error
            raise
        return len(view)

    def flush(self):
        """Nothing waits here."""


def optimizer_state(optimizer: torch.optim.Optimizer, names: Iterable[str]) -> dict[str, Any]:
    """Return copies of a `torch.optim` optimiser's state, by the parameters' `names` (in the optimiser's order)."""
    saved, names = optimizer.state_dict(), list(names)
    groups = []
    for group in saved["param_groups"]:
        members = [names[index] for index in group.pop("params")]
        groups.append({"names": members, **{key: _plain(value) for key, value in group.items()}})
    state = {names[i]: {key: _copied(value) for key, value in entry.items()} for i, entry in saved["state"].items()}
    return {"groups": groups, "state": state}


def load_optimizer_state(optimizer: torch.optim.Optimizer, names: Iterable[str], saved: dict[str, Any]) -> None:
    """Give the optimiser the state that `optimizer_state` returned; its hyperparameters stay those it was made with.

    What the program says counts: someone who resumes with a smaller learning rate wants that one. The state is copied.
    """
    entries = {index: saved["state"][name] for index, name in enumerate(names) if name in saved["state"]}
    state = {index: {key: _copied(value) for key, value in entry.items()} for index, entry in entries.items()}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _plain(value):
    """Return a hyperparameter as a checkpoint can hold it: a learning rate from numpy becomes a number of Python's."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    if isinstance(value, torch.Tensor) or value is None or type(value) in (bool, int, float, str):
        return _copied(value)
    return value.item() if hasattr(value, "item") else repr(value)


def _united(dictionaries):
    united = {}
    for dictionary in dictionaries:
        twice = united.keys() & dictionary.keys()
        if twice:
            raise ValueError(f"Snapshot.merge(parts): {sorted(twice)} is in two of them. Each parameter is in one.")
        united.update(dictionary)
    return united


def _joined_groups(lists, order):
    """Join the parts' groups of equal hyperparameters: the optimiser made the same groups on every task."""
    joined = []
    for group in (group for groups in lists for group in groups):
        rest = {key: value for key, value in group.items() if key != "names"}
        same = next((g for g in joined if {k: v for k, v in g.items() if k != "names"} == rest), None)
        if same is None:
            joined.append({"names": list(group["names"]), **rest})
        else:
            same["names"] = sorted(same["names"] + group["names"], key=order.index)
    return joined


def _described(parameters):
    return {name: f"{tuple(value.shape)} {value.dtype}" for name, value in parameters.items()}
