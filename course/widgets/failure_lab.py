"""Chapter 06's failure lab: a training that runs slowly enough to be hit, and who worked, waited and was dead in it."""

import threading
from functools import partial
from html import escape
from typing import Any, Self

import torch
import traitlets

from course import draw
from course.draw.faults import words_of
from course.draw.picture import Picture
from course.draw.training import of_workers
from course.training.driver.aftermath import HITS, aftermath
from course.training.driver.lives import lives
from course.training.driver.rehearsal import ACTIONS, Rehearsal, RehearsalRecord
from course.widgets.pairs import pairs
from course.widgets.regression_lab import TrainingExhibit

_RATE = 0.001  # learning rate: the loss falls for about ten seconds, so that a step back can be seen
_REDRAW = 0.4  # seconds between two looks of the page
_SHOWN = 120  # points of one worker
_SOON = 0.5  # seconds: a shorter pause than this is a worker's turn, or a busy machine
_PS = "/job:ps/task:0"


class FailureLab(TrainingExhibit):
    """Train a line on one parameter-server process and two or three workers, and hit them while they work.

    State: `workers` (2 or 3), `mode` ("async" or "sync"), `seconds` (how long a training lasts), `plan`: what is done
    by itself, a list of `(second, action, task)` with the actions "kill", "freeze", "thaw", "slow" and "quick".
    While a training runs, `act(action, task)` does one at once, as the buttons do; `refresh()` trains again. `result`
    is the `RehearsalRecord` of the last training. The processes start with the first training and live until
    `close()`, or until there is another lab, as when a cell is run again.
    """

    module, parts = "failure_lab.js", ("failure_timeline.js",)
    styles = ("failure_lab.css",)
    shared = ("axes.js", "controls.js", "scrubber.js")
    actions = ("press", "refresh")
    workers = traitlets.Int(3, min=2, max=3).tag(state=True)
    seconds = traitlets.Float(20.0, min=1.0, max=120.0).tag(state=True)
    plan: traitlets.List = traitlets.List().tag(state=True)

    def __init__(self, **state: object) -> None:
        self._rehearsal: Rehearsal | None = None  # the training that runs, to be hit
        super().__init__(**state)

    @traitlets.validate("plan")
    def _checked_plan(self, proposal):
        plan = [tuple(step) for step in proposal["value"]]
        for step in plan:
            if len(step) != 3 or not isinstance(step[0], (int, float)) or step[1] not in ACTIONS:
                raise traitlets.TraitError(
                    f"FailureLab(plan=[{step!r}]): give (second, action, task), as in (2.0, 'kill', {_PS!r}); "
                    f"actions are {', '.join(ACTIONS)}."
                )
        return plan

    def act(self, action: str, task: str) -> None:
        """Do "kill", "freeze", "thaw", "slow" or "quick" to `task` at once; RuntimeError when no training runs."""
        if action not in ACTIONS:
            raise ValueError(f"act({action!r}): the actions are {', '.join(ACTIONS)}.")
        rehearsal = self._rehearsal  # may end at any moment
        if rehearsal is None:
            raise RuntimeError(f"act({action!r}, {task!r}): no training runs. Start one by refresh(), or Train again.")
        rehearsal.act(action, task)

    def wait(self, timeout: float | None = None) -> Self:
        """Return when the training has ended; raises TimeoutError after `timeout` seconds (default: its own + 120)."""
        return super().wait(self.seconds + 120 if timeout is None else timeout)

    def engine(self, workers: int, mode: str, seconds: float, plan: list) -> RehearsalRecord:
        """Train for `seconds` on the processes, telling the page now and then; return the `RehearsalRecord`."""
        of = {"workers": workers, "mode": mode, "seconds": seconds, "plan": plan}
        self._tell({"settings": of, "busy": 0, "said": "", "answer": self.answer(RehearsalRecord())})
        settings = {"optimizer": partial(torch.optim.SGD, lr=_RATE), "mode": mode, "workers": workers}
        rehearsal = Rehearsal(self.cluster(), self.problem, seconds, plan, **settings)
        over = threading.Event()
        telling = threading.Thread(target=self._tell_now_and_then, args=(rehearsal, of, over), daemon=True)
        self._rehearsal = rehearsal
        telling.start()
        try:
            return rehearsal.run()
        finally:
            self._rehearsal = None
            over.set()
            telling.join()

    def data(self) -> dict[str, Any]:
        """Return what the controls offer."""
        return {"lengths": sorted({*range(1, 61), self.seconds}), "server": _PS}

    def grid(self) -> list[dict[str, Any]]:
        """Return the settings that a chapter's page can show without a kernel: both rules."""
        return [{"mode": "async"}, {"mode": "sync"}]

    def answer(self, result: RehearsalRecord, until: float | None = None) -> dict[str, Any]:
        """Return a record as numbers, seconds first: lanes, versions, losses, events; it ends at `until`.

        By default after the last event. `ended`: whether the training has, so that the last moment has a finding.
        """
        history, events = result.history, list(result.events)
        hits = aftermath(history, events)
        last = until or _last(history, events)
        losses, late = (
            {worker: pairs(rows["applied"], values(rows), _SHOWN) for worker, rows in of_workers(history).items()}
            for values in (lambda rows: rows["loss"], lambda rows: rows["step"] - 1 - rows["version"])
        )
        lines = _lines(result, hits)
        struck = sorted((event for event in events if event.what in HITS), key=lambda event: event.seconds)
        about = {id(event): _after(hit) for event, hit in zip(struck, hits, strict=True)}
        shown = [event for event in events if "saved" not in event.what]
        saved = [event for event in events if "saved" in event.what and event.seconds <= last]
        return {
            "finding": _title(hits),
            "ended": result.ended,
            "alt": " ".join([f"{_title(hits)}.", *lines]),
            "until": round(last, 3),
            "lives": {
                task: [[round(begin, 3), round(end, 3), state] for begin, end, state in stretches]
                for task, stretches in self._lives(result, last).items()
            },
            "losses": losses,
            "late": late,
            "versions": pairs(history["applied"], history["step"], _SHOWN),
            "saved": [[round(event.seconds, 3), event.step] for event in saved],
            "events": [
                [round(event.seconds, 3), event.what, event.task, event.step, words_of(event), about.get(id(event), "")]
                for event in shown
            ],
        }

    def draw(self, result: RehearsalRecord) -> Picture:
        """Return the still of a record, and below it a line for each hit: noticed, back, paused."""
        hits = aftermath(result.history, result.events)
        lived = self._lives(result, _last(result.history, result.events))
        shown = draw.faults(result.history, result.events, _title(hits), lives=lived)
        lines = _lines(result, hits)
        notes = "".join(f'<p class="note">{escape(line)}</p>' for line in lines)
        return draw.html(shown.html + notes, " ".join([shown.alt, *lines]))

    def _lives(self, result, until):
        """Return the stretches of each process; of a training without a gradient, of as many as are set."""
        history, events = result.history, result.events
        workers = int(history["worker"].max()) + 1 if len(history) else self.workers
        return lives(workers, history, events, aftermath(history, events), until)

    def press(self, action: str, task: str) -> None:
        """Do what a button says, without holding up the kernel: a frozen task may take seconds not to answer."""
        threading.Thread(target=self._act_and_say, args=(action, task), name=action, daemon=True).start()

    def _act_and_say(self, action, task):
        """Act; a click has no caller, so what is wrong is said below the buttons. The picture tells the rest."""
        rehearsal, of = self._rehearsal, self.state()
        try:
            self.act(action, task)
            problem = ""
        except (OSError, RuntimeError, ValueError) as error:
            problem = str(error)
        self._tell({"said": problem})
        if rehearsal is not None:
            self._tell_progress(rehearsal, of)

    def _tell_now_and_then(self, rehearsal, of, over):
        """Tell while it runs, in a thread of its own: when nothing happens, the gap on the timeline still grows."""
        while not over.wait(_REDRAW):
            if self.stopped.is_set():
                rehearsal.stop("by its button, or by a new setting")
            self._tell_progress(rehearsal, of)

    def _tell_progress(self, rehearsal, of):
        """Tell how far the training of the settings `of` is, if these are still what is set."""
        if self.state() != of:
            return
        about = {"settings": of, "busy": min(1.0, rehearsal.seconds / of["seconds"])}
        record = rehearsal.record
        answer = {"answer": self.answer(record, rehearsal.seconds)} if record.rows or record.events else {}
        self._tell({**about, **answer})


def _last(history, events):
    """Return the second after which nothing is known; a checkpoint at the end is nothing to look at."""
    seconds = [event.seconds for event in events if "saved" not in event.what]
    return max([*history["applied"][-1:].tolist(), *seconds, 1e-3])


def _lines(result, hits):
    """Return a sentence for each hit, and how it ended."""
    ended = [f"Ended at {len(result.rows):,} gradients: {result.ended.rstrip('.')}."] if result.ended else []
    return [f"{_short(hit.task)} {hit.what} at {hit.at:.1f} s: {_after(hit)}." for hit in hits] + ended


def _title(hits):
    """State what the hit that cost most did; one line of a picture has room for one."""
    if not hits:
        return "Nobody has been hit"
    worst = max(hits, key=lambda hit: hit.pause)
    if worst.pause < _SOON:
        return f"{_short(worst.task)} was {worst.what}, and training never stopped"
    return f"{_short(worst.task)} was {worst.what}: {worst.pause:.1f} s without an update"


def _after(hit):
    """Return what followed a hit."""
    noticed = "not noticed" if hit.noticed is None else f"noticed after {hit.noticed:.2f} s"
    back = "not back yet" if hit.back is None else f"back after {hit.back:.2f} s"
    undone = f", {hit.undone:,} updates undone" if hit.undone else ""
    return f"{noticed}, {back}; longest time without an update {hit.pause:.2f} s{undone}"


def _short(task):
    job, _, index = task.removeprefix("/job:").partition("/task:")
    return "Parameter server" if job == "ps" else f"{job.capitalize()} {index}"
