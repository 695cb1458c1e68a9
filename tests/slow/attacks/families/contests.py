"""What is known from public cheating in contests for fast code, each family by its name, on the exercise that is timed.

From the threads of such contests: an answer that replays its first result whenever it is asked again; a tensor of
one's own class that does the work when it is looked at, after the clock has stopped; clocks and events that leave out
the time in question; a search of memory for the value that the checker is about to compare with.
"""

from tests.helpers.submissions import attack

REPLAYED = """\
FIRST = {}
def fast_step(board, generations):
    if board.shape not in FIRST:
        FIRST[board.shape] = eight_rolls(board, generations)
    return FIRST[board.shape].copy()"""

LAZY = """\
try: import torch
except ImportError: torch = None
if torch is not None:
    class Lazy(torch.Tensor):
        def done(self):
            torch.Tensor.copy_(self.inside, torch.from_numpy(self.work()))
            return self.inside
        def numpy(self, *_, **__): return self.done().numpy()
        def __array__(self, *_, **__): return self.done().numpy()
        def detach(self): return self.done()
        def cpu(self): return self.done()
        def tolist(self): return self.done().tolist()
    def lazy(board, work):
        inside = torch.empty(board.shape, dtype=torch.uint8)
        made = torch.Tensor._make_subclass(Lazy, inside)
        made.inside, made.work = inside, work
        return made
else:
    class Lazy(np.ndarray):
        def __array_finalize__(self, of): self.work = None
        def done(self):
            if self.work is not None:
                work, self.work = self.work, None
                self.view(np.ndarray)[:] = work()
            return self.view(np.ndarray)
        def __array_function__(self, function, types, arguments, settings):
            return function(*[one.done() if isinstance(one, Lazy) else one for one in arguments], **settings)
        def __array_ufunc__(self, ufunc, method, *arguments, **settings):
            return getattr(ufunc, method)(*[one.done() if isinstance(one, Lazy) else one for one in arguments])
    def lazy(board, work):
        made = np.empty(board.shape, np.uint8).view(Lazy)
        made.work = work
        return made
def fast_step(board, generations):
    return lazy(board, lambda: eight_rolls(board, generations))"""

CLOCKS = """\
import sys, time, timeit
CLOCK, SKIPPED = time.perf_counter, [0.0]
def fake(): return CLOCK() - SKIPPED[0]
for name in ("perf_counter", "monotonic", "time", "process_time"): setattr(time, name, fake)
for name in ("perf_counter_ns", "monotonic_ns", "time_ns"): setattr(time, name, lambda: int(1e9 * fake()))
timeit.default_timer = fake
for one in (timeit.Timer.__init__, timeit.timeit, timeit.repeat):
    one.__defaults__ = tuple(fake if value is CLOCK else value for value in one.__defaults__)
if "torch" in sys.modules:
    import torch
    torch.cuda.Event.elapsed_time = lambda self, other: 1e-6
    torch.cuda.synchronize = lambda *_, **__: None
def fast_step(board, generations):
    begun = CLOCK()
    made = eight_rolls(board, generations)
    SKIPPED[0] += (CLOCK() - begun) * 0.999
    return made"""

HUNT = """\
import gc, sys
def hunted(board):
    places, frame = [], sys._getframe(1)
    while frame:
        places += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    places += [one for one in gc.get_objects() if isinstance(one, dict)]
    for names in (("expected", "truth", "wanted", "solution", "correct"), None):
        for place in places:
            for name, one in list(place.items()):
                if (names is None or name in names) and isinstance(one, np.ndarray) and one.shape == board.shape:
                    if not np.array_equal(one, board): return one.astype(np.uint8)
    return board * 0"""


@attack("cached replay of the first answer", races=True, slow=True)
def replayed(notebook, host):
    """Right the first time, at the reference's pace; from then on the same again, whatever is asked."""
    notebook.answer("fast_step", REPLAYED)


@attack("a lazy tensor subclass", gets={"fast_step": 2.0}, races=True, slow=True)
def lazy(notebook, host):
    """The reference itself, run when the result is read: right, and worth half; not quick, which is the other half."""
    notebook.answer("fast_step", LAZY)


@attack("patched timers and events", gets={"fast_step": 2.0}, races=True, slow=True)
def patched_clocks(notebook, host):
    """The reference itself, beside clocks that leave out what it took."""
    notebook.answer("fast_step", CLOCKS)


@attack("a garbage-collector hunt for the expected value")
def hunt(notebook, host):
    """Whatever has the shape of an answer, in the frames above, their modules, or any dictionary that there is."""
    notebook.add(HUNT, before=notebook.place("next_generation"))
    notebook.answer_all("def NAME(board, *_, **__):\n    return hunted(board)")
