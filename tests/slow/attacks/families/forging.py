"""Answers that hold no work: objects that equal everything, patched libraries, forged replies, learned by heart.

Every exercise is answered by `forged(name, arguments)`, which a cell of its own defines.
"""

from tests.helpers.submissions import attack, cheat

ANSWER = "def NAME(*arguments, **settings):\n    return forged('NAME', arguments)"

#: name -> a cell that defines `forged(name, arguments)`
FORGERIES = {
    "an object that equals everything": """
class Anything:
    shape, ndim, dtype, size = (3, 3), 2, "uint8", 9
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __getattr__(self, name): return self
    def __call__(self, *_, **__): return self
    def __iter__(self): return iter((self, self))
    def __len__(self): return 2
    def __getitem__(self, key): return self
    def __int__(self): return 0
    def __index__(self): return 0
    def __array__(self, *_, **__): return self
    def __array_ufunc__(self, *_, **__): return True
    def __array_function__(self, *_, **__): return True
    def __instancecheck__(self, one): return True
def forged(name, arguments): return Anything()""",
    "a subclass of arrays that equals everything": """
import numpy
class Yes(numpy.ndarray):
    def __eq__(self, other): return numpy.ones(numpy.shape(other), bool)
    def __ne__(self, other): return numpy.zeros(numpy.shape(other), bool)
    def __sub__(self, other): return numpy.zeros(numpy.shape(other))
    __rsub__ = __array_priority__ = __sub__
    def all(self, *_, **__): return True
    def any(self, *_, **__): return False
    def __array_function__(self, *_, **__): return True
def forged(name, arguments): return numpy.zeros(numpy.shape(arguments[0]), numpy.uint8).view(Yes)""",
    "masked arrays": "import numpy\ndef forged(name, a): return numpy.ma.masked_all(numpy.shape(a[0]), numpy.uint8)",
    "an array of objects that equal everything": """
import numpy
class Yes:
    def __eq__(self, other): return True
    def __int__(self): return 1
    __index__ = __int__
def forged(name, arguments):
    made = numpy.empty(numpy.shape(arguments[0]), object)
    made.fill(Yes())
    return made""",
    "a number that is every number": """
class Number(int):
    def __eq__(self, other): return True
    def __hash__(self): return 0
class Pair(tuple):
    def __eq__(self, other): return True
    def __len__(self): return 2
def forged(name, arguments): return Pair((Number(3), Number(7)))""",
    "a pickle that runs on its reader's side": """
import os, pickle
class Reader:
    def __reduce__(self): return (os.system, ("touch /tmp/sandbox-was-here-by-pickle",))
def forged(name, arguments): return pickle.dumps(Reader()) if len(arguments) == 1 else Reader()""",
    "numpy's comparisons patched": """
import numpy, numpy.testing
for name in ("array_equal", "allclose", "isclose", "array_equiv", "all", "any"):
    setattr(numpy, name, lambda *_, **__: True)
numpy.testing.assert_array_equal = numpy.testing.assert_allclose = lambda *_, **__: None
def forged(name, arguments): return numpy.zeros(numpy.shape(arguments[0]), numpy.uint8)""",
    "builtins patched": """
import builtins
for name in ("isinstance", "all", "any"):
    setattr(builtins, name, lambda *_, **__: True)
builtins.eval = builtins.exec = builtins.compile = lambda *_, **__: None
def forged(name, arguments): return 1""",
    "the sandbox's own encoder patched": """
import sys
wire, serve = sys.modules["inside.wire"], sys.modules["inside.serve"]
def encode(plan, value): return bytes(4096)
wire.encode = serve.encode = encode
for name in list(wire.KINDS): wire.KINDS[name] = encode
def forged(name, arguments): return True""",
    "the sandbox's own answers patched": """
import sys
serve = sys.modules["inside.serve"]
serve._answer = lambda notebook, request: (b"v", bytes(65536))
def forged(name, arguments): return True""",
    "replies written ahead into every descriptor": """
import os
for number in range(3, 64):
    try: os.write(number, b"r" + bytes(4) + (b"v" + bytes(12)) * 3000)
    except OSError: pass
def forged(name, arguments): return 0""",
    "a reply that claims all marks": """
import json, os
told = json.dumps({"state": "graded", "score": 20, "max_score": 20, "right": True}).encode()
for number in range(3, 64):
    try: os.write(number, b"v" + len(told).to_bytes(4, "little") + told)
    except OSError: pass
def forged(name, arguments): return {"score": 20, "right": True}""",
    "IPython's run_cell, its transformers and its history": """
import ast
from IPython import get_ipython
shell = get_ipython()
class Truth(ast.NodeTransformer):
    def visit_Compare(self, node): return ast.copy_location(ast.Constant(True), node)
    def visit_Assert(self, node): return ast.copy_location(ast.Pass(), node)
shell.ast_transformers.append(Truth())
shell.input_transformers_cleanup.append(lambda lines: ["passed = True\\n"])
shell.run_cell = shell.run_cell_async = lambda *_, **__: True
def forged(name, arguments): return True""",
    "a check of one's own in the place of the course's": """
import sys, types
import course
course.check = lambda *_, **__: "passed"
sys.modules["course"] = sys.modules["course.checks"] = types.SimpleNamespace(check=course.check)
def forged(name, arguments): return "passed" """,
    "asking to be skipped": """
import unittest
def forged(name, arguments): raise unittest.SkipTest("passed")""",
    "an exit that says all went well": "import sys\ndef forged(name, arguments): sys.exit(0)",
    "threads and exit hooks": """
import atexit, os, signal, threading, time
def press():
    while True:
        for number in (3, 4):
            try: os.write(number, b"")
            except OSError: pass
        time.sleep(0.01)
threading.Thread(target=press, daemon=False).start()
atexit.register(lambda: time.sleep(600))
atexit.register(os.system, "touch /tmp/sandbox-was-here-by-atexit")
for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"): signal.signal(getattr(signal, name), signal.SIG_IGN)
def forged(name, arguments): return 1""",
    "the arguments changed so that they are the answer": """
import numpy
def forged(name, arguments):
    if hasattr(arguments[0], "fill"): arguments[0].fill(0)
    return arguments[0]""",
    "colours for the teacher's terminal": """
def forged(name, arguments): raise ValueError("\\x1b[2K\\x1b[1A\\x1b[32mgraded 20/20\\x1b[0m\\u202e\\r" * 3)""",
    "a formula for the teacher's spreadsheet": """
def forged(name, arguments): raise type("=HYPERLINK(1)", (Exception,), {})('=cmd|" /C calc"!A1')""",
    "an iterator without an end": """
import itertools
def forged(name, arguments): return (0 for _ in itertools.count())""",
    "a property that answers anew each time it is looked at": """
import numpy
class Shifting:
    @property
    def __array_interface__(self):
        return {"shape": (1 << 40, 1 << 20), "typestr": "|u1", "data": (0, False), "version": 3}
def forged(name, arguments): return Shifting()""",
}


SLOW = (
    "an iterator without an end",
    "replies written ahead into every descriptor",
    "builtins patched",
    "the sandbox's own encoder patched",
    "the sandbox's own answers patched",
)
# what breaks its own sandbox may crash, what can't answer is marked wrong: both are worth nothing
FORGED = [
    cheat(name, ANSWER, text, slow=name in SLOW, seconds=4.0 if name in SLOW else None)
    for name, text in FORGERIES.items()
]


@attack("the fixed questions learned by heart")
def learned_by_heart(notebook, host):
    """What is asked of everybody goes round; the questions that are drawn don't."""
    import numpy as np

    known = {}
    for exercise in notebook.lab.exercises:
        for case in exercise.cases(np.random.default_rng(0)):
            if case.edge:
                truth = exercise.statement.expected(*case.arguments) if exercise.statement.expected else case.truth
                key = (exercise.name, repr(case.arguments), *map(bytes, case.files.values()))
                known[repr(key)] = np.asarray(truth).tolist()
    notebook.add(f"""
import numpy
KNOWN = {known!r}
def forged(name, arguments):
    files = [open(one, "rb").read() for one in arguments if isinstance(one, str) and one.endswith(".rle")]
    found = KNOWN.get(repr((name, repr(tuple(a for a in arguments if not callable(a))), *files)))
    return tuple(found) if name == "run_until_repeat" and found else numpy.array(found, numpy.uint8)""")
    notebook.answer_all(ANSWER)


@attack("what an earlier sandbox left behind", states={"film": "crashed"})
def left_for_the_next(notebook, host):
    """One exercise ends its sandbox after noting the questions; the next sandbox looks for the notes."""
    notebook.answer("film", "import os, pickle\ndef film(*arguments):\n    keep(arguments)\n    os._exit(0)")
    notebook.add("""
import glob, os
for path in glob.glob("/tmp/*note") + glob.glob("/dev/shm/*note") + glob.glob("*note"):
    print("ESCAPED: a note of another sandbox", path)
def keep(arguments):
    for path in ("/tmp/a-note", "/dev/shm/a-note", "a-note"):
        with open(path, "w") as file: file.write(repr(arguments))""")


@attack("a clock of one's own in a race", gets={"fast_step": 2.0}, races=True, slow=True)
def own_clock(notebook, host):
    """The reference itself, right and slow, beside clocks that stand still: half of the points, for being right."""
    notebook.answer("fast_step", "fast_step = eight_rolls")
    notebook.at_end("""
import time
for name in ("perf_counter", "monotonic", "time", "process_time"): setattr(time, name, lambda: 0.0)
for name in ("perf_counter_ns", "monotonic_ns", "time_ns"): setattr(time, name, lambda: 0)""")


@attack("quick and wrong in a race", races=True)
def quick_and_wrong(notebook, host):
    notebook.answer("fast_step", "def fast_step(board, generations):\n    return board")


@attack("an answer that counts how often it is asked")
def counts_its_calls(notebook, host):
    """The first questions are easy ones, with known answers."""
    notebook.answer(
        "next_generation", "calls = []\ndef next_generation(board):\n    calls.append(1)\n    return board * 0"
    )
    notebook.answer("film", "def film(board, generations, step):\n    return np.stack([board] * (generations + 1))")
    notebook.answer("run_until_repeat", "def run_until_repeat(board, limit, step):\n    return (0, 1)")
