"""How a trial ended, and the judge: what must hold of every result of the counting problem, whatever happened."""

from collections import Counter
from dataclasses import dataclass, field

from tests.slow.faults.counting import counted

ENDS = ("right answer", "clear error", "not here", "wrong", "leak", "hang")  # the last three are failures


@dataclass(frozen=True)
class Outcome:
    """The end of one trial: `standstill` is the longest time without an applied step from the fault on, in seconds."""

    seed: int
    kind: str
    end: str
    seconds: float
    standstill: float | None = None
    said: str = ""
    complaints: list[str] = field(default_factory=list)

    @property
    def failed(self):
        return self.end in ENDS[3:]


def complaints(result, steps=None):
    """Return what is wrong with a `TrainingResult` of `Counting`, as sentences; none: it is right.

    `steps`: how many updates it must have, where it was to end by itself.
    """
    found = []
    try:
        rows = counted(result.parameters)
    except AssertionError as error:
        return [str(error)]
    if steps is not None and result.version != steps:
        found.append(f"version {result.version} after a training of {steps} steps")
    told = sorted(set(result.history["step"].tolist()))
    if told and told != list(range(told[0], result.version + 1)):
        found.append(f"the records skip or repeat steps: {len(told)} of {told[0]} to {result.version}")
    if result.mode == "async":
        found += _asynchronous(result, rows)
    else:
        found += _synchronous(result, rows)
    return found + _table(result)


def _asynchronous(result, rows):
    applied = [float(result.applied.get(worker, 0)) for worker in range(result.workers)]
    found = []
    if len(set(result.history["step"].tolist())) < len(result.history):
        found.append("a step is recorded twice")
    if rows != applied:
        found.append(f"the parameters hold {rows} pushes, the table says {applied}")
    if sum(rows) != result.version:
        found.append(f"the parameters hold {sum(rows)} pushes at version {result.version}")
    if len(result.history) == result.version:
        recorded = Counter(result.history["worker"].tolist())
        if rows != [recorded[worker] for worker in range(result.workers)]:
            found.append(f"the parameters hold {rows} pushes, the records {dict(recorded)}")
    return found


def _synchronous(result, rows):
    found = []
    if abs(sum(rows) - result.version) > 1e-6 * max(1, result.version):
        found.append(f"the parameters hold {sum(rows)} updates at version {result.version}")
    in_step = Counter(result.history["step"].tolist())
    if len(in_step) == result.version:
        wanted = [0.0] * result.workers
        for step, worker in result.history[["step", "worker"]].tolist():
            wanted[worker] += 1 / in_step[step]
        if any(abs(have - want) > 1e-6 for have, want in zip(rows, wanted, strict=True)):
            found.append(f"the parameters hold {rows}, the records make {wanted}")
    twice = [step for step, workers in _workers_of_steps(result).items() if len(set(workers)) < len(workers)]
    if twice:
        found.append(f"step {twice[0]} used one worker twice")
    return found


def _workers_of_steps(result):
    steps = {}
    for step, worker in result.history[["step", "worker"]].tolist():
        steps.setdefault(step, []).append(worker)
    return steps


def _table(result):
    """Acknowledged ≤ applied + dropped ≤ sent, for each worker, within the lineage that the result is of."""
    found = []
    for worker in range(result.workers):
        sent, told = result.sent.get(worker, 0), result.acknowledged.get(worker, 0)
        taken = result.applied.get(worker, 0) + result.dropped.get(worker, 0)
        if not told <= taken <= sent:
            found.append(f"worker {worker}: acknowledged {told}, applied or dropped {taken}, sent {sent}")
    return found
