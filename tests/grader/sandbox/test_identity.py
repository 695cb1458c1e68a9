"""Users lent to sandboxes: never one twice at a time, never anybody's, and given back by a grader that is killed."""

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from grader.sandbox import Profile, Sandbox, SandboxUnavailable
from grader.sandbox import identity as module
from grader.sandbox.cgroup import PREFIX
from grader.sandbox.identity import FIRST_USER, USERS, identity
from tests.helpers.sandboxes import AS_ROOT, need_sandboxes

need_sandboxes()
pytestmark = [
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.skipif(not AS_ROOT, reason="NOT TESTED HERE: only root has users to lend"),
]

GRADER = """\
import sys
from grader.sandbox import Profile, Sandbox
program = "import os\\nif os.fork() == 0: os.setsid()\\nos.write(EVIDENCE, b'!')\\nwhile True: pass"
running = Sandbox(Profile()).start(program)
running.receive(2)
print(running.first_pid, flush=True)
sys.stdin.read()
"""


def test_users_that_are_lent_at_a_time_differ_and_come_back():
    with ExitStack() as stack:
        first = [stack.enter_context(identity()).user for _ in range(20)]
    assert len(set(first)) == 20
    with identity() as again:
        assert again.user <= max(first)


def test_another_process_does_not_get_the_same_one():
    program = "from grader.sandbox.identity import identity\nwith identity() as who: print(who.user)"
    with identity() as mine:
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(other) != mine.user


def test_a_user_who_runs_something_is_not_lent():
    with identity() as who:
        user = who.user
    command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "sleep", "60"]
    with subprocess.Popen(command) as other:
        while psutil.Process(other.pid).uids().real != user:
            time.sleep(0.01)
        with identity() as who:
            assert who.user != user
        other.kill()


def test_when_all_are_lent_the_next_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(module, "USERS", 2)
    monkeypatch.setattr(module, "FIRST_USER", FIRST_USER + USERS - 2)  # where no other grader is likely to be
    with identity(), identity(), pytest.raises(SandboxUnavailable, match="all 2 users"):
        with identity():
            pass


def test_in_a_container_with_few_users_it_lends_those_that_exist(monkeypatch):
    monkeypatch.setattr(module, "_mapped", lambda user: user < 65_536)
    with identity() as who:
        assert 64_000 <= who.user < 65_534


@pytest.mark.parametrize("kind", ["open to others", "a link"])
def test_a_lock_file_that_others_can_reach_is_refused(tmp_path, monkeypatch, kind):
    (tmp_path / "theirs").write_text("")
    (tmp_path / "theirs").chmod(0o666)
    (tmp_path / "link").symlink_to("theirs")
    monkeypatch.setattr(module, "LOCKS", str(tmp_path / ("theirs" if kind == "open to others" else "link")))
    with pytest.raises(SandboxUnavailable, match="root"):
        with identity():
            pass


def test_a_grader_that_is_killed_takes_its_sandbox_along():
    command = [sys.executable, "-c", GRADER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as grader:
        first = psutil.Process(int(grader.stdout.readline()))
        inside = [first, *first.children(recursive=True)]
        assert len(inside) == 3
        grader.kill()
    gone, alive = psutil.wait_procs(inside, timeout=60)
    assert not alive
    Sandbox(Profile()).run("pass")  # the next one sweeps what the killed grader could not
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{PREFIX}{grader.pid}-*"))
