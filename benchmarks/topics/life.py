"""Game of Life: cells a second, from a board of bytes to a board of bytes, beside tutorials, libraries and tuned C."""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import psutil

from benchmarks import boards, machine
from benchmarks.contest import LIMIT, OURS, STARTS, Contest, Contestant
from benchmarks.contestant import Work
from benchmarks.figures import Target

_C = "C, tuned"
_PACKED, _KERNEL = "course.life, packed", "course.life, packed, the kernel alone"
_FEW = f"{_PACKED}, 400 generations a call"
_ON_DISK, _ANEW = f"{_PACKED}, kernels on disk", f"{_PACKED}, kernels compiled"
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
#: What `--quick` still shows on a board of each side.
_QUICK = {50: ("NumPy roll, tutorial", "numba, bytes"), 1024: ("SciPy convolve2d, tutorial", "numba, bytes")}
_DAY_AND_NIGHT = "B3678/S34678"


def contests(quick, places):
    """Yield the contests: small, middle and large boards on one and two threads, then what variants cost us."""
    two = min(2, os.cpu_count() or 1)
    share = 0.5 if machine.vectors() == "AVX-512" else 0.7
    small, middle, large = (
        _Board(places, side, generations) for side, generations in ((50, 4000), (1024, 400), (8192, 192))
    )
    yield small.contest(
        1, _peers(small), [Target(_PACKED, least=20), Target(_FEW, least=5), Target(_KERNEL, least=45)], quick
    )
    yield middle.contest(two, _peers(middle), [Target(_PACKED, _C, least=share)], quick)
    yield large.contest(two, _peers(large), [Target(_PACKED, _C, least=share)], quick)
    yield _variants(places, two, quick, 1024, 1000, 400)
    yield _first_calls(middle, two, quick)
    yield _memory(large, two, quick)
    if not quick:
        yield middle.contest(1, (), [Target(_PACKED, _C, least=share)], quick)
        yield large.contest(1, (), [Target(_PACKED, _C, least=share)], quick)
        yield _variants(places, two, quick, 8192, 8168, 96)
        if machine.vectors() == "AVX-512":
            yield from (avx2_only(board.contest(two, (), [], quick), 0.7) for board in (middle, large))


def avx2_only(contest, share):
    """Return the contest of ours and C as on a processor without AVX-512; the first of ours keeps `share` of C's."""
    those = [
        one for one in contest.contestants if one.kind == LIMIT or "numba" in one.name or one is contest.contestants[0]
    ]
    alike = tuple(replace(one, vectors="AVX2") for one in those)
    target = (Target(alike[0].name, _C, least=share),)
    return replace(contest, title=f"{contest.title}, AVX2 only", contestants=alike, targets=target)


class _Board:
    """A square board in its file, and what is asked of contestants on it."""

    def __init__(self, places, side, generations):
        self.side, self.generations = side, generations
        self.path = boards.save(places.folder / "boards", side, side)

    def contest(self, threads, peers, targets, quick):
        second = [self._ours(f"course.life, {one}", engine=one, slow=self.side != 1024) for one in _second_engine()]
        ours = [self._ours(_PACKED, engine="packed"), *second]
        program, arguments = "life", {"board": str(self.path), "side": self.side, "generations": self.generations}
        title = f"Life, {self.side}² cells, {self.generations} generations"
        if self.side == 50:
            ours[:1] = self._forms()
            program = "life50"
            del arguments["side"]
        limit = Contestant(_C, program, arguments, LIMIT, amount=self._amount(self.generations))
        title += "" if threads == 1 else f", {threads} threads"
        everyone, rounds = (*ours, *peers, limit), 3 if quick else 6 if self.side == 8192 else 9
        return Contest(
            title, "Gcell/s", everyone, "more", threads, rounds, tuple(targets), self._right, STARTS, threads == 1
        )

    def peer(self, name, work, needs, generations):
        slow = name not in _QUICK.get(self.side, ())
        return Contestant(
            name, work, self.arguments(generations), needs=needs, amount=self._amount(generations), slow=slow
        )

    def arguments(self, generations):
        return {"board": str(self.path), "height": self.side, "width": self.side, "generations": generations}

    def _ours(self, name, slow=False, **more):
        arguments, amount = {**self.arguments(self.generations), **more}, self._amount(self.generations)
        return Contestant(name, f"{__name__}:ours", arguments, OURS, amount=amount, slow=slow)

    def _forms(self):
        few, plain = 400, self.arguments(self.generations)
        given = {_PACKED: plain | {"engine": "packed"}, _FEW: self.arguments(few) | {"engine": "packed"}}
        arguments = {"runs": given, "kernels": {_KERNEL: plain}}
        times = {_PACKED: self.generations, _FEW: few, _KERNEL: self.generations}
        return [
            Contestant(name, f"{__name__}:forms", arguments, OURS, amount=self._amount(generations), way=name)
            for name, generations in times.items()
        ]

    def _amount(self, generations):
        return self.side**2 * generations / 1e9

    def _right(self, contestant, answer):
        generations = round(contestant.amount * 1e9 / self.side**2)
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
    plain, rounds, given, path = f"{side} × {side}", 3 if quick else 9, {}, {}
    for name, (height, rule, wrap) in forms.items():
        path[name] = boards.save(places.folder / "boards", height, side)
        given[name] = {"board": str(path[name]), "height": height, "width": side, "generations": generations}
        given[name] |= {"engine": "packed", "rule": rule, "wrap": wrap}
    contestants = tuple(
        Contestant(name, f"{__name__}:forms", {"runs": given}, OURS, amount=1e3 / generations, way=name)
        for name in forms
    )

    def right(contestant, answer):
        height, rule, wrap = forms[contestant.way]
        return _differs(answer, boards.expected(path[contestant.way], height, side, generations, rule, wrap))

    names, most = list(forms), (1.1, 1.5, 1.1)
    targets = tuple(Target(name, plain, most=bound) for name, bound in zip(names[1:], most, strict=True))
    title = f"Life, any height, rule and edge at {side}²"
    return Contest(title, "ms a generation", contestants, "less", threads, rounds, targets, right, STARTS)


def _first_calls(board, threads, quick):
    """The first call in a process that has imported torch, a process a run: what is read, and what is compiled."""
    given = board.arguments(board.generations)

    def one(name, work, kind="peer", needs="", slow=False, kept=False, **more):
        arguments = {"work": work, "arguments": {**given, **more}, "kept": kept}
        return Contestant(name, f"{__name__}:first_call", arguments, kind, needs, slow=slow)

    contestants = (
        one(_ON_DISK, f"{__name__}:ours", OURS, kept=True, engine="packed"),
        one(_ANEW, f"{__name__}:ours", OURS, slow=True, engine="packed"),
        one("numba, bytes, compiled", _ARRAYS + "compiled", slow=True),
        one("JAX roll, compiled", _TENSORS + "jax_roll", needs="jax", slow=True),
    )
    targets = (Target(_ON_DISK, most=0.5), Target(_ANEW, most=6))
    return Contest("Life, first call of a process", "s", contestants, "less", threads, 1 if quick else 5, targets)


def _memory(board, threads, quick):
    """Bytes a cell that a run takes beyond the board and its result."""
    given = board.arguments(2)

    def one(name, work, kind="peer", slow=False, **more):
        arguments = {"work": work, "arguments": {**given, **more}}
        return Contestant(name, f"{__name__}:peak", arguments, kind, slow=slow)

    contestants = (
        one(_PACKED, f"{__name__}:ours", OURS, engine="packed"),
        one("numba, bytes", _ARRAYS + "compiled"),
        one("torch roll", _TENSORS + "roll", slow=True),
    )
    title = f"Life, memory beyond the board and the result, {board.side}² cells"
    return Contest(title, "bytes a cell", contestants, "less", threads, 1 if quick else 3, (Target(_PACKED, most=0.3),))


def _differs(answer, wanted):
    return "" if answer == wanted else f"the board's checksum is {answer}, not {wanted}"


def forms(runs, kernels=None):
    """Several forms of ours in one process: {way: the arguments of `ours`}, and of `kernel`."""
    found = {name: ours(**given) for name, given in runs.items()}
    return found | {name: kernel(**given) for name, given in (kernels or {}).items()}


def ours(board, height, width, generations, engine, rule="B3/S23", wrap=True):
    """`course.life.run` on the board, packing and unpacking included."""
    import torch

    from course import life

    first = torch.from_numpy(boards.load(board, height, width))
    return Work(lambda: life.run(first, generations, engine, rule, wrap), lambda cells: boards.checksum(cells.numpy()))


def kernel(board, height, width, generations):
    """The kernel on words that are packed already: what C's figure on this board is, too."""
    from course import life
    from course.life import packed

    cells, rule = boards.load(board, height, width), life.Rule.parse("B3/S23")
    first = packed.pack(cells, True)

    def run():
        return packed.run_words(first.copy(), height, generations, rule, True)

    return Work(run, lambda words: boards.checksum(packed.unpack(words, height)))


@contextmanager
def first_call(work, arguments, kept):
    """The seconds of a process's first run of `work`, making it ready included; `kept`: what it compiles is on disk."""
    program = f"import {__name__} as here; here.timed({work!r}, {json.dumps(arguments)!r})"
    with tempfile.TemporaryDirectory() as folder:

        def run():
            environment = os.environ | ({} if kept else {"NUMBA_CACHE_DIR": tempfile.mkdtemp(dir=folder)})
            done = subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                capture_output=True,
                text=True,
                timeout=100,
                check=True,
            )
            return float(done.stdout.split()[-1])

        yield Work(run, seconds=float, warm_ups=1 if kept else 0)


def timed(work, arguments):
    """Print the seconds that the first run of `work` takes in this process, making it ready included."""
    import torch  # noqa: F401  # what is imported before the call is no part of it

    from course import life  # noqa: F401

    module, _, name = work.partition(":")
    made, arguments = getattr(import_module(module), name), json.loads(arguments)
    began = time.perf_counter()
    made(**arguments).run()
    print(time.perf_counter() - began)


def peak(work, arguments):
    """Bytes a cell by which the peak of a run of `work` lies above what its process held before, less the result's."""
    module, _, name = work.partition(":")
    made = getattr(import_module(module), name)(**arguments)
    cells = arguments["height"] * arguments["width"]

    def run():
        with open("/proc/self/clear_refs", "w") as file:  # Linux alone tells a peak since a moment
            file.write("5")
        before = psutil.Process().memory_info().rss
        result = made.run()
        with open("/proc/self/status") as file:
            (most,) = (int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
        del result
        return (most - before) / cells - 1

    return Work(run, seconds=float, warm_ups=1)
