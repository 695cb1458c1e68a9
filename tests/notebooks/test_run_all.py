"""Every chapter run top to bottom: compared cells agree, model answers pass, memory stays in the contract, all ends.

Each runs in a pytest of its own with plain nbval (cells tagged `nbval-check-output` are compared with the committed
notebook), while its processes' memory is sampled. Below each exercise's check, which finds the stub, the model answer
takes the stub's place, and the check must pass.
"""

import contextlib
import itertools
import os
import subprocess
import sys
import time

import nbformat
import psutil
import pytest
import torch

from benchmarks.scaling.memory import proportional
from notebooks.build import HERE, chapters
from tests.notebooks.answers import with_answers

#: The contract that each chapter states: 2 GB over all its processes. A CUDA build of torch takes 0.4 GB more of each.
MEMORY = (2 if torch.version.cuda is None else 4) * 2**30
DEADLINE = 480  # a chapter takes 30 s, on a busy machine minutes; this ends one that hangs
NBVAL = ["-m", "pytest", "-p", "nbval.plugin", "--nbval", "--nbval-cell-timeout=240", "-q", "--tb=short"]
OWN_SETTINGS = ["-c", os.devnull, "-p", "no:cacheprovider"]  # not those of pyproject.toml
NO_OTHER_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # each would be imported again for every chapter


def resident_memory(processes):
    """Return the RSS in bytes: never less than the PSS, and known at once, where a PSS takes 10 ms a process."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


def run_and_watch(path, log):
    """Run one notebook under nbval; return its exit code, peak bytes at most, seconds, the processes below it.

    Its processes are looked at four times a second. Their RSS bounds their PSS, which takes 10 ms a process to read and
    is read once a second, and whenever the RSS rose, only where the RSS is above the contract.
    """
    started, peak, seen, most, looks = time.monotonic(), 0, {}, 0, itertools.count()
    with open(log, "w", encoding="utf-8") as output:
        runner = subprocess.Popen(
            [sys.executable, *NBVAL, *OWN_SETTINGS, str(path)],
            cwd=HERE.parent,
            env={**os.environ, **NO_OTHER_PLUGINS},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            while runner.poll() is None and time.monotonic() - started < DEADLINE:
                below = psutil.Process(runner.pid).children(recursive=True) if runner.poll() is None else []
                seen.update((process.pid, process) for process in below)
                resident = resident_memory(below)
                if resident <= MEMORY:
                    peak = max(peak, resident)
                elif resident > 1.02 * most or next(looks) % 4 == 0:
                    peak, most = max(peak, proportional(below)), max(most, resident)
                time.sleep(0.25)
        except psutil.NoSuchProcess:
            runner.wait(60)  # it ended between two looks
        finally:
            if runner.poll() is None:
                runner.kill()
            runner.wait(60)
    return runner.returncode, peak, time.monotonic() - started, seen.values()


@pytest.mark.notebooks
@pytest.mark.timeout(DEADLINE + 60)
@pytest.mark.parametrize("name", chapters())
def test_a_chapter_runs_agrees_and_leaves_nothing(name, tmp_path, capsys):
    nbformat.write(with_answers(name), tmp_path / f"{name}.ipynb")
    code, peak, seconds, processes = run_and_watch(tmp_path / f"{name}.ipynb", tmp_path / "log")
    with capsys.disabled():
        print(
            f"\n  {name}: {seconds:.0f} s with nbval and answers, at most {peak / 2**20:.0f} MB (contract 2048)",
            flush=True,
        )
    assert code == 0, (tmp_path / "log").read_text(encoding="utf-8")[-6000:]
    assert 0 < peak <= MEMORY
    _, alive = psutil.wait_procs(list(processes), timeout=60)
    assert not [f"{p.pid} {p.cmdline()}" for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("name", chapters())
def test_a_chapter_has_at_least_four_compared_cells_with_output(name):
    notebook = nbformat.read(HERE / f"{name}.ipynb", as_version=4)
    compared = [c for c in notebook.cells if "nbval-check-output" in c.metadata.get("tags", []) and c.outputs]
    assert len(compared) >= 4


def small_notebook(path, source, *outputs, **tags):
    cells = [nbformat.v4.new_code_cell(source, execution_count=1, metadata=tags, outputs=list(outputs))]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    return path


def test_a_changed_number_in_a_compared_cell_is_noticed(tmp_path):
    wrong = nbformat.v4.new_output("execute_result", {"text/plain": "3"}, execution_count=1)
    notebook = small_notebook(tmp_path / "wrong.ipynb", "1 + 1", wrong, tags=["nbval-check-output"])
    code, *_ = run_and_watch(notebook, tmp_path / "log")
    assert code == 1 and "Cell outputs differ" in (tmp_path / "log").read_text(encoding="utf-8")


SLOW = """
from course import progress_line
progress_line._LATE, line = 0.0, progress_line.progress_line()
with progress_line.LateLine("parts") as late:
    late.look(0, 10)
    late.look(1, 10)
print("done")
line.show("1 of 2")
line.show("2 of 2", last=True)
"""


def test_plain_nbval_finds_no_progress_in_what_it_compares_on_a_slow_machine_too(tmp_path):
    outputs = [nbformat.v4.new_output("stream", name="stdout", text="done\n")]
    outputs.append(nbformat.v4.new_output("display_data", {"text/plain": "2 of 2"}))
    notebook = small_notebook(tmp_path / "slow.ipynb", SLOW, *outputs)
    code, *_ = run_and_watch(notebook, tmp_path / "log")
    assert code == 0, (tmp_path / "log").read_text(encoding="utf-8")
