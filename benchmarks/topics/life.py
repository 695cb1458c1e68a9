"""Game of Life: cells a second, from a board of bytes to a board of bytes, beside tutorials, libraries and tuned C."""

import os

from benchmarks import boards, machine
from benchmarks.contest import LIMIT, OURS, Contest, Contestant
from benchmarks.contestant import Work
from benchmarks.figures import Target

_C = "C, tuned"
_PACKED = "course.life, packed"
_ARRAYS, _TENSORS = "benchmarks.peers.life_arrays:", "benchmarks.peers.life_tensors:"
#: name -> (work, package of the peers' environment, generations on 50², 1024², 8192²: a second or less)
_PEERS = {
    "SciPy convolve2d, tutorial": (_ARRAYS + "convolve2d", "", {50: 400, 1024: 2, 8192: 1}),
    "NumPy roll, tutorial": (_ARRAYS + "roll", "", {50: 400, 1024: 4, 8192: 1}),
    "torch conv2d": (_TENSORS + "conv2d", "", {50: 400, 1024: 8, 8192: 1}),
    "torch roll": (_TENSORS + "roll", "", {50: 400, 1024: 40, 8192: 1}),
    "numba, bytes": (_ARRAYS + "compiled", "", {50: 4000, 1024: 400, 8192: 16}),
    "JAX roll": (_TENSORS + "jax_roll", "jax", {50: 400, 1024: 40, 8192: 2}),
    "CAX": (_TENSORS + "cax", "cax", {50: 400, 1024: 4, 8192: 1}),
    "lifelib": ("benchmarks.peers.life_lifelib:tree", "python-lifelib", {50: 50, 1024: 256, 8192: 256}),
}
_SLOW = ("torch conv2d", "CAX", "lifelib")
_DAY_AND_NIGHT = "B3678/S34678"


def contests(quick, places):
    """Yield the contests: small, middle and large boards on one and two threads, then what variants cost us."""
    two = min(2, os.cpu_count() or 1)
    share = 0.5 if machine.vectors() == "AVX-512" else 0.7
    small, middle, large = (
        _Board(places, side, generations) for side, generations in ((50, 4000), (1024, 400), (8192, 192))
    )
    yield small.contest(1, _peers(small), [Target(_PACKED, least=20)], quick)
    yield _Board(places, 50, 400).contest(1, (), [Target(_PACKED, least=5)], quick)
    yield middle.contest(two, _peers(middle), [Target(_PACKED, _C, least=share)], quick)
    yield large.contest(two, () if quick else _peers(large), [Target(_PACKED, _C, least=share)], quick)
    yield _variants(places, two, quick, 1024, 1000, 400)
    if not quick:
        yield middle.contest(1, (), [Target(_PACKED, _C, least=share)], quick)
        yield large.contest(1, (), [Target(_PACKED, _C, least=share)], quick)
        yield _variants(places, two, quick, 8192, 8168, 96)


class _Board:
    """A square board in its file, and what is asked of contestants on it."""

    def __init__(self, places, side, generations):
        self.side, self.generations = side, generations
        self.path = boards.save(places.folder / "boards", side, side)

    def contest(self, threads, peers, targets, quick):
        ours = [self._ours(_PACKED, "packed"), *(self._ours(f"course.life, {one}", one) for one in _second_engine())]
        arguments = {"board": str(self.path), "side": self.side, "generations": self.generations}
        program, amount = (
            ("life50", self._amount(self.generations)) if self.side == 50 else ("life", self._amount(self.generations))
        )
        if program == "life50":
            del arguments["side"]
        limit = Contestant(_C, program, arguments, LIMIT, amount=amount)
        title = f"Life, {self.side}² cells, {self.generations} generations" + (
            "" if threads == 1 else f", {threads} threads"
        )
        rounds = 5 if quick else 9
        everyone = (*ours, *peers, limit)
        return Contest(title, "Gcell/s", everyone, "more", threads, rounds, tuple(targets), self._right)

    def peer(self, name, work, needs, generations):
        arguments = {"board": str(self.path), "height": self.side, "width": self.side, "generations": generations}
        return Contestant(name, work, arguments, needs=needs, amount=self._amount(generations), slow=name in _SLOW)

    def _ours(self, name, engine):
        arguments = {"board": str(self.path), "height": self.side, "width": self.side, "generations": self.generations}
        return Contestant(
            name, f"{__name__}:ours", {**arguments, "engine": engine}, OURS, amount=self._amount(self.generations)
        )

    def _amount(self, generations):
        return self.side**2 * generations / 1e9

    def _right(self, contestant, answer):
        generations = contestant.arguments["generations"]
        return _differs(answer, boards.expected(self.path, self.side, self.side, generations))


def _peers(board):
    return [
        board.peer(name, work, needs, generations[board.side]) for name, (work, needs, generations) in _PEERS.items()
    ]


def _second_engine():
    from course.life.run import ENGINES

    return [name for name in ENGINES if name not in {"packed", "scipy", "conv", "roll"}]


def _variants(places, threads, quick, side, other, generations):
    """Another height, another rule, dead edges: milliseconds a generation, each beside the plain board."""
    forms = {
        f"{side} × {side}": (side, "B3/S23", True),
        f"{other} × {side}": (other, "B3/S23", True),
        f"{side} × {side}, Day & Night": (side, _DAY_AND_NIGHT, True),
        f"{side} × {side}, dead edges": (side, "B3/S23", False),
    }
    contestants, plain = [], f"{side} × {side}"
    for name, (height, rule, wrap) in forms.items():
        path = boards.save(places.folder / "boards", height, side)
        arguments = {"board": str(path), "height": height, "width": side, "generations": generations}
        arguments |= {"engine": "packed", "rule": rule, "wrap": wrap}
        contestants.append(Contestant(name, f"{__name__}:ours", arguments, OURS, amount=1e3 / generations))

    def right(contestant, answer):
        given = contestant.arguments
        path = boards.save(places.folder / "boards", given["height"], side)
        return _differs(answer, boards.expected(path, given["height"], side, generations, given["rule"], given["wrap"]))

    names, most = list(forms), (1.1, 1.5, 1.1)
    targets = tuple(Target(name, plain, most=bound) for name, bound in zip(names[1:], most, strict=True))
    title = f"Life, any height, rule and edge at {side}²"
    return Contest(title, "ms a generation", tuple(contestants), "less", threads, 3 if quick else 9, targets, right)


def _differs(answer, wanted):
    return "" if answer == wanted else f"the board's checksum is {answer}, not {wanted}"


def ours(board, height, width, generations, engine, rule="B3/S23", wrap=True):
    """`course.life.run` on the board, packing and unpacking included."""
    import torch

    from course import life

    first = torch.from_numpy(boards.load(board, height, width))
    return Work(lambda: life.run(first, generations, engine, rule, wrap), lambda cells: boards.checksum(cells.numpy()))
