"""A second set, made by looking at the release notebooks and at what can be seen from inside."""

from tests.helpers.submissions import attack, cheat
from tests.slow.attacks.families.forging import ANSWER

#: name -> a cell that defines `forged(name, arguments)`
TRICKS = {
    "the question taken apart, frame by frame": """
import sys
KNOWN = {"entry", "arguments", "drive", "files", "evidence"}
def forged(name, arguments):
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get("request")
        if isinstance(request, dict) and not request.keys() <= KNOWN: print("ESCAPED:", request.keys() - KNOWN)
        frame = frame.f_back
    return 0""",
    "numpy itself replaced in the cell of imports": """
import numpy as np
class Kind(type):
    def __instancecheck__(cls, one): return True
zeros = np.zeros
np.ndarray = Kind("ndarray", (), {})
np.asarray = np.array = np.dtype = lambda *arguments, **settings: arguments[0]
def forged(name, arguments): return zeros((3, 3))""",
    "an exit while the answer is being read": """
import os
class Trap:
    def __array__(self, *_, **__): os._exit(0)
    def __iter__(self): os._exit(0)
def forged(name, arguments): return Trap()""",
    "a bell that writes evidence": """
import os, signal, time
signal.signal(signal.SIGALRM, lambda *_: os.write(4, b"v" + bytes(16)))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
def forged(name, arguments): time.sleep(0.2)""",
    "standard output in the place of evidence": """
import os
os.dup2(4, 1)
print("v" * 100, flush=True)
def forged(name, arguments): print("v" * 16, flush=True)""",
    "the checks read as text": """
import course.checks, inspect
if "Exercise" in inspect.getsource(course.checks): print("ESCAPED: the checks")
def forged(name, arguments): return course.checks.check(name)""",
    "ten million letters of an error": """
def forged(name, arguments): raise ValueError("x" * 10_000_000 + chr(10) * 100_000)""",
    "an error whose name turns text around": """
def forged(name, arguments): 
    raise type(chr(0x202E) + "gnp.exe" + chr(27) + "[31m", (Exception,), {})(chr(0xD800) + chr(0))""",
    "the argument's memory written over": """
import ctypes, numpy
def forged(name, arguments):
    if isinstance(arguments[0], numpy.ndarray): ctypes.memset(arguments[0].ctypes.data, 1, arguments[0].nbytes)
    return arguments[0]""",
    "other graders, looked for in what the kernel tells": """
for path in ("unix", "tcp", "udp"):
    try: lines = open("/proc/net/" + path).read()
    except OSError: continue
    if "decoy-" in lines or "/class/" in lines: print("ESCAPED:", path)
for path in ("/proc/mounts", "/proc/self/mountinfo", "/proc/locks", "/proc/keys"):
    try: lines = open(path).read()
    except OSError: continue
    if "/submitted" in lines or "/class" in lines: print("ESCAPED:", path)
def forged(name, arguments): return None""",
}


SLOW = ("a bell that writes evidence", "ten million letters of an error")
TRICKED = [cheat(name, ANSWER, text, slow=name in SLOW) for name, text in TRICKS.items()]


@attack("processes that keep the machine busy in a race", gets={"fast_step": 2.0}, races=True, slow=True)
def busy_machine(notebook, host):
    """The reference, right and slow: that the machine is busy must not make it look quick."""
    notebook.answer(
        "fast_step",
        """
import os
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True: pass
fast_step = eight_rolls""",
    )


@attack("right on small boards, and quick with nothing on those that are timed", races=True)
def quick_when_timed(notebook, host):
    notebook.answer(
        "fast_step",
        """
def fast_step(board, generations):
    return eight_rolls(board, generations) if board.size < 100_000 else board * 0""",
    )
    notebook.answer("next_generation", "def next_generation(board):\n    return board * 0")
