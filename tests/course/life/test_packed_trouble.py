"""What the compiled engine does where something is missing or stops it: the next best way, said once, no other cell.

Each case is a process of its own, for what it needs is set before Python starts, or would harm the tests beside it.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import course

BOARD = """
import os, sys, torch
from course import compiled, life
board = life.random_board(520, 560, 0.4, torch.Generator().manual_seed(1))
wanted = life.run(board, 300, "packed-torch")
"""
COMPARED = 'print("equal" if all(torch.equal(wanted, life.run(board, 300, "packed")) for _ in "12") else "different")'
pytestmark = pytest.mark.long
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux's way to limit and to look at a process")


def started(*lines, cwd=None, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines)], cwd=cwd, env=os.environ | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended(process):
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, out + said
    return out.split(), said


@LINUX
def test_one_core_computes_alone_and_what_it_kept_on_disk_no_other_process_compiles_again():
    alone = started(
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])", BOARD, COMPARED,
        "print(compiled.threads())",
    )  # fmt: skip
    assert ended(alone)[0] == ["equal", "1"]
    other = started(
        BOARD, COMPARED, "from course.life import kernels, lane_kernels",
        "for one in (kernels.advance, lane_kernels.pack, lane_kernels.unpack):",
        "    print(sum(one.stats.cache_hits.values()), sum(one.stats.cache_misses.values()))",
        "import gc; print(gc.isenabled())",
    )  # fmt: skip
    assert ended(other)[0] == ["equal", *["1", "0"] * 3, "True"]


FORKED = """
import signal
torch.set_num_threads(2)
life.run(board, 300, "packed")
child = os.fork()
if not child:
    signal.alarm(60)  # a child that hangs is killed, and seen
    os._exit(not all(torch.equal(wanted, life.run(board, 300, engine)) for engine in ("packed", "roll")))
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("numba", [{}, {"NUMBA_DISABLE_JIT": "1"}], ids=["with numba", "without"])
def test_a_child_forked_after_a_run_in_threads_computes_too(numba):
    printed, warned = ended(started(BOARD, FORKED, COMPARED, **numba))
    assert printed == ["equal"] and warned.count("numba can't be used") == len(numba)


def test_kernels_for_which_the_disk_is_full_are_replaced_and_that_is_said_once():
    full = "import course.compiled\ndef none(**options): raise OSError('disk full')\ncourse.compiled.kernel = none"
    printed, warned = ended(started(full, BOARD, COMPARED))
    assert printed == ["equal"] and warned.count("kernels can't be compiled here (OSError: disk full)") == 1


@pytest.fixture
def nowhere_to_write(tmp_path):
    """A copy of the course beside which nothing can be kept, nor at home: files lie where folders should be.

    Not a matter of permissions, which root, as whom tests may run, doesn't ask for.
    """
    shutil.copytree(Path(course.__file__).parent, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("course/life/__pycache__", "home"):
        (tmp_path / name).write_text("a file")
    home = str(tmp_path / "home")
    return {"HOME": home, "XDG_CACHE_HOME": home, "LOCALAPPDATA": home, "PYTHONPATH": str(tmp_path)}


@pytest.mark.skipif("x86" not in os.uname().machine if hasattr(os, "uname") else True, reason="for x86-64")
def test_a_processor_without_avx_and_nowhere_to_keep_what_is_compiled_change_no_cell(nowhere_to_write, tmp_path):
    without_avx = {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "+sse4.2,+popcnt"}
    program = started(
        BOARD, COMPARED, "from course.life import kernels, lane_kernels",
        "code = [text for one in (lane_kernels.pack, kernels.advance) for text in one.inspect_asm().values()]",
        "print(len(code), sum('%ymm' in text for text in code), lane_kernels.__file__)",
        cwd=tmp_path, **nowhere_to_write, **without_avx,
    )  # fmt: skip
    out, said = ended(program)
    assert out == ["equal", "2", "0", str(tmp_path / "course" / "life" / "lane_kernels.py")]
    assert said.count("compiling Life's kernels for this processor, once") <= 1 and "Warning" not in said
    assert (tmp_path / "home").read_text() == (tmp_path / "course/life/__pycache__").read_text() == "a file"


@LINUX
def test_a_run_takes_no_more_than_three_tenths_of_a_byte_a_cell_beyond_the_board_and_the_result():
    program = started(
        BOARD, "import pathlib, psutil, re",  # getrusage's figure would hold what pytest had when it started this
        "status = pathlib.Path('/proc/self/status')",
        "most = lambda: 1024 * int(re.search('VmHWM:[^0-9]+([0-9]+)', status.read_text())[1])",
        "life.run(board, 300, 'packed')",
        "small = board[:64, :64].contiguous()",
        "large = small.repeat(256, 256)",  # 268 MB: more than the start ever took
        "before = psutil.Process().memory_info().rss",
        "after = life.run(large, 7, 'packed')",
        "print((most() - before) / large.numel())",
        "print(torch.equal(after, life.run(small, 7, 'roll').repeat(256, 256)))",
    )  # fmt: skip
    taken, equal = ended(program)[0]
    assert 1.1 < float(taken) <= 1.3 and equal == "True"


@LINUX
def test_a_stopped_process_goes_on_and_an_interrupted_run_leaves_the_engine_usable():
    process = started(
        BOARD, "life.run(board, 300, 'packed')",
        "try:", "    print('runs', flush=True)", "    life.run(board, 10**12, 'packed')",  # a week
        "except KeyboardInterrupt:", "    print('interrupted', flush=True)", COMPARED,
    )  # fmt: skip
    seen = psutil.Process(process.pid)
    try:
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGSTOP)
        assert os.waitpid(process.pid, os.WUNTRACED)[1] & 0xFF == 0x7F  # it stands still
        process.send_signal(signal.SIGCONT)
        used, latest = sum(seen.cpu_times()[:2]), time.monotonic() + 60
        while sum(seen.cpu_times()[:2]) < used + 0.2:  # it computes again
            assert time.monotonic() < latest
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == ["interrupted", "equal"]
    finally:
        process.kill()
        process.wait()
