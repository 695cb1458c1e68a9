"""Pi: darts a second, on one core and on two, beside the usual tutorials and tuned C; and what the darts are worth."""

import math
import os
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from benchmarks import machine
from benchmarks.contest import LIMIT, OURS, STARTS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from benchmarks.topics.life import avx2_only

_C, _PEER = "C, tuned", "benchmarks.peers.pi_darts:"
_PSEUDO, _TWO = "estimate_pi", "estimate_pi, two tasks"
_ERROR = "Pi, root-mean-square error at 2^20 darts"
_SETS = ("pseudo", "philox", "sobol", "stratified")


def contests(quick, places):
    """Yield the contests: one core, two, and the errors of a million darts."""
    many, few = (100_000_000, 2_000_000) if quick else (400_000_000, 10_000_000)
    share = 0.55 if machine.vectors() == "AVX-512" else 0.75
    rounds = 3 if quick else 9
    one = [
        *_methods_of_ours(many),
        _peer("NumPy, tutorial", "numpy_tutorial", few),
        replace(_peer("torch, tutorial", "torch_tutorial", few), slow=True),
        _peer("NumPy SFC64 in blocks", "sfc64_blocks", 2 * few),
        _peer("numba splitmix64", "splitmix64", 10 * few),
        _limit(many),
    ]
    targets = [Target(_PSEUDO, _C, least=share)]
    targets += [Target(f"{_PSEUDO}, sobol", least=2000)]
    plain = Contest("Pi, one core", "M darts/s", tuple(one), "more", 1, rounds, tuple(targets), _right, STARTS, True)
    yield plain
    if (os.cpu_count() or 1) > 1:
        # on two tasks a second or two: what a message to them takes doesn't show
        much = 10_000_000_000 if quick else 20_000_000_000
        two = [
            _ours(_TWO, much, tasks=2),
            _ours(_PSEUDO, much // 2),
            replace(_peer("Dask's example, two workers", "dask_example", few, workers=2), slow=True),
            _peer("NumPy SFC64 in blocks, two processes", "sfc64_blocks", 4 * few, processes=2),
            _limit(much, threads=2),
            replace(_limit(much // 2), name=f"{_C}, one core"),  # what two cores are worth to a program
        ]
        targets = (Target(_TWO, _PSEUDO, least=1.8),)
        yield Contest("Pi, two cores", "M darts/s", tuple(two), "more", 1, rounds, targets, _right, STARTS)
    if not quick and machine.vectors() == "AVX-512":
        yield avx2_only(plain, 0.75)
    yield _errors(3 if quick else 20)


def _errors(seeds):
    names = tuple(Contestant(method, kind=OURS) for method in _methods())
    work = Contestant("estimate_pi's errors", f"{__name__}:errors", {"seeds": seeds}, OURS)
    return Together((work,), (Contest(_ERROR, "of pi", names, "less"),), rounds=1)


def _methods():
    from course.pi.estimate import METHODS

    return [method for method in _SETS if method in METHODS]


def _methods_of_ours(many):
    darts = {method: many if method == "pseudo" else many // 4 for method in _methods()}
    for method, count in darts.items():
        name = _PSEUDO if method == "pseudo" else f"{_PSEUDO}, {method}"
        yield Contestant(name, f"{__name__}:methods", {"darts": darts}, OURS, amount=count / 1e6, way=method)


def _ours(name, darts, tasks=0):
    return Contestant(name, f"{__name__}:ours", {"darts": darts, "tasks": tasks}, OURS, amount=darts / 1e6)


def _peer(name, function, darts, **more):
    return Contestant(name, _PEER + function, {"darts": darts, **more}, amount=darts / 1e6)


def _limit(darts, threads=1):
    return Contestant(_C, "pi", {"darts": darts}, LIMIT, amount=darts / 1e6, threads=threads)


def _right(contestant, answer):
    # five standard errors of pseudo-random darts
    far = 5 * 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4) / (1e6 * contestant.amount))
    return "" if abs(answer - math.pi) < far else f"pi is {answer:.6f}, which is more than {far:.2g} off"


def methods(darts):
    """`estimate_pi` in this process by each method, {method: how many darts}; another seed each time."""
    return {method: _work(count, method) for method, count in darts.items()}


@contextmanager
def ours(darts, tasks):
    """`estimate_pi` in this process, or on so many tasks of a cluster; another seed each time."""
    with ExitStack() as stack:
        executor = None
        if tasks:
            from course.cluster import local_cluster

            executor = stack.enter_context(local_cluster(worker=tasks)).executor
        yield _work(darts, "pseudo", executor)


def _work(darts, method, executor=None):
    from course.pi import estimate_pi

    seeds = iter(range(1, 1_000_000))
    return Work(lambda: estimate_pi(darts, next(seeds), executor, method=method).value, float)


def errors(seeds):
    """The root-mean-square error of each method at 2^20 darts."""
    from course.pi import estimate_pi

    def run():
        squares = {
            method: [estimate_pi(2**20, seed, method=method).error ** 2 for seed in range(seeds)]
            for method in _methods()
        }
        return {_ERROR: {method: math.sqrt(sum(found) / seeds) for method, found in squares.items()}}

    return Work(run, figures=True, warm_ups=0)
