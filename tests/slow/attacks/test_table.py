"""The table is worth something only if it sees marks that are undeserved or lost, and whatever was touched."""

import os
import socket
import subprocess
import sys

import pytest

from grader.sandbox.unsafe import UnsafeSandbox
from tests.helpers.sandboxes import need_sandboxes, outside
from tests.helpers.submissions import LIFE, attack, honest
from tests.slow.attacks.host_watch import complaints, decoys
from tests.slow.attacks.table import marked

need_sandboxes()


def test_an_undeserved_mark_is_seen(tmp_path):
    solved = attack("does the work")(lambda notebook, host: notebook.solve("film") and None)
    assert any(line.startswith("UNDESERVED: film got 2") for line in marked(solved, tmp_path).complaints)


def test_a_lost_mark_and_another_state_are_seen(tmp_path):
    worse = honest("leaves one out", states={"film": "graded"})(lambda notebook: notebook.drop(_is_film) and None)
    lines = marked(worse, tmp_path).complaints
    assert any(line.startswith("LOST: film got 0, not 2: missing") for line in lines)
    assert any(line.startswith("film is missing, not graded") for line in lines)


def test_the_same_attacks_get_out_where_there_is_no_sandbox(tmp_path):
    """So it is the sandbox that keeps them in, and the watch that sees them."""

    @attack("reads and writes what it can", lab=LIFE)
    def reaching(notebook, host):
        notebook.add(f"""
print(open({str(host.secret)!r}).read())
open({str(host.gradebook)!r}, "a").write("20 points")
import socket
socket.create_connection(("127.0.0.1", {host.port})).close()
print("ESCAPED: all of it")""")

    problems = " ".join(marked(reaching, tmp_path, UnsafeSandbox).complaints)
    for words in ("grading/secret (event", "gradebook.db (event", "a caller at", "it got out", "it read a decoy"):
        assert words in problems, problems


@pytest.mark.parametrize("how", ["open", "stat by a listing", "make", "unlink", "unix socket", "datagram"])
def test_whatever_touches_a_decoy_is_noted(tmp_path, how):
    with decoys(tmp_path) as host:
        before = outside()
        assert not complaints(host, before)
        program = {
            "open": f"open({str(host.secret)!r}).close()",
            "stat by a listing": f"import os; os.listdir({str(host.root)!r})",
            "make": f"open({str(host.root / 'submitted' / 'mine')!r}, 'w').close()",
            "unlink": f"import os; os.unlink({str(host.others)!r})",
            "unix socket": f"import socket; socket.socket(socket.AF_UNIX).connect({host.door!r})",
            "datagram": f"import socket; socket.socket(type=2).sendto(b'', ('127.0.0.1', {host.port}))",
        }
        subprocess.run([sys.executable, "-S", "-W", "ignore", "-c", program[how]], check=True)
    assert complaints(host, before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file or a process to a sandbox's user")
def test_what_a_sandboxs_user_left_is_noted(tmp_path):
    from grader.sandbox.identity import FIRST_USER, USERS

    user = FIRST_USER + USERS - 1
    with decoys(tmp_path) as host:
        before = outside()
        (host.root / "mine").touch()
        os.chown(host.root / "mine", user, user)
        sleeper = subprocess.Popen(["sleep", "60"], user=user)
        problems = " ".join(complaints(host, before, patience=0))
        sleeper.kill()
        sleeper.wait()
    assert f"owns {host.root / 'mine'}" in problems
    assert f"left behind: {sleeper.pid}" in problems


def test_a_knock_at_an_abstract_door_is_noted(tmp_path):
    with decoys(tmp_path) as host:
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(host.abstract)
    assert any("a caller" in line for line in host.seen)


def _is_film(cell):
    return cell.get("id") == "film"
