"""Using up the machine: processes, memory, disk, output, time. Each costs its own exercise and nothing beside it.

`read_rle` is where they are; all other exercises are solved, and keep their points.
"""

from tests.helpers.submissions import Submission

OTHERS = {"next_generation": 3.0, "film": 2.0, "run_until_repeat": 4.0, "rule_step": 3.0, "fast_step": 4.0}

#: name -> (a cell for `read_rle`, the states that it may end in)
FLOODS = {
    "a loop without an end in a cell": ("while True: pass", "timed_out"),
    "a loop without an end in an answer": ("def read_rle(path):\n    while True: pass", "timed_out"),
    "sleeping": ("def read_rle(path):\n    import time\n    time.sleep(3600)", "timed_out"),
    "a search that never ends and lets go of nothing": (
        "def read_rle(path):\n    import re\n    re.match(r'(a|a?)+$', 'a' * 64 + 'b')",
        "timed_out",
    ),
    "ending the kernel": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    "ending the kernel in an answer": ("def read_rle(path):\n    import os\n    os._exit(0)", "crashed"),
    "a crash in machine code": ("def read_rle(path):\n    import ctypes\n    ctypes.string_at(0)", "crashed"),
    "killing all that can be killed": ("import os, signal\nos.kill(-1, signal.SIGKILL)\nos.abort()", "crashed"),
    "a fork bomb": (
        "def read_rle(path):\n    import os\n    while True:\n        try: os.fork()\n        except OSError: pass",
        None,
    ),
    "threads without end": (
        """\
def read_rle(path):
    import threading, time
    while True:
        try: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        except RuntimeError: pass""",
        None,
    ),
    "memory without end": ("def read_rle(path):\n    held = []\n    while True: held.append(bytes(1 << 24))", None),
    "one demand for more memory than there is": (
        "def read_rle(path):\n    return np.ones((1 << 20, 1 << 20), np.uint8)",
        "graded",
    ),
    "memory that lies in files": (
        """\
def read_rle(path):
    for number in range(10_000):
        with open(f"/dev/shm/{number}", "wb") as file: file.write(bytes(1 << 24))""",
        "graded",
    ),
    "a full disk": (
        """\
def read_rle(path):
    with open("/tmp/full", "wb") as file:
        while True: file.write(bytes(1 << 20))""",
        "graded",
    ),
    "a million files": (
        "def read_rle(path):\n    for number in range(1_000_000): open(f'/tmp/{number}', 'w').close()",
        None,
    ),
    "a flood of output": ("def read_rle(path):\n    while True: print('x' * 100_000)", "crashed"),
    "a flood of errors": ("def read_rle(path):\n    import os\n    while True: os.write(2, b'x' * 65536)", "crashed"),
    "a flood of evidence": (
        """\
def read_rle(path):
    import os
    while True: os.write(4, b'v' + (1 << 20).to_bytes(8, 'little') * 2 + bytes(65536))""",
        None,
    ),
    "evidence that claims to be endless": (
        """\
def read_rle(path):
    import os
    for number in (3, 4, 5):
        try: os.write(number, b'v' + (1 << 62).to_bytes(8, 'little') * 2)
        except OSError: pass""",
        None,
    ),
    "a picture of four billion cells": ("def read_rle(path):\n    return np.zeros((1 << 16, 1 << 16), np.uint8)", None),
    "a picture of three million rows of nothing": (
        "def read_rle(path):\n    return np.zeros((3_000_000, 0), np.uint8)",
        "graded",
    ),
    "recursion without an end": ("def read_rle(path):\n    return read_rle(path)", "graded"),
    "every descriptor closed": ("import os\nos.closerange(0, 256)", "crashed"),
    "every descriptor closed in an answer": (
        "def read_rle(path):\n    import os\n    os.closerange(0, 256)",
        "crashed",
    ),
}

#: A cell of their own that floods, beside all exercises solved: it is left out.
CELLS = {
    "a cell that hangs": "while True: pass",
    "a cell that ends Python": "import os\nos._exit(1)",
    "a cell that stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "a cell that fills the memory": "held = []\nwhile True: held.append(bytes(1 << 24))",
}


def _of(name, text, state):
    def build(notebook, host):
        notebook.solve().answer("read_rle", text)

    states = {"read_rle": state} if state else {}
    return Submission(name, build, gets=OTHERS, states=states, slow=True, seconds=4.0)


def _cell(name, text):
    def build(notebook, host):
        notebook.solve().add(text, before=notebook.place("film"))

    return Submission(name, build, gets={**OTHERS, "read_rle": 4.0}, slow=True, seconds=4.0)


FLOODED = [_of(name, text, state) for name, (text, state) in FLOODS.items()]
LEFT_OUT = [_cell(name, text) for name, text in CELLS.items()]
