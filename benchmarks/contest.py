"""A contest: several ways to do one thing, each in a process of its own that is kept alive, taking turns.

Turns, because a busy moment of the machine then hits all alike; a process each, because threads, caches and imports of
one library change another's speed. Who dies, hangs or answers wrongly is told, and the others go on.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.figures import Entry, Result, Target
from benchmarks.process import ContestantFailed, ContestantProcess

#: Seconds of a turn: as many runs as begin in it, one at least, and the best counts.
TURN = 0.1
#: Seconds for a contestant to make ready and warm up: some compile, on a machine where others do too.
READY = 180.0

OURS, PEER, LIMIT = "ours", "peer", "limit"


@dataclass(frozen=True, eq=False)
class Contestant:
    """Who takes part in a contest.

    `work`: "module:function", which returns a `contestant.Work` (or a context that gives one), called with `arguments`;
    or the name of a C program in `limits/`, which gets the arguments' values as words. `needs`: a package of the peers'
    environment, in which it then runs. `amount`: what a run does, in the contest's unit times seconds (of a contest
    that counts time: units a second). `patience`: seconds that a run may take. `slow`: `--quick` leaves
    it out, and says so.
    """

    name: str
    work: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    kind: str = PEER
    needs: str = ""
    amount: float = 1.0
    threads: int = 0
    patience: float = 120.0
    slow: bool = False


@dataclass(frozen=True)
class Contest:
    """One question: who does this fastest? `better`: "more" for rates, "less" for times and errors.

    `right(contestant, answer)` returns "" or what is wrong with the answer. `together`: one contestant whose work
    measures all of them in one process, for what can only be told so (what a mode adds to an op).
    """

    title: str
    unit: str
    contestants: tuple[Contestant, ...]
    better: str = "more"
    threads: int = 1
    rounds: int = 5
    targets: tuple[Target, ...] = ()
    right: Callable[[Contestant, Any], str] | None = None


@dataclass(frozen=True)
class Together:
    """Several contests whose contestants are measured by one process, in each of `rounds` runs of it."""

    contestant: Contestant
    contests: tuple[Contest, ...]
    threads: int = 1
    rounds: int = 3


def held(
    topic: str, contest: Contest | Together, places: Any, say: Callable[[str], object], quick: bool = False
) -> Iterator[Result]:
    """Hold one contest; yield its result (several for a `Together`). `say(text)` gets a line about who failed.

    `places`: a `places.Places`, which knows each contestant's command and the folder to write to.
    """
    if isinstance(contest, Together):
        yield from _held_together(topic, contest, places, say)
        return
    left_out = {one: "left out by --quick" for one in contest.contestants if quick and one.slow}
    entries = {one.name: Entry(one.name, one.kind, problem=left_out.get(one, "")) for one in contest.contestants}
    taking_part = [one for one in contest.contestants if one not in left_out]

    def out(one, problem):
        entries[one.name] = replace(entries[one.name], problem=str(problem))
        say(f"  {one.name}: {problem}")

    with _started(taking_part, contest.threads, places, out) as running:
        for one, process in running.items():
            entries[one.name] = replace(entries[one.name], versions=process.versions)
        for turn in range(contest.rounds):
            for one, runs in _turn(running, turn, out):
                wrong = (
                    next(filter(None, (contest.right(one, told["answer"]) for told in runs)), "")
                    if contest.right
                    else ""
                )
                if wrong:
                    out(one, f"wrong answer: {wrong}")
                    running.pop(one).close()
                    entries[one.name] = replace(entries[one.name], samples=())  # none of its times counts
                    continue
                figure = _figure(contest, one, min(told["seconds"] for told in runs))
                entries[one.name] = entries[one.name].with_sample(turn, figure)
    yield _result(topic, contest, entries)


def _held_together(topic, together, places, say):
    found = {
        contest.title: {one.name: Entry(one.name, one.kind) for one in contest.contestants}
        for contest in together.contests
    }
    problem = ""

    def out(one, reason):
        nonlocal problem
        problem = str(reason)
        say(f"  {one.name}: {reason}")

    with _started((together.contestant,), together.threads, places, out) as running:
        for turn in range(together.rounds):
            for _, (told, *_) in _turn(running, turn, out):
                for title, figures in told["figures"].items():
                    for name, figure in figures.items():
                        found[title][name] = found[title][name].with_sample(turn, figure)
        versions = next((process.versions for process in running.values()), {})
    for contest in together.contests:
        entries = {name: replace(one, problem=problem, versions=versions) for name, one in found[contest.title].items()}
        yield _result(topic, replace(contest, threads=together.threads, rounds=together.rounds), entries)


def _result(topic, contest, entries):
    about = (contest.title, contest.unit, contest.better, contest.threads, contest.rounds)
    return Result(topic, *about, tuple(entries.values()), contest.targets)


def _figure(contest, one, seconds):
    return one.amount / seconds if contest.better == "more" else one.amount * seconds


@contextmanager
def _started(contestants, threads, places, out):
    """Give {contestant: its process, ready}; who can't is told to `out`. All are ended at the end.

    As many make ready at a time as there are processors: some (Ray) give up by themselves where they get none.
    """
    running: dict[Contestant, ContestantProcess] = {}
    started: list[ContestantProcess] = []

    def wait(one, process):
        try:
            process.wait_until_ready(max(READY, one.patience))
            running[one] = process
        except ContestantFailed as problem:
            process.close()
            out(one, problem)

    try:
        waiting = []
        for one in contestants:
            if len(waiting) >= (os.cpu_count() or 1):
                wait(*waiting.pop(0))
            try:
                process = ContestantProcess(places.command(one), one.threads or threads, one.name, places.folder)
            except ContestantFailed as problem:
                out(one, problem)
                continue
            started.append(process)
            waiting.append((one, process))
        for pair in waiting:
            wait(*pair)
        yield running
    finally:
        for process in started:
            process.ask_to_end()
        for process in started:
            process.close()


def _turn(running, turn, out):
    """Yield (contestant, what its runs told); nobody is always first."""
    order = list(running)
    first = turn % len(order) if order else 0
    for one in order[first:] + order[:first]:
        try:
            yield one, _runs(running[one], one.patience)
        except ContestantFailed as problem:
            running.pop(one).close()
            out(one, problem)


def _runs(process, patience):
    ends, runs = time.monotonic() + TURN, []
    while not runs or time.monotonic() < ends:
        runs.append(process.run(patience))
    return runs
