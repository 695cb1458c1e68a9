"""The parameter server's state: named parameters, an optimiser, and a version that counts the updates."""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy
import torch

from course.signals import held_back
from course.training.checkpoint.snapshot import Snapshot, load_optimizer_state, optimizer_state
from course.training.problems.problem import MakeOptimizer
from course.training.records import NonFiniteError, in_words
from course.training.server.flat_sgd import flat_sgd
from course.training.transport.layout import Tensors, new_tensors


class Pulled(NamedTuple):
    """What a pull gives: the version, and copies of the parameters as they were at that version."""

    version: int
    parameters: dict[str, torch.Tensor]


class ParameterServer:
    """Named parameters that change only by `push`. Plain state: threads that share one hold a lock.

    `parameters`: name to tensor (copied). `optimizer`: a function from a list of tensors to a `torch.optim` optimiser,
    such as `functools.partial(torch.optim.SGD, lr=0.05)`. `state`: a `Snapshot` of these parameters to go on from
    (copied); raises ValueError for one of other parameters or another optimiser.

    >>> from functools import partial
    >>> store = ParameterServer({"w": torch.zeros(2)}, partial(torch.optim.SGD, lr=1.0))
    >>> version, parameters = store.pull()
    >>> store.push({"w": torch.tensor([1.0, 2.0])}, version)
    0
    >>> store.pull()
    Pulled(version=1, parameters={'w': tensor([-1., -2.])})
    """

    def __init__(self, parameters: dict[str, torch.Tensor], optimizer: MakeOptimizer, state: Snapshot | None = None):
        if not parameters:
            raise ValueError("ParameterServer(parameters={}): there is nothing to train; give at least one tensor.")
        values = parameters
        if state is not None:
            state.check(parameters)
            values = {name: state.parameters[name] for name in parameters}
        self._parameters: dict[str, torch.Tensor] = new_tensors(values)
        for value in self._parameters.values():
            value.requires_grad_()
        with held_back():  # PyTorch's first optimiser imports a compiler: seconds, and all or nothing
            self._optimizer = optimizer(list(self._parameters.values()))
        kind = type(self._optimizer).__name__
        if not isinstance(self._optimizer, torch.optim.Optimizer) or kind in ("LBFGS", "SparseAdam"):
            raise ValueError(
                f"ParameterServer(optimizer=…) made a {kind}: an optimiser that takes one dense gradient a step is "
                "needed. Use functools.partial(torch.optim.SGD, lr=0.05), or Adam, Adagrad, RMSprop, …"
            )
        self._version, self._failed = 0, ""
        if state is not None:
            state.check(parameters, kind)
            load_optimizer_state(self._optimizer, parameters, state.optimizer)
            self._version = state.version
        self._flat_sgd = flat_sgd(self._optimizer, self._parameters)

    @cached_property
    def spare(self) -> Tensors | None:
        """Room for a gradient that lies as the parameters do, its values of no meaning; None where they differ."""
        ours = self._parameters
        if not isinstance(ours, Tensors) or ours.flat is None:
            return None
        return ours.layout.parts(torch.zeros_like(ours.flat))

    @property
    def version(self) -> int:
        """The number of updates applied so far."""
        return self._version

    def pull(self, into: dict[str, torch.Tensor] | None = None) -> Pulled:
        """Return `(version, parameters)`: copies, which later pushes don't change.

        `into`: name to tensor, to receive the copies instead of new tensors (a buffer about to be sent).
        """
        self._check_whole()
        if into is None:
            into = {n: torch.empty_like(p, requires_grad=False) for n, p in self._parameters.items()}
        flat, ours = self._flat(into), self._flat(self._parameters)
        with torch.no_grad():
            if flat is not None and ours is not None:
                flat.copy_(ours)
            else:
                for name, parameter in self._parameters.items():
                    into[name].copy_(parameter)
        return Pulled(self._version, into)

    @cached_property
    def _words(self) -> numpy.ndarray | None:
        """The parameters' own memory as whole numbers of 8 bytes, which every tensor fills; None where it isn't one."""
        flat = self._parameters.flat if isinstance(self._parameters, Tensors) else None
        return None if flat is None else flat.view(torch.int64).numpy()

    def copied(self, into: numpy.ndarray | None = None) -> numpy.ndarray | dict[str, torch.Tensor]:
        """Return copies for `named`: one array (`into`, an older one, which saves time), or name to tensor."""
        if self._words is None:
            return self.pull().parameters
        self._check_whole()
        # by numpy, which lets no other thread in before a short copy is made: a torch op does, and waits for its turn
        if into is None:
            return self._words.copy()
        numpy.copyto(into, self._words)
        return into

    def named(self, copies: numpy.ndarray | dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return what `copied` returned as name to tensor."""
        if isinstance(copies, dict):
            return copies
        ours: Any = self._parameters  # `Tensors`
        return dict(ours.layout.parts(torch.from_numpy(copies).view(ours.flat.dtype)))

    def push(self, gradients: dict[str, torch.Tensor], version: int) -> int:
        """Apply one update with gradients computed at `version`; return the staleness: updates since that version.

        Raises ValueError for gradients whose names, shapes or dtypes are not the parameters', or for a version that
        doesn't exist yet, and NonFiniteError for NaN or infinity; the store is then unchanged.
        """
        if not 0 <= version <= self._version:
            raise ValueError(
                f"push(version={version}): the store is at version {self._version}. "
                "Pass the version that pull() returned with the parameters."
            )
        self.check(gradients, version)
        return self.apply(gradients, version)

    def apply(self, gradients: dict[str, torch.Tensor], version: int) -> int:
        """Push gradients that have passed `check`: the part of a push that needs the lock.

        Raises what the optimiser raises; some parameters may have changed then, so none can be had any more.
        """
        try:
            self._step(gradients)
        except BaseException as error:  # SystemExit too
            self._failed = in_words(error)
            raise
        staleness = self._version - version
        self._version += 1
        return staleness

    def _step(self, gradients):
        flat = self._flat(gradients)
        if self._flat_sgd is not None and flat is not None:
            self._flat_sgd.step(flat)
            return
        for name, parameter in self._parameters.items():
            parameter.grad = gradients[name]
        self._optimizer.step()
        for parameter in self._parameters.values():
            parameter.grad = None  # lets go of the caller's tensors

    def _flat(self, tensors):
        """Return `tensors` as one vector that lies as the parameters do; None where they don't lie so."""
        ours = self._parameters
        if isinstance(tensors, Tensors) and isinstance(ours, Tensors) and tensors.layout == ours.layout:
            return tensors.flat
        return None

    def push_pull(self, gradients: dict[str, torch.Tensor], version: int) -> Pulled:
        """Push, then pull: one round trip instead of two."""
        self.push(gradients, version)
        return self.pull()

    def state(self) -> Snapshot:
        """Return a `Snapshot` of this moment: copies, which later pushes don't change."""
        self._check_whole()
        parameters = {name: value.detach().clone() for name, value in self._parameters.items()}
        kind = type(self._optimizer).__name__
        return Snapshot(self._version, parameters, optimizer_state(self._optimizer, parameters), kind)

    def check(self, gradients: dict[str, torch.Tensor], version: int) -> None:
        """Raise as `push` does for gradients that can't be applied; changes nothing, and needs no lock."""
        flat = self._flat(gradients)
        if flat is not None and _is_finite(flat):
            return
        if gradients.keys() != self._parameters.keys():
            raise ValueError(
                f"push(gradients={{{', '.join(map(repr, gradients))}}}): the parameters are "
                f"{', '.join(map(repr, self._parameters))}. Push one gradient for each."
            )
        for name, parameter in self._parameters.items():
            gradient = gradients[name]
            if gradient.shape != parameter.shape or gradient.dtype != parameter.dtype:
                raise ValueError(
                    f"push(gradients={name!r}: {tuple(gradient.shape)} {gradient.dtype}): the parameter is "
                    f"{tuple(parameter.shape)} {parameter.dtype}. A gradient has its parameter's shape and dtype."
                )
            if not _is_finite(gradient):
                raise NonFiniteError(f"the gradient of {name!r}", version)

    def _check_whole(self):
        if self._failed:
            raise ValueError(
                f"the optimiser failed in update {self._version + 1}, which may be half made: {self._failed}"
            )

    def __repr__(self):
        shapes = ", ".join(f"{name}: {tuple(value.shape)}" for name, value in self._parameters.items())
        return f"ParameterServer({shapes}; {type(self._optimizer).__name__}, version {self._version})"


def _is_finite(tensor):
    # A sum is finite only where every term is, and takes a fifth of the time of looking at each; it may overflow, so
    # that looking at each has the last word. One number is read directly.
    total = tensor if tensor.numel() == 1 else tensor.sum()
    return math.isfinite(total.item()) or bool(tensor.isfinite().all())
