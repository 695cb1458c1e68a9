"""`python -m simgpu run`: programs unchanged, their child processes, and what is refused before anything starts."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from simgpu import active, autostart, environment
from simgpu.__main__ import main
from simgpu.models.catalogue import data_sheets
from simgpu.variables import GPUS, MEMORY, MODEL, REPORT

PROGRAM = """
import subprocess, sys, torch

print("arguments", *sys.argv[1:])
print("sees", torch.cuda.device_count(), torch.cuda.get_device_properties(0).total_memory)
layer = torch.nn.Linear(300, 10).cuda()
layer(torch.ones(5, 300, device="cuda")).sum().backward()
print(layer.weight.grad.device, torch.cuda.get_device_name())
if "child" in sys.argv:
    code = "import torch; print('child sees', torch.cuda.device_count())"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100).stdout, end="")
sys.exit(3)
"""


def ran(*words, **more):
    variables = {name: text for name, text in os.environ.items() if not name.startswith(("SIMGPU", "CUDA_"))}
    command = [sys.executable, "-m", "simgpu", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=110, env=variables | more)


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(PROGRAM)
    return file


def test_a_program_runs_unchanged_and_its_child_processes_see_the_gpus_too(program):
    done = ran("run", "--gpus", 4, "--model", "T4", "--memory", "2GiB", program, "child", "--gpus", 9)
    assert done.stdout.splitlines() == [
        "arguments child --gpus 9",
        f"sees 4 {2 * 2**30}",
        "cuda:0 NVIDIA T4 (simulated)",
        "child sees 4",
    ], done.stderr
    assert done.returncode == 3, "the program's own exit status"
    lines = done.stderr.splitlines()
    assert lines[0].startswith("simgpu: 4 × NVIDIA T4, simulated.") or lines[1].startswith("simgpu: 4 × NVIDIA T4")
    assert (
        "modelled: NVIDIA T4 data sheet, not measured" in done.stderr
        and "Peak memory of 2.00 GiB each: cuda:0 " in done.stderr
    )


def test_visible_devices_are_a_process_own(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    with environment.start("4") as gpus:
        assert gpus.count == torch.cuda.device_count() == 2


@pytest.fixture
def execution(monkeypatch):
    """Return a function that takes what follows `simgpu run` and returns the command and environment it executes."""
    executed = []
    monkeypatch.setattr(os, "execvpe", lambda file, command, environment: executed.append((command, environment)))
    monkeypatch.setattr(subprocess, "call", lambda command, env: executed.append((command, env)))

    def execute(*words):
        main(["run", *map(str, words)])
        return executed[-1]

    return execute


def test_a_module_a_command_and_a_folder_run_too(execution, tmp_path):
    command, environment = execution("--gpus", 2, "--quiet", "-m", "timeit", "-n", 1)
    assert command == [sys.executable, "-m", "timeit", "-n", "1"]
    assert environment[GPUS] == "2" and environment[MODEL] == "H200" and not {REPORT, MEMORY} & {*environment}
    command, environment = execution("--memory", "1GiB", "torchrun", "--nproc-per-node", 2, "train.py")
    assert Path(command[0]).parent == Path(sys.executable).parent and command[1:] == [
        "--nproc-per-node",
        "2",
        "train.py",
    ]
    assert environment[REPORT] == "1" and environment[MEMORY] == str(2**30)
    (tmp_path / "__main__.py").write_text("")
    assert execution(tmp_path)[0] == [sys.executable, str(tmp_path)]


@pytest.mark.long
def test_torchrun_starts_ranks_that_each_see_the_gpus(tmp_path):
    file = tmp_path / "rank.py"
    file.write_text(
        "import os, torch\nrank = int(os.environ['LOCAL_RANK'])\ntorch.cuda.set_device(rank)\n"
        f"open(os.path.join({str(tmp_path)!r}, f'rank{{rank}}'), 'w').write(str(torch.ones(2, device='cuda').device))\n"
    )
    done = ran("run", "--gpus", 2, "--quiet", "torchrun", "--standalone", "--nproc-per-node", 2, file)
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / f"rank{rank}").read_text() for rank in (0, 1)] == ["cuda:0", "cuda:1"]


@pytest.mark.parametrize(
    "words, text",
    [
        (["--gpus", "0"], "--gpus='0': give a whole number from 1 to 128"),
        (["--gpus", "two"], "--gpus='two': give a whole number"),
        (["--gpus", "4000"], "--gpus='4000': give a whole number from 1 to 128"),
        (["--gpus", "-1"], "--gpus='-1': give a whole number from 1 to 128"),
        (["--gpus", "1.5"], "--gpus='1.5': give a whole number"),
        (["--memory", "2XB"], "memory '2XB': give a size of 1 MiB or more with its unit, as in 2GiB"),
        (["--model", "H20"], "model='H20': no data sheet by that name. Did you mean 'H200'? Use A100, B200"),
        (["--memory", "2"], "memory '2': give a size of 1 MiB or more with its unit, as in 2GiB"),
        (["--memory", "lots"], "memory 'lots': give a size"),
        (["--memory", "nanGiB"], "memory 'nanGiB': give a size"),
        (["--memory=-2GiB"], "memory '-2GiB': give a size"),
        (["--model", "H999"], "model='H999': no data sheet by that name. Use A100, B200"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_program_starts(words, text, program, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["run", *words, str(program)])
    assert stop.value.code == 2 and text in " ".join(capsys.readouterr().err.split())


def test_a_card_of_ones_own_is_found_from_whatever_folder(execution, program, tmp_path, monkeypatch):
    (tmp_path / "mine.json").write_text(data_sheets()["L4"].read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, written in (("mine.json", str(tmp_path / "mine.json")), ("L4", "L4")):
        assert execution("--model", name, program)[1][MODEL] == written


def test_a_program_that_is_not_there_and_gpus_that_are_all_hidden(program, tmp_path, capsys, monkeypatch):
    for missing in ("no_such_program", tmp_path / "missing.py", tmp_path):
        with pytest.raises(SystemExit):
            main(["run", str(missing)])
        words = f"PROGRAM '{missing}': there is no such file, and no such command"
        assert words in " ".join(capsys.readouterr().err.split())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with pytest.raises(SystemExit):
        main(["run", "--gpus", "2", str(program)])
    assert "CUDA_VISIBLE_DEVICES='7' hides all 2 GPUs" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="the program takes the process's place on POSIX alone")
def test_ctrl_c_reaches_the_program_and_its_exit_status_is_its_own(tmp_path):
    file = tmp_path / "waits.py"
    file.write_text(
        "import signal, sys, time, torch\ntorch.ones(2, device='cuda') + 1\n"
        # where the tests run in a shell's background they, and what they start, have Ctrl-C ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n    print('ready', flush=True)\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    sys.exit(7)\n"
    )
    command = [sys.executable, "-m", "simgpu", "run", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        _, text = running.communicate(timeout=110)
    assert running.returncode == 7 and "Traceback" not in text and ", simulated." in text


@pytest.mark.parametrize(
    "variables, text",
    [
        ({"SIMGPU_GPUS": "many"}, "ValueError: SIMGPU_GPUS='many': give a whole number"),
        ({"SIMGPU_GPUS": "1", "SIMGPU_MODEL": "H999"}, "ValueError: model='H999': no data sheet"),
    ],
)
def test_a_bad_environment_raises_nothing_and_is_said(variables, text, monkeypatch, capsys):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    autostart.start_if_asked()
    assert capsys.readouterr().err.startswith(f"simgpu: no simulated GPUs in this process. {text}") and active() is None


@pytest.mark.long
def test_no_import_of_torch_fails_for_a_bad_environment():
    code = "import torch; print(torch.ones(2).sum().item(), torch.cuda.is_available())"
    variables = {**os.environ, "SIMGPU_GPUS": "many"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=110, env=variables)
    assert done.returncode == 0 and done.stdout == "2.0 False\n" and "SIMGPU_GPUS='many'" in done.stderr


@pytest.mark.long
def test_without_its_variable_the_entry_point_loads_nothing(monkeypatch):
    code = (
        "import torch, sys; print(sorted(name for name in sys.modules if name.startswith('simgpu')), "
        "torch.cuda.is_available())"
    )
    variables = {name: text for name, text in os.environ.items() if not name.startswith("SIMGPU")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=110, env=variables)
    assert done.stdout == "['simgpu', 'simgpu.autostart', 'simgpu.variables'] False\n", done.stderr
    monkeypatch.delenv(GPUS, raising=False)
    assert autostart.start_if_asked() is None


def test_a_program_that_runs_nothing_on_its_gpus_hears_so(capsys):
    with environment.model("T4") and environment.start("2") as gpus:
        environment.report(gpus)
    assert "the program ran nothing on them" in capsys.readouterr().err
