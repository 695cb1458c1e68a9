"""What every room speaks of: the result and its history, a training's settings, where its shards are, its errors."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import torch

if TYPE_CHECKING:
    from course.devices import Device
    from course.training.checkpoint.snapshot import Snapshot

#: From the (host, port) at which a shard listens to the one that another process connects to.
Route = Callable[[tuple[str, int]], tuple[str, int]]

#: A rule of placement of the reader's own: from a parameter's name and tensor to the index of its ps task, from 0.
PlacementRule = Callable[[str, torch.Tensor], int]

#: One applied gradient, as it is kept and sent; the times are seconds since all workers were there, on the server's
#: clock. Several have the same `step` where a synchronous update used several workers.
RECORD = numpy.dtype(
    [("step", "<i8"), ("worker", "<i8"), ("version", "<i8"), ("loss", "<f8"), ("arrived", "<f8"), ("applied", "<f8")]
)


class Step(NamedTuple):
    """One applied gradient: which update (`step`, from 1), whose, computed at which `version`, with which `loss`."""

    step: int
    worker: int
    version: int
    loss: float
    arrived: float
    applied: float

    @property
    def staleness(self) -> int:
        """Updates by others between this gradient's pull and its push."""
        return self.step - 1 - self.version

    @property
    def values(self) -> Any:
        """The values that the hook asked for in its `before_run`; None where it asked for none."""
        return None


class StepWithValues(Step):
    """A `Step` for a hook that asked for values."""

    values: Any = None


class Event(NamedTuple):
    """Something that happened to the training: `what`, to which `task` (a name, or ""), after `step` updates.

    `seconds`: on the same clock as `RECORD`'s times. `what` is one of "worker lost", "worker counted out" (silent, not
    gone), "worker joined" (again), "worker refused" (its parameters are others), "ps lost", "restored" (from the
    checkpoint of `step`), "checkpoint saved" and "chief took over"; `reason`: a few words more, or "".
    """

    seconds: float
    what: str
    task: str
    step: int
    reason: str = ""


@dataclass(frozen=True, repr=False, eq=False)
class TrainingResult:
    """The outcome of `train`.

    - `parameters`: name to tensor, as they were at the end; `version`: the number of updates applied.
    - `history`: numpy array of `RECORD`, one row an applied gradient, in order of application; of the updates that led
      to `parameters`, so updates that the loss of a ps undid are not in it, nor those before a resumed checkpoint.
    - `dropped`: worker -> gradients refused as too old; `lost`: worker -> why it left before the end.
    - `stopped_by`: the reason a hook gave, or None when the steps were done. `seconds`: from the moment that all
      workers were there to the last update.
    - `incarnations`: how often shards were opened, 1 where no ps was lost; `events`: list of `Event`, in order;
      `restored_from`: the step of the checkpoint that the last incarnation began with, None without one.
    - `sent`, `acknowledged`, `applied`: worker -> pushes, counted by the worker, by the worker, and by the servers, in
      the updates that led to `parameters`: acknowledged ≤ applied + dropped ≤ sent.
    - `devices`: the `Device` that each worker computed on, simulated ones marked so; empty where none was asked for.
    - `placement`: parameter's name -> the ps task that kept it at the end, "/job:ps/task:0"; empty in turns.
    - `degraded`: synchronous updates that used fewer gradients than asked for, since too few workers were alive.
    - `problem`: what was trained.
    """

    mode: str
    workers: int
    parameters: dict[str, torch.Tensor]
    version: int
    history: numpy.ndarray
    seconds: float
    dropped: dict[int, int] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    stopped_by: str | None = None
    incarnations: int = 1
    events: list[Event] = field(default_factory=list)
    sent: dict[int, int] = field(default_factory=dict)
    acknowledged: dict[int, int] = field(default_factory=dict)
    applied: dict[int, int] = field(default_factory=dict)
    degraded: int = 0
    restored_from: int | None = None
    devices: "Sequence[Device]" = field(default_factory=list)
    placement: dict[str, str] = field(default_factory=dict)
    problem: Any = None

    def module(self) -> torch.nn.Module:
        """Return the trained network: what the problem's `module` makes of a copy of `parameters`, on the CPU.

        `modelserver.export` takes it, and the result itself. Raises ValueError for a problem without that method.
        """
        make = getattr(self.problem, "module", None)
        if make is None:
            raise ValueError(
                f"TrainingResult.module(): the problem {repr(self.problem):.100} has no module(parameters). Give it "
                "that method, which returns a torch.nn.Module with these parameters, or export such a module yourself."
            )
        return make({name: value.detach().cpu().clone() for name, value in self.parameters.items()})

    @property
    def staleness(self) -> numpy.ndarray:
        """Staleness of every applied gradient, in order: array of integers."""
        return self.history["step"] - 1 - self.history["version"]

    def staleness_counts(self) -> dict[int, int]:
        """Return how many gradients had which staleness, as a dict in rising order."""
        return dict(sorted(Counter(self.staleness.tolist()).items()))

    def of_worker(self, worker: int) -> numpy.ndarray:
        """Return the rows of `history` that are worker number `worker`'s."""
        return self.history[self.history["worker"] == worker]

    @property
    def steps_per_second(self) -> float:
        """Updates a second, of those in `history`; a synchronous update uses several gradients."""
        updates = self.version - int(self.history["step"][0]) + 1 if len(self.history) else 0
        return updates / self.seconds if self.seconds else float("nan")

    def __repr__(self):
        stop = f", stopped by: {self.stopped_by}" if self.stopped_by else ""
        workers = "1 worker" if self.workers == 1 else f"{self.workers} workers"
        return f"TrainingResult({self.mode}, {workers}, {self.version} updates{stop})"


@dataclass(frozen=True)
class TrainingSettings:
    """How pushes are applied (`mode`, `max_staleness`, `aggregate`), by how many `workers`, up to version `limit`.

    `placement`: how parameters are spread over the ps tasks, see `spread`. `grace`: seconds that a shard
    whose driver has gone waits for another before it ends. `seed`: as given to `train`; snapshots carry it.
    """

    mode: str
    workers: int
    limit: int
    max_staleness: int | None = None
    aggregate: int | None = None
    placement: str | PlacementRule = "by_size"
    grace: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class ShardAddresses:
    """The shards of one incarnation, shard 0 first; it can be pickled.

    `endpoints`: (host, port) of each; `tasks`: their names in the cluster; `names`: the parameters that each holds
    (empty: one shard has all); `parameters`: name -> shape and dtype of all, in the problem's order. `token`: the
    training's secret.
    `routed`: whether these are the endpoints of a way to them, by which every byte is to go.
    """

    endpoints: tuple[tuple[str, int], ...]
    tasks: tuple[str, ...]
    token: str
    incarnation: int = 0
    names: tuple[tuple[str, ...], ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    routed: bool = False

    @property
    def placement(self) -> dict[str, str]:
        """Each parameter's name -> the task that keeps it, in the problem's order."""
        keeper = {name: task for task, names in zip(self.tasks, self.names, strict=False) for name in names}
        return {name: keeper.get(name, self.tasks[0]) for name in self.parameters}

    def misfit(self, parameters: Mapping[str, str]) -> str | None:
        """Return, in a sentence or two, why a worker with these `described` parameters can't take part; None: it can.

        >>> shard = ShardAddresses((), (), "", parameters={"w": "(2,) torch.float32"})
        >>> shard.misfit({"w": "(3,) torch.float32"}).partition(". ")[0]
        "its 'w' is (3,) torch.float32, the training's (2,) torch.float32"
        """
        name = differing(self.parameters, parameters) if self.parameters else None
        if name is None:
            return None
        own, shared = (of.get(name, "not there") for of in (parameters, self.parameters))
        return f"its {name!r} is {own}, the training's {shared}. Start every role with one problem and its flags."

    def by(self, route: Route | None) -> "ShardAddresses":
        """Return the shards as a process finds them by `route`; None: straight."""
        if route is None:
            return self
        return replace(self, endpoints=tuple(route(endpoint) for endpoint in self.endpoints), routed=True)


def described(parameters: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """Return each parameter's name -> its shape and dtype in words, such as "(784, 100) torch.float32"."""
    return {name: f"{tuple(value.shape)} {value.dtype}" for name, value in parameters.items()}


def differing(first: Mapping[str, str], second: Mapping[str, str]) -> str | None:
    """Return the name of a parameter that two results of `described` don't have alike; None where all are alike."""
    return next((name for name in sorted({*first, *second}) if first.get(name) != second.get(name)), None)


def in_words(error: BaseException) -> str:
    """Return what the reader's code raised as one line: "ZeroDivisionError: division by zero"."""
    return f"{type(error).__name__}: {error}"


def why_unread(error: BaseException) -> str:
    """Return why a task can't begin with a problem, in a sentence or two; `error`: the exception that it raised."""
    hint = (
        " A task imports the module that a problem is defined in: start it in its folder, or install the module there."
    )
    return f"{in_words(error)}.{hint if isinstance(error, (ImportError, AttributeError)) else ''}"


@contextmanager
def exits_as_errors(whose: str) -> Iterator[None]:
    """Within the `with`, what would end the process or a thread, such as SystemExit, becomes a TrainingError."""
    try:
        yield
    except Exception:  # the reader's code may raise anything: it is raised as it is
        raise
    except BaseException as error:
        raise TrainingError(f"{whose} raised {in_words(error)}") from error


class TrainingError(RuntimeError):
    """Training can't go on: the message names the task and what happened to it."""


class Misfit(TrainingError):
    """A worker whose parameters are not the training's was refused."""


class ShardLost(TrainingError):
    """A ps task that held parameters is gone or silent: `task` says which, `reason` what was seen."""

    def __init__(self, task: str, reason: str):
        reason = reason.rstrip(".")  # it stands within other sentences
        super().__init__(
            f"{task}, the parameter server, is lost: {reason}. The parameters were only there; call train "
            "again to start over (the cluster replaces a task that died), or give a checkpoint_dir to go on by itself."
        )
        self.task, self.reason = task, reason


class ShardLeaves(ShardLost):
    """A ps task that holds parameters got notice to end; `snapshot` has the parameters of all ps tasks."""

    def __init__(self, task: str, snapshot: "Snapshot"):
        super().__init__(task, "the system that runs it has told it to end")
        self.snapshot = snapshot


class Deposed(TrainingError):
    """This process was the chief and is not any more: its lease ran out, or another has a later term."""


class NonFiniteError(ValueError):
    """A gradient or a loss holds NaN or infinity: `tensor` says which, `version` which parameters it came from."""

    def __init__(self, tensor: str, version: int):
        super().__init__(
            f"{tensor} is not finite at version {version}. "
            "Most often the learning rate is too large; try a tenth of it, or add StopOnNaN() to the hooks."
        )
        self.tensor, self.version = tensor, version
