"""What happens in one trial: a plan drawn from its seed, and from nothing else."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of fault: in which `scene` it is staged, what it may end in, and how long others may stand still.

    `errors`: names of exceptions that are a right end of it, beside a right answer; a clear message is asked of them
    too. `limit`: seconds until the next applied step that the design promises (reported, never judged). `stretch`: so
    many times the usual steps, for a fault that comes in two acts. `after`: the share of the steps that come first.
    """

    name: str
    scene: str
    limit: float
    errors: tuple[str, ...] = ()
    stretch: int = 1
    after: float = 0.0


@dataclass(frozen=True)
class Plan:
    """One trial. `step`: when the fault strikes; `victim`: an index among the tasks it can hit; `seconds`: how long.

    `aggregate` is for synchronous runs only: so many of the `workers` make an update.
    """

    seed: int
    kind: Kind
    ps: int
    workers: int
    mode: str
    aggregate: int | None
    steps: int
    step: int
    victim: int
    seconds: float
    amount: int

    def __str__(self):
        rule = self.mode if self.aggregate is None else f"{self.mode} {self.aggregate} of {self.workers}"
        return f"seed {self.seed}: {self.kind.name}, {self.ps} ps + {self.workers} workers, {rule}, step {self.step}"


def plan(seed, kinds):
    """Return the `Plan` of `seed`: kinds come round in turn, all else is drawn."""
    dice = random.Random(f"course fault {seed}")
    kind = kinds[seed % len(kinds)]
    mode, workers = dice.choice(["async", "sync"]), dice.choice([2, 3])
    steps = kind.stretch * (dice.randrange(300, 700) if mode == "async" else dice.randrange(120, 260))
    return Plan(
        seed=seed,
        kind=kind,
        ps=dice.choice([1, 2]),
        workers=workers,
        mode=mode,
        aggregate=dice.choice([None, workers - 1]) if mode == "sync" else None,
        steps=steps,
        step=max(dice.randrange(1, steps * 2 // (2 + kind.stretch)), int(kind.after * steps)),
        victim=dice.randrange(1000),
        seconds=dice.choice([dice.uniform(0.05, 1.0), dice.uniform(1.0, 4.8)]),
        amount=dice.randrange(1, 4000),
    )
