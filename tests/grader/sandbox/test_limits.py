"""What a program can use up: each limit is reached, told by its name, and nothing is left afterwards."""

from contextlib import nullcontext

import psutil
import pytest

from grader.sandbox import Profile, Sandbox
from grader.sandbox import sandbox as module
from grader.sandbox.cgroup import ControlGroup
from grader.sandbox.profile import MIB
from tests.helpers.sandboxes import need_sandboxes

need_sandboxes()
pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(params=["control group", "watcher"])
def counted_by(request, monkeypatch):
    """Both ways in which memory and processes are counted; the first only where the machine has control groups."""
    if request.param == "watcher":
        monkeypatch.setattr(module, "control_group", lambda *_: nullcontext(ControlGroup()))
    return request.param


def run(program, **limits):
    return Sandbox(Profile(**{"seconds": 20, **limits})).run(program)


def test_memory_of_one_process(counted_by):
    # it stops by itself short of twice its limit: a watcher that comes late on a busy machine sees no more
    fill = "kept = []\nfor _ in range(48): kept.append(bytearray(b'x' * 2**22)); time.sleep(0.005)"
    ended = run(f"import time\n{fill}\ntime.sleep(60)", memory=128 * MIB)
    assert ended.limit == "memory"
    assert ended.memory < 256 * MIB


SPREAD = {
    "many processes together": """import os, time
for _ in range(8):
    if os.fork() == 0:
        mine = bytearray(b'x' * (40 * 2**20))
        time.sleep(30)
time.sleep(30)
""",
    "what a child filled for others and is in no process": """import mmap, os, time
kept = []
for _ in range(40):
    kept.append(mmap.mmap(-1, 8 * 2**20))
    if os.fork() == 0:
        kept[-1].write(bytes(8 * 2**20))
        os._exit(0)
    os.wait()
time.sleep(20)
""",
}


@pytest.mark.parametrize("program", SPREAD.values(), ids=SPREAD)
def test_memory_of(counted_by, program):
    assert run(program, memory=128 * MIB).limit == "memory"


def test_memory_that_many_processes_share_is_counted_once(counted_by):
    program = """\
import os, time
shared = bytearray(b'x' * (60 * 2**20))
for _ in range(4):
    if os.fork() == 0:
        time.sleep(0.4)
        os._exit(0)
for _ in range(4): os.wait()
print('done')
"""
    ended = run(program, memory=128 * MIB)
    assert (ended.limit, ended.stdout) == (None, "done\n"), ended


def test_files_are_memory_and_the_disk_is_small(counted_by):
    program = """\
import os
for folder in ('/tmp', '/dev/shm'):
    try:
        for k in range(100):
            open(f'{folder}/{k}', 'wb').write(bytes(2**20))
    except OSError as error:
        print(error.strerror)
"""
    assert run(program, scratch=16 * MIB).stdout == "No space left on device\n" * 2


def test_one_request_for_all_memory_is_an_honest_memory_error():
    ended = run("try: bytearray(8 * 2**30)\nexcept MemoryError: print('no')", memory=256 * MIB)
    assert (ended.limit, ended.stdout) == (None, "no\n")


BOMB = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.01)"


def test_a_fork_bomb_stays_small_by_the_kernels_count(counted_by):
    assert run(BOMB, seconds=2, processes=20).limit in ("time", "cpu")  # the watcher never saw too many


def test_a_fork_bomb_that_the_kernel_does_not_count_is_seen_by_the_watcher(monkeypatch):
    orders = module.orders
    monkeypatch.setattr(module, "control_group", lambda *_: nullcontext(ControlGroup()))
    monkeypatch.setattr(module, "orders", lambda profile, packages, _: orders(profile, packages, 400))
    assert run(BOMB, processes=20).limit == "processes"


def test_no_more_threads_than_processes():
    program = """\
import threading, time
try:
    for k in range(100): threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
except RuntimeError: print(k)
"""
    ended = run(program, processes=16)
    assert ended.limit is None and int(ended.stdout) <= 16


def test_output_without_an_end_is_cut_and_what_is_kept_is_small():
    ended = run("while True: print('x' * 1000)", output=MIB)
    assert ended.limit == "output" and len(ended.stdout) < 70_000 and "left out" in ended.stdout


def test_output_within_the_limit_is_no_offence():
    ended = run("for k in range(20_000): print(k)")
    assert ended.limit is None and ended.stdout.startswith("0\n1\n") and ended.stdout.endswith("19999\n")


IGNORING = """import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True: pass
"""
ENDED_CHILDREN = """import os
while True:
    if os.fork() == 0:
        for _ in range(3_000_000): pass
        os._exit(0)
    os.wait()
"""


@pytest.mark.parametrize(
    ("program", "limits", "limit"),
    [
        ("while True: pass", {"seconds": 0.5}, "time"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", {"seconds": 0.5}, "time"),
        ("import os\nfor _ in range(3): os.fork()\nwhile True: pass", {"cpu_seconds": 1}, "cpu"),
        (ENDED_CHILDREN, {"cpu_seconds": 0.5}, "cpu"),
        (IGNORING, {"cpu_seconds": 1}, "cpu"),
        ("for k in range(10**7): open(f'/tmp/{k}', 'w').close()", {"files_limit": 2000}, "files"),
        ("import os\nos.kill(-1, 9)\nos.kill(os.getpid(), 9)", {}, None),  # it kills only itself
    ],
    ids="loop stopped tree children ignoring files killing".split(),
)
def test_a_program_without_an_end_reaches_its_limit(program, limits, limit):
    ended = run(program, **limits)
    assert ended.limit == limit and ended.cpu_seconds < 15  # a watcher that comes late lets it go on meanwhile


def test_a_daemon_does_not_outlive_its_program():
    program = """\
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        os.execv(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(86417)"])
    os._exit(0)
os.wait()
time.sleep(0.5)
print('ended')
"""
    ended = run(program)
    assert (ended.limit, ended.stdout) == (None, "ended\n")
    there = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    assert not [words for words in there if "time.sleep(86417)" in words]


def test_a_daemon_that_holds_all_pipes_does_not_hold_the_grader():
    ended = run("import os, time\nif os.fork() == 0: os.setsid(); time.sleep(600)", seconds=100)
    assert ended.limit is None and ended.seconds < 60


def test_many_open_files_and_a_core_are_refused():
    program = """\
import resource
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))
try: resource.setrlimit(resource.RLIMIT_NOFILE, (9999, 9999))
except (ValueError, OSError): print('refused')
"""
    assert run(program, open_files=100).stdout == "(1, 1) (100, 100)\nrefused\n"
