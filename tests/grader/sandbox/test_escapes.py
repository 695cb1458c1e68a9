"""What a hostile program tries from inside: each attempt says ESCAPED when it works, and the host is looked at."""

import os
import socket
import threading
from pathlib import Path

import pytest

from grader.sandbox import Profile, Sandbox
from tests.helpers.sandboxes import AS_ROOT, need_sandboxes, outside
from tests.slow.attacks.families.reaching import ATTEMPTS, BEFORE, attempt
from tests.slow.attacks.host_watch import complaints, decoys

need_sandboxes()
pytestmark = pytest.mark.usefixtures("nothing_left")

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ATTEMPTS)
def test_from_inside_nothing_outside_can_be_reached(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "of the grader")
    with decoys(tmp_path) as host:
        before = outside()
        ended = Sandbox(Profile(seconds=30)).run(f"{attempt(name, host)}\nprint('\\ntried')")
        assert complaints(host, before) == []
    assert ended.stdout.endswith("\ntried\n"), f"the attempt itself failed: {ended.stderr}"
    assert "ESCAPED" not in ended.stdout


def test_an_attempt_that_works_is_seen():
    # the attempts above prove something only if one that gets out says so
    ended = Sandbox(Profile()).run(BEFORE + "tried(open, '/tmp/mine', 'w')")
    assert "ESCAPED" in ended.stdout


def test_the_checkout_and_the_answers_in_it_are_not_there():
    program = f"""\
import importlib.util, os, sys
print(importlib.util.find_spec('course'))
found = []
for folder, _, files in os.walk({str(CHECKOUT)!r}):
    found += [folder for name in files if name in ('marking.py', 'lab.py') or 'site-packages' not in folder]
print(found[:3])
for path in {[str(CHECKOUT / name) for name in ("", "course", "labs", "tests")]!r}:
    shown = [os.path.relpath(packages, path).split('/')[0] for packages in sys.path]  # .venv, or build
    print([n for n in os.listdir(path) if n not in shown] if os.path.isdir(path) else None)
"""
    lines = Sandbox(Profile(seconds=30)).run(program).stdout.splitlines()
    assert lines[:2] == ["None", "[]"]
    assert set(lines[2:]) <= {"None", "[]"}


def test_a_server_of_the_machine_cannot_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(2)
        came = []
        thread = threading.Thread(target=lambda: came.append(_accepted(server)))
        thread.start()
        program = f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)"
        ended = Sandbox(Profile(network="loopback")).run(program)
        thread.join()
    assert came == [False] and "ConnectionRefusedError" in ended.stderr


def _accepted(server):
    try:
        server.accept()[0].close()
    except TimeoutError:
        return False
    return True


def test_it_is_the_first_to_go_when_memory_runs_out():
    look = "print(open('/proc/self/oom_score_adj').read().strip(), flush=True)"
    assert Sandbox(Profile()).run(f"import os\n{look}\nif os.fork(): os.wait()\nelse: {look}").stdout == "1000\n1000\n"


@pytest.mark.skipif(not AS_ROOT, reason="a plain user owns the first process too, and its environment is empty")
def test_the_first_process_keeps_its_environment_and_memory_to_itself():
    program = """\
for name in ('environ', 'mem', 'maps'):
    try: open(f'/proc/1/{name}', 'rb'); print('open')
    except PermissionError: print('no')
"""
    assert Sandbox(Profile()).run(program).stdout == "no\nno\nno\n"


def test_a_secret_of_the_graders_memory_is_nowhere_inside(monkeypatch):
    secret = "the-secret-" + os.urandom(8).hex()
    monkeypatch.setenv("GRADING_SECRET", secret)
    program = f"""\
import glob
wanted = {secret[:11]!r}.encode() + bytes({list(secret[11:].encode()[::-1])!r})[::-1]
for path in [path for where in ('/proc/*/environ', '/proc/*/cmdline', '/tmp/*') for path in glob.glob(where)]:
    try: content = open(path, 'rb').read()
    except OSError: continue
    if wanted in content and 'self' not in path: print('ESCAPED', path)
"""
    assert Sandbox(Profile()).run(program).stdout == ""
