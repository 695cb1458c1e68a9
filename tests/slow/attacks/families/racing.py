"""Answers that are right and not fast enough, arranged so that a clock or a queue might call them fast.

Each is about 2.4 times as fast as the reference, whatever the machine: 5 of 12 generations are computed as the
reference does it, the others at once. 3 times is asked for, so half of the points are due, for being right.
"""

from tests.helpers.submissions import Submission

#: What all of them build on: `quick` is the lab's own solution, `slow` computes a band of rows as the reference does.
BASE = """
import ctypes, mmap, os, threading, time
LIBC = ctypes.CDLL(None, use_errno=True)

def quick(board, generations):
    padded = np.zeros((board.shape[0] + 2, board.shape[1] + 2), np.uint8)
    padded[1:-1, 1:-1] = board
    inner = padded[1:-1, 1:-1]
    for _ in range(generations):
        padded[0], padded[-1] = padded[-2], padded[1]
        padded[:, 0], padded[:, -1] = padded[:, -2], padded[:, 1]
        rows = padded[:-2] + padded[1:-1] + padded[2:]
        nine = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
        inner[:] = (nine == 3) | ((nine == 4) & (inner == 1))
    return inner.copy()

def slow(board, generations, k, of):
    first, last = k * len(board) // of, (k + 1) * len(board) // of
    rows = np.arange(first - generations, last + generations) % len(board)
    return eight_rolls(board[rows], generations)[generations:-generations]

def arranged(board, generations, work):
    if board.size < 100_000 or generations < 6:
        return eight_rolls(board, generations)
    return work(quick(board, generations - 5))

SIZE, SHOWN = 512 * 512, mmap.mmap(-1, 2 * 512 * 512)
ASKED, MADE = (np.frombuffer(SHOWN, np.uint8, SIZE, k * SIZE).reshape(512, 512) for k in (0, 1))

class Band:
    # a process that waits, computes the band k of what lies in ASKED, and says so; `after` is its last act

    def __init__(self, k, of, after=int):
        (theirs, self.go), (self.done, back) = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(self.go)
            while os.read(theirs, 1):
                MADE[k * 512 // of:(k + 1) * 512 // of] = slow(ASKED, 5, k, of)
                os.write(back, b"!")
                after()
            os._exit(0)
        os.close(theirs)

def by_turns(board, bands):
    ASKED[:] = board
    for band in bands:
        os.write(band.go, b"!")
        os.read(band.done, 1)
    return MADE.copy()

def at_once(board, bands):
    ASKED[:] = board
    for band in bands: os.write(band.go, b"!")
    for band in bands: os.read(band.done, 1)
    return MADE.copy()

def only_queue(policy=5):
    if os.fork() == 0:
        LIBC.sched_setscheduler(0, policy, ctypes.byref(ctypes.c_int(0)))  # 5: SCHED_IDLE
        while True: os.sched_yield() if policy == 0 else None
"""

#: name -> a cell that defines `fast_step`
ARRANGEMENTS = {
    "one processor by affinity, and a process that only ever queues": """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
only_queue()
def fast_step(board, generations):
    return arranged(board, generations, lambda board: eight_rolls(board, 5))""",
    "processes that take turns, beside one that only ever queues": """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
BANDS = [Band(k, 4) for k in range(4)]
only_queue()
def fast_step(board, generations):
    return arranged(board, generations, lambda board: by_turns(board, BANDS))""",
    "processes that take turns, beside one that yields all the time": """
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
BANDS = [Band(k, 4) for k in range(4)]
only_queue(0)
def fast_step(board, generations):
    return arranged(board, generations, lambda board: by_turns(board, BANDS))""",
    "processes side by side": """
BANDS = [Band(k, 4) for k in range(4)]
def fast_step(board, generations):
    return arranged(board, generations, lambda board: at_once(board, BANDS))""",
    "processes that are busy still when the answer is sent": """
def busy():
    ends = time.monotonic() + 0.02
    while time.monotonic() < ends: pass
BANDS = [Band(k, 4, busy) for k in range(4)]
def fast_step(board, generations):
    return arranged(board, generations, lambda board: at_once(board, BANDS))""",
    "children that end before the answer and that nobody waits for": """
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def forked(board):
    band = Band(0, 1)
    ASKED[:] = board
    os.write(band.go, b"!")
    os.read(band.done, 1)
    os.close(band.go)
    return MADE.copy()
def fast_step(board, generations):
    return arranged(board, generations, forked)""",
}


def _of(name, text):
    def build(notebook, host):
        notebook.solve().answer("fast_step", BASE + text)

    others = {"next_generation": 3.0, "film": 2.0, "read_rle": 4.0, "run_until_repeat": 4.0, "rule_step": 3.0}
    return Submission(f"a race with {name}", build, gets={**others, "fast_step": 2.0}, races=True, slow=True)


ARRANGED = [_of(name, text) for name, text in ARRANGEMENTS.items()]
