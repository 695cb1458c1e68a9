"""The start-up script does what it says: run for real, with short times, it ends its machine in every case."""

import re
import socket

import pytest

from course.deploy.clouds.machines.machine_ends_itself import startup_script
from tests.course.deploy.machines.computers_here import Computer

pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture
def computer(tmp_path):
    """A function that starts a computer whose script has short times."""
    started = []

    def start(command="-c pass", port=1, pull=0, starts=1.0, lost=1.0, **more):
        settings = {"host": "localhost", "port": port, "config": "c2VjcmV0", "idle": 60, "hours": 8, **more}
        script = startup_script("course-1", "course:1", command, starts=starts, lost=lost, every=0.1, **settings)
        started.append(Computer(tmp_path / "computer", script, pull=pull).start())
        return started[-1]

    yield start
    for one in started:
        one.pull_the_plug()


@pytest.fixture
def scheduler():
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_a_machine_ends_when_its_process_ends_and_in_any_case_after_its_hours(computer):
    one = computer(hours=0.5, starts=60)
    assert one.wait() and one.notes("shutdown") == ["-h +35", "-h now"]


def test_a_machine_that_can_not_pull_its_image_ends(computer):
    one = computer(pull=1, starts=60)
    assert one.wait() and one.notes("shutdown") == ["-h +485", "-h now"]
    assert not any(line.startswith("run") for line in one.notes("docker"))


def test_a_machine_whose_scheduler_never_answers_ends_while_its_process_hangs(computer):
    one = computer(command="-c 'import time; time.sleep(600)'")
    assert one.wait() and one.notes("shutdown")[1:] == ["-h now"]
    assert re.search("was last heard [1-9] s ago", (one.folder / "log").read_text())


def test_a_machine_ends_when_its_scheduler_falls_silent_and_not_before(computer, scheduler):
    port = scheduler.getsockname()[1]
    one = computer(command="-c 'import time; time.sleep(600)'", port=port, starts=600, lost=2.0)
    scheduler.settimeout(60)
    for _ in range(25):  # it asks ten times a second: longer than a silence may last
        scheduler.accept()[0].close()
    assert one.runs() and one.notes("shutdown") == ["-h +485"]
    scheduler.close()
    assert one.wait() and one.notes("shutdown") == ["-h +485", "-h now"]


def test_a_machine_whose_hours_are_over_ends_whatever_it_does(computer, scheduler):
    one = computer(
        command="-c 'import time; time.sleep(600)'", port=scheduler.getsockname()[1], starts=600, hours=1 / 3600
    )
    assert one.wait() and one.notes("shutdown") == ["-h +5", "-h now"]


def test_a_machine_does_what_its_cloud_needs_before_it_shuts_down(computer):
    one = computer(end="curl -X DELETE https://cloud.example/this-machine", starts=60)
    assert one.wait() and one.notes("curl") == ["-X DELETE https://cloud.example/this-machine"]
    assert one.notes("shutdown") == ["-h +485", "-h now"]


def test_the_key_is_in_no_command_line(computer):
    one = computer(command="""-c 'import os; print("told", os.environ["DASK_INTERNAL_INHERIT_CONFIG"])'""", starts=60)
    assert one.wait() and "told c2VjcmV0" in (one.folder / "log").read_text()
    assert one.notes("docker")[1].startswith("run --rm --net=host -e DASK_INTERNAL_INHERIT_CONFIG --entrypoint python")
    assert "c2VjcmV0" not in "".join(one.notes("docker"))
