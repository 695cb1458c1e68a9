"""Using up the machine: processes, memory, disk, output, time. Each costs its own exercise and nothing beside it.

`read_rle` is where they are; all other exercises are solved, and keep their points.
"""

from tests.helpers.submissions import Submission

OTHERS = {"next_generation": 3.0, "film": 2.0, "run_until_repeat": 4.0, "rule_step": 3.0, "fast_step": 4.0}

#: name -> (a cell for `read_rle`, the states that it may end in)
FLOODS = {
    "a search that never ends and lets go of nothing": (
        "def read_rle(path):\n    import re\n    re.match(r'(a|a?)+$', 'a' * 64 + 'b')",
        "timed_out",
    ),
    "a crash in machine code": ("def read_rle(path):\n    import ctypes\n    ctypes.string_at(0)", "crashed"),
    "killing all that can be killed": ("import os, signal\nos.kill(-1, signal.SIGKILL)\nos.abort()", "crashed"),
    "a fork bomb": (
        "def read_rle(path):\n    import os\n    while True:\n        try: os.fork()\n        except OSError: pass",
        None,
    ),
    "memory without end": ("def read_rle(path):\n    held = []\n    while True: held.append(bytes(1 << 24))", None),
    "a flood of evidence": (
        """\
def read_rle(path):
    import os
    while True: os.write(4, b'v' + (1 << 20).to_bytes(8, 'little') * 2 + bytes(65536))""",
        None,
    ),
    "recursion without an end": ("def read_rle(path):\n    return read_rle(path)", "graded"),
    "every descriptor closed in an answer": (
        "def read_rle(path):\n    import os\n    os.closerange(0, 256)",
        "crashed",
    ),
}

#: A cell of their own that floods, beside all exercises solved: it is left out.
CELLS = {
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
