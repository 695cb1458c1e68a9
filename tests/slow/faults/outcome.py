"""How a trial ended, and the judge: what must hold of every result of the counting problem, whatever happened."""

from collections import Counter
from dataclasses import dataclass, field

from tests.slow.faults.counting import counted

ENDS = ("right answer", "clear error", "not here", "wrong", "leak", "hang")  # the last three are failures


@dataclass(frozen=True)
class Outcome:
    """The end of one trial: `standstill` is the longest time without an applied step from the fault on, in seconds.

    `notes`: words for the report, of whatever end; `complaints`: what was not right, as sentences.
    """

    seed: int
    kind: str
    end: str
    seconds: float
    standstill: float | None = None
    notes: str = ""
    complaints: list[str] = field(default_factory=list)

    @property
    def failed(self):
        return self.end in ENDS[3:]


def outcome_of(plan, seconds, end, notes, complaints, standstill, leaks=()):
    """Return the `Outcome` of a plan; `leaks`, sentences of what was left open, make an end a failure."""
    end = "leak" if leaks and end != "wrong" else end
    return Outcome(plan.seed, plan.kind.name, end, seconds, standstill, "; ".join(notes), [*complaints, *leaks])


def complaints(result, steps=None):
    """Return what is wrong with a `TrainingResult` of `Counting`, as sentences; none: it is right.

    `steps`: how many updates it must have, where it was to end by itself.
    """
    wrong = []
    try:
        rows = counted(result.parameters)
    except AssertionError as error:
        return [str(error)]
    if steps is not None and result.version != steps:
        wrong.append(f"version {result.version} after a training of {steps} steps")
    steps = sorted(set(result.history["step"].tolist()))
    if steps and steps != list(range(steps[0], result.version + 1)):
        wrong.append(f"the records skip or repeat steps: {len(steps)} of {steps[0]} to {result.version}")
    if result.mode == "async":
        wrong += _asynchronous(result, rows)
    else:
        wrong += _synchronous(result, rows)
    return wrong + _table(result)


def _asynchronous(result, rows):
    applied = [float(result.applied.get(worker, 0)) for worker in range(result.workers)]
    wrong = []
    if len(set(result.history["step"].tolist())) < len(result.history):
        wrong.append("a step is recorded twice")
    if rows != applied:
        wrong.append(f"the parameters hold {rows} pushes, the table says {applied}")
    if sum(rows) != result.version:
        wrong.append(f"the parameters hold {sum(rows)} pushes at version {result.version}")
    if len(result.history) == result.version:
        recorded = Counter(result.history["worker"].tolist())
        if rows != [recorded[worker] for worker in range(result.workers)]:
            wrong.append(f"the parameters hold {rows} pushes, the records {dict(recorded)}")
    return wrong


def _synchronous(result, rows):
    wrong = []
    if abs(sum(rows) - result.version) > 1e-6 * max(1, result.version):
        wrong.append(f"the parameters hold {sum(rows)} updates at version {result.version}")
    in_step = Counter(result.history["step"].tolist())
    if len(in_step) == result.version:
        wanted = [0.0] * result.workers
        for step, worker in result.history[["step", "worker"]].tolist():
            wanted[worker] += 1 / in_step[step]
        if any(abs(have - want) > 1e-6 for have, want in zip(rows, wanted, strict=True)):
            wrong.append(f"the parameters hold {rows}, the records make {wanted}")
    gradients = Counter(result.history[["step", "worker"]].tolist())
    wrong += [f"step {step} used one worker twice" for (step, _), count in gradients.items() if count > 1][:1]
    return wrong


def _table(result):
    """Acknowledged ≤ applied + dropped ≤ sent, for each worker, within the lineage that the result is of."""
    wrong = []
    for worker in range(result.workers):
        sent, acknowledged = result.sent.get(worker, 0), result.acknowledged.get(worker, 0)
        taken = result.applied.get(worker, 0) + result.dropped.get(worker, 0)
        if not acknowledged <= taken <= sent:
            wrong.append(f"worker {worker}: acknowledged {acknowledged}, applied or dropped {taken}, sent {sent}")
    return wrong
