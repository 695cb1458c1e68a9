"""Ctrl-C in a run: its exit status, no process left, and no file that is written in part."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from benchmarks import whole_file
from tests.helpers.shells import eventually

#: A topic of two contestants, one of which waits for ever in its run, in the place of a real one.
PROGRAM = """
import signal, sys, types
from benchmarks.__main__ import main
from benchmarks.contest import OURS, Contest, Contestant

signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest may run where it is ignored
HERE, (out, note) = "tests.benchmarks.contestants:", sys.argv[1:]
both = Contestant("a", HERE + "listens", kind=OURS), Contestant("b", HERE + "hangs", {"note": note})
topic = types.ModuleType("benchmarks.topics.life", "A topic.")
topic.contests = lambda quick, places: [Contest("a contest", "runs/s", both)]
sys.modules[topic.__name__] = topic
main(["life", "--out", out])
"""


def test_an_interrupted_run_ends_with_130_and_all_that_it_started_and_leaves_the_files_as_they_were(tmp_path):
    out, note = tmp_path / "out", tmp_path / "child"
    out.mkdir()
    (out / "bench.json").write_text("the one before")
    command = [sys.executable, "-c", PROGRAM, str(out), str(note)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes) as run:
        eventually(lambda: note.exists() and note.read_text(), 120)
        below = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 130 and said == f"\nInterrupted. {out} has no figures of this run.\n"
    assert int(note.read_text()) in {one.pid for one in below} and len(below) == 3
    for one in below:
        with suppress(psutil.NoSuchProcess):
            one.wait(10)  # TimeoutExpired: it was left behind
    assert (out / "bench.json").read_text() == "the one before" and not (out / "bench.html").exists()


@pytest.mark.parametrize("before", ["as it was", None])
def test_a_file_whose_writing_is_interrupted_is_as_it_was(before, tmp_path):
    path = tmp_path / "figures.json"
    if before:
        path.write_text(before)

    def half(unfinished):
        unfinished.write_text("{")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whole_file.write(path, half)
    assert [one.read_text() for one in tmp_path.iterdir()] == [before] * bool(before)
    whole_file.write_text(path, "new")
    assert path.read_text() == "new" and len(list(tmp_path.iterdir())) == 1
