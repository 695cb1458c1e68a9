"""A contest: several ways to do one thing, each program in a process of its own that is kept alive, taking turns.

Turns, because a busy moment of the machine then hits all alike; a process each, because threads, caches and imports of
one library change another's speed. Who dies, hangs or answers wrongly is told, and the others go on.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.figures import Entry, Result, Target, start_of
from benchmarks.process import ContestantFailed, ContestantProcess, environment
from course.signals import held_back

#: Seconds of a turn: as many runs as begin in it, one after the other, one at least, and the best counts.
TURN = 0.1
#: Seconds for all to end whose run is given up: a cluster closes in one or two.
GIVEN_UP = 8.0
#: Seconds for a contestant to make ready and warm up: some compile, on a machine where others do too.
READY = 180.0

#: How often a process is started for a contest of seconds, where what memory it happens to get moves its figures.
STARTS = 3

#: What is said of a contestant that `--quick` leaves out.
LEFT_OUT = "left out by --quick"

OURS, PEER, LIMIT = "ours", "peer", "limit"


@dataclass(frozen=True, eq=False)
class Contestant:
    """Who takes part in a contest.

    `work`: "module:function", which returns a `contestant.Work` (or a context that gives one), called with `arguments`;
    or the name of a C program in `limits/`, which gets the arguments' values as words. `way`: which of the works that
    the function returns by their names, {way: Work}: contestants with the same work and arguments then share a process,
    as ways of one program whose start takes longer than what is measured. `needs`: a package of the peers'
    environment, in which it then runs. `amount`: what a run does, in the contest's unit times seconds (of a contest
    that counts time: units a second). `patience`: seconds that a run may take. `slow`: `--quick` leaves
    it out, and says so. `vectors`: "AVX2" for what numba's and C's work would do on a processor without AVX-512.
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
    vectors: str = ""
    way: str = ""


@dataclass(frozen=True)
class Contest:
    """One question: who does this fastest? `better`: "more" for rates, "less" for times and errors.

    Each process is started anew `starts` times (once by `--quick`), and `rounds` in all are divided among them: what
    memory a process happens to get moves its figures, and rounds within one process can't show that.
    `on_each_core`: all compute in one thread, which goes on to the next core for each round: on a shared machine one
    core may be slower than another for seconds, as someone else uses the other half of it.
    `right(contestant, answer)` returns "" or what is wrong with the answer.
    """

    title: str
    unit: str
    contestants: tuple[Contestant, ...]
    better: str = "more"
    threads: int = 1
    rounds: int = 5
    targets: tuple[Target, ...] = ()
    right: Callable[[Contestant, Any], str] | None = None
    starts: int = 1
    on_each_core: bool = False


@dataclass(frozen=True)
class Together:
    """Several contests held at once: a run of each of `contestants` gives figures of some entries of some `contests`.

    For what is seen in one process only (what a mode adds to an op), and for what one start is enough (a server's
    requests a second, and their CPU). The contests' own contestants are names, which no process is started for.
    """

    contestants: tuple[Contestant, ...]
    contests: tuple[Contest, ...]
    threads: int = 1
    rounds: int = 3
    starts: int = 1


def held(
    topic: str, contest: Contest | Together, places: Any, say: Callable[[str], object], quick: bool = False
) -> Iterator[Result]:
    """Hold one contest; yield its result (several for a `Together`). `say(text)` gets a line about who failed.

    `places`: a `places.Places`, which knows each contestant's command and the folder to write to.
    """
    if isinstance(contest, Together):
        yield from _held_together(topic, contest, places, say, quick)
        return
    left_out = {one: LEFT_OUT for one in contest.contestants if quick and one.slow}
    entries = {one.name: Entry(one.name, one.kind, problem=left_out.get(one, "")) for one in contest.contestants}
    gone = set(left_out)

    def out(one, problem):
        gone.add(one)
        entries[one.name] = replace(entries[one.name], problem=str(problem))
        say(f"  {one.name}: {problem}")

    for turn, one, versions, told in _rounds(contest.contestants, contest, places, out, gone, quick):
        if wrong := _wrong(contest, one, told["answers"]):
            out(one, f"wrong answer: {wrong}")
            entries[one.name] = replace(entries[one.name], samples=())  # none of its times counts
            continue
        entry = replace(entries[one.name], versions=versions)
        entries[one.name] = entry.with_sample(turn, _figure(contest, one, told["seconds"]))
    yield _result(topic, contest, entries, quick)


def _wrong(contest, one, answers):
    """Return what is wrong with the first wrong answer, or ""."""
    return next(filter(None, (contest.right(one, answer) for answer in answers)), "") if contest.right else ""


def _held_together(topic, together, places, say, quick):
    found = {
        contest.title: {one.name: Entry(one.name, one.kind) for one in contest.contestants}
        for contest in together.contests
    }
    problems, gone = [], {one for one in together.contestants if quick and one.slow}

    def out(one, reason):
        gone.add(one)
        problems.append(f"{one.name}: {reason}")
        say(f"  {problems[-1]}")

    for turn, _, versions, told in _rounds(together.contestants, together, places, out, gone, quick):
        for title, figures in told["figures"].items():
            for name, figure in figures.items():
                found[title][name] = replace(found[title][name], versions=versions).with_sample(turn, figure)
    for contest in together.contests:
        left_out = {one.name: LEFT_OUT for one in contest.contestants if quick and one.slow}
        entries = {name: _explained(one, left_out, problems, together) for name, one in found[contest.title].items()}
        as_held = replace(contest, threads=together.threads, rounds=together.rounds, starts=together.starts)
        yield _result(topic, as_held, entries, quick)


def _explained(entry, left_out, problems, together):
    """Return the entry with the reason why it lacks figures: whoever failed."""
    if len(entry.figures) == together.rounds:
        return entry
    return replace(entry, problem=left_out.get(entry.name, "; ".join(problems)))


def _result(topic, contest, entries, quick):
    about = (contest.title, contest.unit, contest.better, contest.threads, contest.rounds)
    return Result(topic, *about, tuple(entries.values()), contest.targets, _starts(contest, quick))


def _starts(contest, quick):
    return 1 if quick else min(contest.starts, contest.rounds)


def _figure(contest, one, seconds):
    return one.amount / seconds if contest.better == "more" else one.amount * seconds


def _rounds(contestants, contest, places, out, gone, quick):
    """Yield (round, contestant, its libraries' versions, what its turn told) of every turn in every start.

    Whoever fails is told to `out`, which puts it among the `gone`: it has no more turns, and is not started again.
    """
    starts, together = _starts(contest, quick), isinstance(contest, Together)
    for start in range(starts):
        taking_part = [one for one in contestants if one not in gone]
        with _started(taking_part, contest.threads, places, out, quick) as running:
            for turn in range(contest.rounds):
                if start_of(turn, contest.rounds, starts) == start:
                    for process in running.values() if not together and contest.on_each_core else ():
                        process.go_to(turn)
                    yield from _turn(running, turn, 0 if together else TURN, out, gone)


@contextmanager
def _started(contestants, threads, places, out, quick):
    """Give {contestant: its process, ready}; who can't is told to `out`. All are ended at the end.

    As many make ready at once as there are processors, for some (Ray) give up by themselves where they get none; twice
    as many when it must be `quick`, for those that start clusters often wait.
    """
    at_once = (os.cpu_count() or 1) * (2 if quick else 1)
    running: dict[Contestant, ContestantProcess] = {}
    started: list[ContestantProcess] = []

    def wait(sharing, process):
        try:
            process.wait_until_ready(max(READY, *(one.patience for one in sharing)))
            running.update(dict.fromkeys(sharing, process))
        except ContestantFailed as problem:
            process.close()
            for one in sharing:
                out(one, problem)

    try:
        waiting = []
        for sharing in _by_process(contestants):
            if len(waiting) >= at_once:
                wait(*waiting.pop(0))
            one = sharing[0]
            try:
                process = ContestantProcess(
                    places.command(one), environment(one.threads or threads, one.vectors), one.name, places.folder
                )
            except ContestantFailed as problem:
                for one in sharing:
                    out(one, problem)
                continue
            started.append(process)
            waiting.append((sharing, process))
        for pair in waiting:
            wait(*pair)
        yield running
    except BaseException:  # Ctrl-C above all: a run that is on is given up
        with held_back():
            _given_up(started)
        raise
    for process in started:
        process.ask_to_end()
    for process in started:
        process.close()


def _by_process(contestants):
    """Return lists of contestants: those that share a process are in one."""
    found: dict[Any, list[Contestant]] = {}
    for one in contestants:
        alike = (one.work, json.dumps(one.arguments), one.needs, one.threads, one.vectors)
        found.setdefault(alike if one.way else one, []).append(one)
    return list(found.values())


def _leaves(running, one):
    """Take `one` out of those that run; a process that no other needs is ended."""
    process = running.pop(one)
    if process not in running.values():
        process.close()


def _given_up(started):
    ends = time.monotonic() + GIVEN_UP
    for process in started:
        process.give_up()
    for process in started:
        process.close(max(0.0, ends - time.monotonic()))


def _turn(running, turn, seconds, out, gone):
    """Yield what `_rounds` does for one round; nobody is always first."""
    order = list(running)
    first = turn % len(order) if order else 0
    for one in order[first:] + order[:first]:
        if one not in running:  # its process ended in another's turn
            continue
        process = running[one]
        try:
            yield turn, one, process.versions, process.turn(seconds, one.patience, one.way)
        except ContestantFailed as problem:
            for other in [other for other, its in running.items() if its is process]:
                out(other, problem)
        for other in gone & running.keys():
            _leaves(running, other)
