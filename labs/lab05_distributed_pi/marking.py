"""How lab 05 is marked: by counts of darts that are drawn for each submission, by plans and by made-up counts.

Pi itself is evidence of nothing, and is asked for nowhere. Servers and GPUs are functions and names that the grader
supplies; no cluster runs.
"""

import numpy as np

from grader.lab.spec import Drive, Exercise, Lab, fixed_and_drawn
from grader.marking.result_types import Integer, Json, Number, Optional_, Tuple_

from . import checks as darts

#: Servers whose counts are made up from the range: nobody's darts, so no answer to exercise 1 either.
SERVERS = """
def drive(entry, darts, servers):
    import zlib

    calls, waited = [], []

    class Future:
        def __init__(self, count):
            self.count = count

        def result(self, timeout=None):
            waited.append(len(calls))
            return self.count

    def whole(number):
        if int(number) != number:
            raise ValueError(f"{number!r} is not a whole number")
        return int(number)

    def submit(server, first, last):
        server, first, last = whole(server), whole(first), whole(last)
        calls.append((server, first, last))
        return Future(zlib.crc32(f"{server} {first} {last}".encode()) % (abs(last - first) + 1))

    inside, estimate = entry(darts, servers, submit)
    return (inside, estimate), calls, waited[0] if waited else None
"""


# ---- 1. Count the darts ----------------------------------------------------------------------------------------------


def ranges_of_darts(draw):
    drawn = [_range(draw, most) for most in (5, 40, 300, 300, 3000, 3000, 9000)]
    return fixed_and_drawn(darts.DARTS, drawn)


def _range(draw, most):
    first = int(draw.integers(1, most))
    return int(draw.integers(1, 2**60)), first, first + int(draw.integers(most // 2, 2 * most))


COUNT_INSIDE = Exercise(
    "count_inside",
    cases=ranges_of_darts,
    evidence=Integer(),
    expected=darts.dart_by_dart,
    oracle="the stream drawn from its beginning, dart after dart; streams and ranges are drawn for you alone",
)


# ---- 2. Parallel Pi --------------------------------------------------------------------------------------------------


def shares(draw):
    fixed = [(count, servers) for count, servers, _ in darts.shares_to_try()]
    return fixed_and_drawn(fixed, [(int(draw.integers(1, 20_000)), int(draw.integers(2, 40))) for _ in range(6)])


def well_shared(case, got):
    verdict = darts.on_servers(*got, *case.arguments)
    return None if verdict is True else verdict


PI_ON_SERVERS = Exercise(
    "pi_on_servers",
    cases=shares,
    # what it returned, its calls of submit, and how many there were when it first asked for a result
    evidence=Tuple_(Tuple_(Integer(), Number()), Json([(int, int, int)], limit=1 << 16), Optional_(Integer())),
    judge=well_shared,
    witness=Drive(SERVERS, adds=("submit",)),
    oracle="every dart in exactly one range, no share larger than it must be, and the sum of the servers' counts",
)


# ---- 3. Four GPUs ----------------------------------------------------------------------------------------------------


def clusters(draw):
    return fixed_and_drawn(darts.clusters_to_try(), [_cluster(draw) for _ in range(5)])


def _cluster(draw):
    names = []
    for job in ("chief", "worker", "gpu"):  # a job may be called gpu, too
        for task in range(int(draw.integers(0, 4))):
            kinds = ["cpu:0", *(f"gpu:{index}" for index in range(int(draw.integers(0, 13))))]
            names += [f"/job:{job}/task:{task}/{kind}" for kind in kinds]
    names += [f"/job:worker/task:11/{kind}" for kind in ("cpu:0", "gpu:0", "gpu:10")]
    draw.shuffle(names)
    return names, int(draw.integers(1, 20_000))


def well_planned(case, got):
    verdict = darts.on_gpus(got, *case.arguments)
    return None if verdict is True else verdict


PI_ON_GPUS = Exercise(
    "pi_on_gpus",
    cases=clusters,
    evidence=Json(),
    judge=well_planned,
    oracle="every GPU of the list once, by its own task's name for it; every dart in exactly one fair share",
)


# ---- 4. and 5. Errors ------------------------------------------------------------------------------------------------


def servers_counts(draw):
    return fixed_and_drawn([(counts,) for counts in darts.COUNTS], [(_counts(draw, k),) for k in (2, 3, 5, 9)])


def _counts(draw, servers):
    samples = [int(10 ** draw.uniform(0.5, 4.5)) for _ in range(servers)]
    samples[int(draw.integers(servers))] *= int(draw.integers(0, 2))
    samples.append(int(draw.integers(10, 99)))
    return [(int(draw.binomial(one, draw.uniform(0.6, 0.9))), one) for one in samples]


POOLED_PI = Exercise(
    "pooled_pi",
    cases=servers_counts,
    evidence=Tuple_(Number(), Number()),
    expected=darts.written_out,
    oracle="every dart written out as 4 or 0, their mean, and their standard deviation over the root of how many",
)


def several_runs(draw):
    drawn = [[float(value) for value in draw.normal(np.pi, draw.uniform(0.01, 0.5), k)] for k in (2, 3, 7, 20)]
    return fixed_and_drawn([(values,) for values in darts.RUNS], [(values,) for values in drawn])


ERROR_OF_RUNS = Exercise(
    "error_of_runs",
    cases=several_runs,
    evidence=Number(),
    expected=darts.pair_by_pair,
    oracle="the squared differences of all pairs, in exact fractions",
)


# ---- 6. and 7. Streams -----------------------------------------------------------------------------------------------


def pairs(draw):
    return fixed_and_drawn(darts.PLACES, [_pair(draw, runs) for runs in (2, 3, 6, 12, 30)])


def _pair(draw, runs):
    servers = [int(count) for count in draw.integers(1, 40, runs)]
    run = int(draw.integers(1, runs))
    return run, int(draw.integers(servers[run])), servers


STREAM_FOR = Exercise(
    "stream_for",
    cases=pairs,
    evidence=Integer(),
    expected=darts.place_in_line,
    oracle="the line of all pairs written down, and the pair looked for",
)


def logs(draw):
    return fixed_and_drawn([(ranges,) for ranges in darts.RANGES], [(_log(draw, k),) for k in (3, 5, 8, 20, 60)])


def _log(draw, count):
    firsts, lengths = draw.integers(0, 12 * count, count), draw.integers(0, 40, count)
    return [(int(draw.integers(1, 4)), int(f), int(f + n)) for f, n in zip(firsts, lengths, strict=True)]


THROWN_TWICE = Exercise(
    "thrown_twice",
    cases=logs,
    evidence=Integer(),
    expected=darts.one_by_one,
    oracle="every dart by itself, in a set",
)


LAB = Lab(
    "lab05_distributed_pi",
    title="Pi on many servers",
    exercises=[COUNT_INSIDE, PI_ON_SERVERS, PI_ON_GPUS, POOLED_PI, ERROR_OF_RUNS, STREAM_FOR, THROWN_TWICE],
    imports=("numpy",),
)
