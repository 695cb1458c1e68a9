"""What tests of contests begin with: a contestant of `contestants.py`, and a contest held."""

from benchmarks.contest import Contest, Contestant, held

HERE = "tests.benchmarks.contestants:"


def hold(places, *contestants, **about):
    """Hold one contest of `contestants`; return its result and what was said."""
    said = []
    (result,) = held(
        "topic", Contest("a contest", "runs/s", contestants, **{"rounds": 2, **about}), places, said.append
    )
    return result, said


def one(name, what, **more):
    return Contestant(name, HERE + what, **more)
