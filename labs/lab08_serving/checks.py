"""Lab 08's exercises: latencies of an open loop, a batcher, percentiles, a watcher, a client that calls again.

No torch, and no server but one that answers by a script, with a clock of its own.
"""

from functools import partial

import numpy as np

from course.checks.exercise import Exercise, Observed, asking, by_name, strategy

from . import cases, oracles, words
from .driver import drive_batcher, drive_call, drive_newest
from .record import judge_call
from .server_host import Script

_drawn = partial(strategy, f"{__package__}.strategies")


def _against_a_script(answer, case):
    server = Script(case.plan)
    gave = drive_call(answer, server.ask, *case.arguments)
    return Observed(gave, server.record)


EXERCISES = by_name(
    Exercise(
        "latencies",
        asking(cases.loads),
        oracles.looked_up_latencies,
        read=lambda got: np.asarray(got, float),
        wants="an array of numbers",
        inputs=_drawn("loads"),
        oracle="for each request, the ends of all before it: from when on fewer than the workers are unfinished",
        hint="a worker who is free before the request is due waits for it: the later of the two counts.",
    ),
    Exercise(
        "batcher",
        cases.batchers,
        judge=lambda case, got: oracles.judge_batcher(got, *case.arguments),
        entry="Batcher",
        call=drive_batcher,
        told=words.of_batcher,
        inputs=_drawn("batchers"),
        oracle="after each call, all requests that ever came gone through again, with what became of each",
        hint="at each call first leave out who has given up; then the first who waits decides the signature.",
    ),
    Exercise(
        "quantile",
        cases.histograms,
        oracles.halved_quantile,
        told=words.of_histogram,
        inputs=_drawn("histograms"),
        oracle="the smallest latency at which as many requests are counted, a part of a bucket for its part",
        hint="place is share * n; in its bucket, how far is it from the count before to the bucket's own?",
    ),
    Exercise(
        "newest",
        cases.folders,
        judge=lambda case, got: oracles.judge_newest(got, *case.arguments),
        call=drive_newest,
        told=words.of_folder,
        inputs=_drawn("folders"),
        oracle="the writer's work done on a dictionary, and each number asked whether all its files have come",
        hint="compare numbers, not their texts; a folder that can't be read yet is no error, only not complete.",
    ),
    Exercise(
        "call",
        cases.calls,
        judge=judge_call,
        told=words.of_call,
        in_kernel=_against_a_script,
        inputs=_drawn("calls"),
        oracle="the server's own record of what was sent and slept, line by line against the rules",
        hint="what has come decides whether it may go out again; then the pause; then whether that ends in time.",
    ),
)
