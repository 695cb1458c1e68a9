"""The page of a model of one's own: its file is trained by its commands, and by its program, as they stand there."""

import contextlib
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import fsspec
import numpy
import pytest

from course.cluster.certificates import write_certificate
from tests.helpers.shells import Member

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "own_model.md").read_text(encoding="utf-8")
FILE, READ, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.S)
COMMANDS = re.findall(r"^python -m course (.*)$", PAGE, re.M)


@pytest.fixture
def folder(tmp_path, free_ports):
    """Has the page's file, and a certificate; `.here(text)` puts ports that are free into a command or a program."""
    (tmp_path / "parabola.py").write_text(FILE)
    write_certificate(tmp_path / "cluster.pem")
    ports = [port for port in free_ports(12) if port < 60000][:3]

    def here(text):
        for number, port in zip(("2222", "2223", "2224"), ports, strict=True):
            text = text.replace(f"localhost:{number}", f"127.0.0.1:{port}")
        return text

    here.path = tmp_path
    return here


@contextlib.contextmanager
def started(folder, room, *more):
    """Within the `with`, the page's commands of `room` that are roles run; gives ps, worker 0 and worker 1."""
    lines = [
        shlex.split(folder(command)) for command in COMMANDS if command.startswith(room) and "--job-name" in command
    ]
    with contextlib.ExitStack() as held:
        roles = [Member(*line[1:], *more, folder=folder.path, room=room) for line in lines]
        for role in roles:
            held.callback(role.close)
        yield roles


def test_the_file_is_of_thirty_lines_and_its_problem_is_whole(tmp_path):
    assert 20 <= len(FILE.splitlines()) <= 32
    (tmp_path / "parabola.py").write_text(FILE)
    problem = runpy.run_path(str(tmp_path / "parabola.py"))["make"]()
    assert problem.validate(problem.initial())["mean squared error"] > 1


def test_data_at_an_address_are_read_as_the_page_reads_them(tmp_path):
    (tmp_path / "parabola.py").write_text(FILE + READ)
    names = runpy.run_path(str(tmp_path / "parabola.py"))
    with fsspec.open("memory://my-bucket/points.npz", "wb") as file:
        numpy.savez(file, x=numpy.ones(5), y=numpy.zeros(5))
    problem = names["Parabola"](*names["read"]("memory://my-bucket/points.npz"))
    assert problem.x.tolist() == [1] * 5
    fsspec.filesystem("memory").rm("/my-bucket", recursive=True)


@pytest.mark.long
@pytest.mark.faults
def test_the_pages_roles_train_the_file_and_each_says_how_it_gets_on(folder):
    with started(folder, "train", "--patience", "120", "--summaries", "sums") as roles:
        for role in roles:
            role.says("updates · loss ", patience=120)
            assert role.ends(120) == 0, role.text
            for words in ("/job:worker/task:0 has joined", "/job:worker/task:1 has joined", "600 updates in"):
                role.says(words)
            error = float(re.search(r"validated: mean squared error (\S+)", role.text)[1])
            assert error < 0.02, role.text
        assert any("step 600: validated, " in role.text for role in roles)
    assert list((folder.path / "sums").iterdir())


@pytest.mark.long
@pytest.mark.faults
def test_the_pages_program_trains_on_tasks_that_run_and_says_what_they_cannot_read(folder):
    with started(folder, "task", "--patience", "120") as tasks:
        for one in tasks:
            one.says("listens at", patience=120)

        def run(name, text):
            (folder.path / name).write_text(folder(text))
            done = subprocess.run([sys.executable, name], cwd=folder.path, capture_output=True, text=True, timeout=300)
            return done.stdout, done.stderr

        said, wrong = run("program.py", PROGRAM)
        assert "step 600: mean squared error" in said and "TrainingResult(async, 2 workers, 600 updates)" in said, wrong
        elsewhere = folder.path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "only_here.py").write_text(FILE)
        said, wrong = run(
            "other.py", "import sys; sys.path.append('elsewhere')\n" + PROGRAM.replace("parabola", "only_here")
        )
        assert "can't work: ModuleNotFoundError: No module named 'only_here'. A task imports the module" in wrong
