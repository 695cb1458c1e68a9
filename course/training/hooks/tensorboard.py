"""The hook that writes what TensorBoard shows: losses, staleness, rates, validation, parameters, and what happened."""

import os
import warnings
from contextlib import redirect_stdout
from typing import Any

import torch

from course.signals import held_back
from course.training.hooks.base import Hook, Session
from course.training.hooks.progress import StepRate
from course.training.problems.problem import Problem, batch_generator, shown
from course.training.records import Event, Step, in_words
from modelserver.bucket import is_address


class WriteSummaries(Hook):
    """Write event files into `folder`; look at them with `tensorboard --logdir folder`.

    - Every `every` updates: mean loss and mean staleness of each worker since the last time, and updates a second.
    - Every `histograms` updates, exactly (None: never): a histogram of each parameter; of a single number, its value.
    - What `Validate` finds, when it does; training's events and its settings as text.
    - With `graph`, once: the loss as a graph of operations, from the parameters and a first batch. It must be a tensor
      or a tuple of tensors; where the loss can't be traced, the text "graph" says why.

    A folder is one training's: what older files in it say of steps after the one that training starts from, or goes on
    from after a restart, is no longer shown. Where it can't be written, a warning says that there are no summaries.
    """

    def __init__(self, folder: str | os.PathLike, every: int = 100, histograms: int | None = 1000, graph: bool = True):
        if every < 1 or (histograms is not None and histograms < 1):
            raise ValueError(
                f"WriteSummaries(every={every}, histograms={histograms}): give numbers of updates from 1 up, or "
                "histograms=None for none."
            )
        if is_address(folder):
            raise ValueError(
                f"WriteSummaries({str(folder)!r}): events are appended, and a store can't. Name a folder here."
            )
        self.folder, self.every, self.histograms, self.graph = folder, every, histograms, graph
        self.copies_every = histograms
        self._file = EventFile(folder)
        self._collected: dict[int, list[Step]] = {}  # by worker
        self._written = self._drawn = 0

    def begin(self, session: Session) -> None:
        """Open the event file and write the settings; raises ImportError where TensorBoard isn't installed."""
        self._rate = StepRate(self.every)
        self._restart(session.step)
        settings = {"problem": shown(session.problem), **session.settings}
        rows = "\n".join(f"| {name} | {str(value).replace('|', ' ')} |" for name, value in settings.items())
        self._file.add("text", "settings", f"| setting | value |\n|---|---|\n{rows}", session.step)
        if self.graph and session.problem is not None:
            self._file.add_graph(session.problem)

    def after_run(self, session: Session, step: Step) -> None:
        """Collect, and write when it is time to."""
        self._rate.after_run(session, step)
        self._collected.setdefault(step.worker, []).append(step)
        if step.step // self.every > self._written:
            self._written = step.step // self.every
            self._write_scalars(step.step)
        if self.histograms and step.step // self.histograms > self._drawn:
            self._drawn = step.step // self.histograms
            self._write_parameters(session.snapshot_of(step.step))

    def validated(self, session: Session, step: int, values: dict[str, float]) -> None:
        """Write what a validation has found."""
        for name, value in values.items():
            self._file.add("scalar", f"validation/{name}", value, step)

    def event(self, session: Session, event: Event) -> None:
        """Write what happened; from a restart on, steps are counted from the checkpoint's."""
        if event.what == "restored":
            self._restart(event.step)
        words = " ".join(filter(None, (event.what, event.task, event.reason)))
        self._file.add("text", "events", words, event.step)

    def finished(self, session: Session) -> None:
        """Write the last parameters."""
        if self.histograms:
            self._write_parameters(session.snapshot())

    def end(self, session: Session) -> None:
        """Close the file."""
        self._file.close()

    def _restart(self, step):
        self._file.open(purge_step=step + 1)
        self._collected, self._written = {}, step // self.every
        self._drawn = step // self.histograms if self.histograms else 0

    def _write_scalars(self, at_step):
        for worker, steps in sorted(self._collected.items()):
            for name in ("loss", "staleness"):
                mean = sum(getattr(step, name) for step in steps) / len(steps)
                self._file.add("scalar", f"{name}/worker_{worker}", mean, at_step)
        if self._rate.rate is not None:
            self._file.add("scalar", "steps_per_second", self._rate.rate, at_step)
        self._collected.clear()

    def _write_parameters(self, snapshot):
        for name, value in snapshot.parameters.items() if snapshot else ():
            if value.numel() == 1:
                self._file.add("scalar", f"parameters/{name}", value.item(), snapshot.version)
            elif value.numel() and value.isfinite().all():  # no histogram has a place for NaN
                self._file.add("histogram", f"parameters/{name}", value, snapshot.version)


def load() -> Any:
    """Import what writes event files, which takes seconds, and return its class; ImportError without TensorBoard."""
    with held_back():
        from torch.utils.tensorboard import SummaryWriter
    return SummaryWriter


class EventFile:
    """An event file of TensorBoard's; when the disk refuses it says so once, and is silent from then on."""

    def __init__(self, folder: str | os.PathLike):
        self._folder, self._writer = folder, None

    def open(self, purge_step: int) -> None:
        """Open a file that overrides, in TensorBoard, what older ones say of steps from `purge_step` on."""
        SummaryWriter = load()
        self.close()
        self._writer = self._tried(lambda: SummaryWriter(str(self._folder), purge_step=purge_step))

    def add(self, kind: str, tag: str, value: Any, step: int) -> None:
        """Write a "scalar", a "histogram" or a "text"."""
        if self._writer is not None:
            self._tried(lambda: getattr(self._writer, f"add_{kind}")(tag, value, step))

    def add_graph(self, problem: Problem) -> None:
        """Write the graph of the problem's loss, or a text that says why there is none."""
        if self._writer is None:
            return
        try:
            batch = problem.batch(0, 0, batch_generator(0, 0, 0))
            module = Loss(problem, batch)
            # PyTorch's way to TensorBoard's form is `torch.jit.trace`, which says that it is old and prints its errors
            with warnings.catch_warnings(), redirect_stdout(None):
                warnings.simplefilter("ignore")
                self._tried(lambda: self._writer.add_graph(module, batch))
        except Exception as error:  # the reader's batch or loss may be anything
            self.add("text", "graph", f"the loss can't be traced: {in_words(error)}", 0)

    def close(self) -> None:
        """Flush and close. Idempotent."""
        if self._writer is not None:
            self._tried(self._writer.close)
            self._writer = None

    def _tried(self, write):
        try:
            return write()
        except OSError as error:
            self._writer = None
            text = f"WriteSummaries({str(self._folder)!r}): summaries can't be written: {error}. Training goes on "
            warnings.warn(text + "without them; name a folder of yours on a disk with space.", stacklevel=2)
            return None


class Loss(torch.nn.Module):
    """A problem's loss as a module, its parameters by their names: what PyTorch can draw for TensorBoard."""

    def __init__(self, problem: Problem, batch: Any):
        super().__init__()
        self._problem, self._attributes, self._alone = problem, {}, isinstance(batch, torch.Tensor)
        for name, value in problem.initial().items():
            self._attributes[name] = name.replace(".", "_")  # an attribute's name has no dot
            self.register_parameter(self._attributes[name], torch.nn.Parameter(value, requires_grad=False))

    def forward(self, *batch: torch.Tensor) -> torch.Tensor:
        """Return the loss on the batch, whose tensors are arguments."""
        parameters = {name: getattr(self, attribute) for name, attribute in self._attributes.items()}
        return self._problem.loss(parameters, batch[0] if self._alone else batch)
