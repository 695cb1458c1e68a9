"""Pi: darts a second, on one core and on two, beside the usual tutorials and tuned C; and what the darts are worth."""

import math
import os
from contextlib import ExitStack, contextmanager

from benchmarks import machine
from benchmarks.contest import LIMIT, OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target

_C, _PEER = "C, tuned", "benchmarks.peers.pi_darts:"
_PSEUDO, _TWO = "estimate_pi", "estimate_pi, two tasks"
_SETS = ("pseudo", "philox", "sobol", "stratified")


def contests(quick, places):
    """Yield the contests: one core, two, and the errors of a million darts."""
    many, few = (100_000_000, 2_000_000) if quick else (400_000_000, 10_000_000)
    share = 0.55 if machine.vectors() == "AVX-512" else 0.75
    rounds = 3 if quick else 9
    one = [
        _ours(_PSEUDO, many, "pseudo"),
        *(_ours(f"{_PSEUDO}, {method}", many // 4, method) for method in _methods() if method != "pseudo"),
        _peer("NumPy, tutorial", "numpy_tutorial", few),
        _peer("torch, tutorial", "torch_tutorial", few),
        _peer("NumPy SFC64 in blocks", "sfc64_blocks", 2 * few),
        _peer("numba splitmix64", "splitmix64", 10 * few),
        _limit(many),
    ]
    targets = [Target(_PSEUDO, _C, least=share)]
    targets += [Target(f"{_PSEUDO}, sobol", least=2000)]
    yield Contest("Pi, one core", "M darts/s", tuple(one), "more", 1, rounds, tuple(targets), _right)
    if (os.cpu_count() or 1) > 1:
        two = [
            _ours(_TWO, 4 * many, "pseudo", tasks=2),
            _ours(_PSEUDO, 2 * many, "pseudo"),
            _peer("Dask's example, two workers", "dask_example", few, workers=2),
            _peer("NumPy SFC64 in blocks, two processes", "sfc64_blocks", 4 * few, processes=2),
            _limit(4 * many, threads=2),
        ]
        targets = (Target(_TWO, _PSEUDO, least=1.8),)
        yield Contest("Pi, two cores", "M darts/s", tuple(two), "more", 1, rounds, targets, _right)
    yield _errors(3 if quick else 20)


def _errors(seeds):
    title = "Pi, root-mean-square error at 2^20 darts"
    names = tuple(Contestant(method, kind=OURS) for method in _methods())
    work = Contestant("estimate_pi's errors", f"{__name__}:errors", {"seeds": seeds}, OURS)
    return Together(work, (Contest(title, "of pi", names, "less"),), rounds=1)


def _methods():
    from course.pi.estimate import METHODS

    return [method for method in _SETS if method in METHODS]


def _ours(name, darts, method, tasks=0):
    return Contestant(
        name, f"{__name__}:ours", {"darts": darts, "method": method, "tasks": tasks}, OURS, amount=darts / 1e6
    )


def _peer(name, function, darts, **more):
    return Contestant(name, _PEER + function, {"darts": darts, **more}, amount=darts / 1e6)


def _limit(darts, threads=1):
    return Contestant(_C, "pi", {"darts": darts}, LIMIT, amount=darts / 1e6, threads=threads)


def _right(contestant, answer):
    # five standard errors of pseudo-random darts
    far = 5 * 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4) / contestant.arguments["darts"])
    return "" if abs(answer - math.pi) < far else f"pi is {answer:.6f}, which is more than {far:.2g} off"


@contextmanager
def ours(darts, method, tasks):
    """`estimate_pi` in this process, or on so many tasks of a cluster; another seed each time."""
    from course.pi import estimate_pi

    with ExitStack() as stack:
        executor, seeds = None, iter(range(1, 1_000_000))
        if tasks:
            from course.cluster import local_cluster

            executor = stack.enter_context(local_cluster(worker=tasks)).executor
        yield Work(lambda: estimate_pi(darts, next(seeds), executor, method=method).value, float)


def errors(seeds):
    """The root-mean-square error of each method at 2^20 darts."""
    from course.pi import estimate_pi

    def run():
        squares = {
            method: [estimate_pi(2**20, seed, method=method).error ** 2 for seed in range(seeds)]
            for method in _methods()
        }
        return {method: math.sqrt(sum(found) / seeds) for method, found in squares.items()}

    return Work(run, figures=lambda found: {"Pi, root-mean-square error at 2^20 darts": found}, warm_ups=0)
