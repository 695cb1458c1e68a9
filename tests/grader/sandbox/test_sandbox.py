"""The sandbox as a grader meets it: two pipes with deadlines, bounded text, an end that is told, nothing left."""

import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.sandbox import Profile, Sandbox, SandboxStopped, SandboxUnavailable, running
from grader.sandbox.running import BoundedLog
from grader.sandbox.usage import Usage
from tests.helpers.sandboxes import AS_ROOT, need_sandboxes

need_sandboxes()
pytestmark = pytest.mark.usefixtures("nothing_left")

READ = "def read(n):\n    d = b''\n    while len(d) < n:\n        d += os.read(REQUESTS, n - len(d))\n    return d\n"


def run(program, **limits):
    return Sandbox(Profile(**{"seconds": 20, **limits})).run(program)


def test_a_program_answers_what_it_is_asked():
    with Sandbox(Profile(seconds=20)).start(
        f"import os\n{READ}\nwhile True: os.write(EVIDENCE, read(3)[::-1])"
    ) as running:
        for asked, answer in ((b"abc", b"cba"), (b"xyz", b"zyx")):
            running.send(asked)
            assert running.receive(3) == answer
    assert running.ended.limit == "closed"


@pytest.mark.parametrize(
    ("program", "status", "stdout", "stderr"),
    [
        ("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", 3, "out\n", "err\n"),
        ("import os; os.system('echo out > /dev/stdout; echo err > /dev/stderr')", 0, "out\n", "err\n"),
        ("import os; os.kill(os.getpid(), 9)", 128 + 9, "", ""),
        ("this isn't python", 1, "", "SyntaxError"),
    ],
)
def test_a_program_that_ends_is_told_with_its_status_and_its_words(program, status, stdout, stderr):
    ended = run(program)
    assert (ended.limit, ended.status, ended.stdout) == (None, status, stdout) and stderr in ended.stderr


def test_a_program_is_main_with_two_names_given_and_no_other():
    program = """\
print(sorted(name for name in globals() if not name.startswith('__')))
import multiprocessing
def square(x): return x * x
with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(square, range(4)))
"""
    assert run(program).stdout == "['EVIDENCE', 'REQUESTS']\n[0, 1, 4, 9]\n"


def test_megabytes_go_both_ways():
    size = 3_000_000
    program = f"import os\n{READ}\ndata = read({size})\nwhile data:\n    data = data[os.write(EVIDENCE, data):]\n"
    data = os.urandom(size)
    with Sandbox(Profile(seconds=20)).start(program) as running:
        running.send(data)
        assert running.receive(size) == data


@pytest.mark.parametrize(
    ("program", "talk", "limit"),
    [
        ("import time; time.sleep(600)", lambda running: running.send(bytes(1_000_000), seconds=0.3), "time"),
        ("import time; time.sleep(600)", lambda running: running.receive(1, seconds=0.3), "time"),
        ("import os; os.write(EVIDENCE, b'half')", lambda running: running.receive(8), None),
        ("import os, time; os.close(EVIDENCE); time.sleep(60)", lambda running: running.receive(1), "silent"),
    ],
    ids=["reads nothing", "says nothing", "half an answer", "closes the pipe of answers"],
)
def test_a_program_that_does_not_answer_does_not_hold_the_grader(program, talk, limit):
    with Sandbox(Profile(seconds=600)).start(program) as running:
        with pytest.raises(SandboxStopped) as stopped:
            talk(running)
    assert stopped.value.ended.limit == limit and stopped.value.ended.seconds < 60


def test_a_program_is_not_killed_for_how_long_it_took_to_start_but_for_its_own_time():
    began = time.monotonic()
    ended = run("while True: pass", seconds=0.5)
    assert ended.limit == "time" and 0.5 <= ended.seconds <= time.monotonic() - began


def test_installed_packages_are_there_and_given_files_come_first():
    program = "import numpy, course.hello; print(numpy.ones(3).sum(), course.hello.WORD)"
    files = {"/visible/course/__init__.py": b"", "/visible/course/hello.py": b"WORD = 'hello'"}
    ended = run(program, files=files, path=("/visible",))
    assert ended.stdout == "3.0 hello\n", ended.stderr


def test_given_files_cannot_be_changed():
    program = "try: open('/visible/a.py', 'w')\nexcept OSError as error: print(error.strerror)"
    assert run(program, files={"/visible/a.py": b""}).stdout in ("Read-only file system\n", "Permission denied\n")


def test_a_path_with_dots_is_refused():
    with pytest.raises(ValueError, match="starts with /"):
        Profile(files={"/visible/../etc/passwd": b""})
    with pytest.raises(ValueError, match="memory=0"):
        Profile(memory=0)
    with pytest.raises(ValueError, match="loopback"):
        Profile(network="host")


@pytest.mark.skipif(not AS_ROOT, reason="a plain user's sandboxes are in namespaces of their own")
def test_two_sandboxes_at_a_time_are_two_users_and_neither_is_anybodys():
    program = "import os; os.write(EVIDENCE, str(os.getuid()).encode()); os.read(REQUESTS, 1)"
    with Sandbox(Profile()).start(program) as one, Sandbox(Profile()).start(program) as two:
        users = {int(one.receive(10)), int(two.receive(10))}
    assert len(users) == 2 and not users & {0, 1000, 65534}


def test_two_sandboxes_do_not_see_each_other():
    wait = "import os; open('/tmp/mine', 'w'); os.write(EVIDENCE, b'!'); os.read(REQUESTS, 1)"
    look = (
        "import os, socket\nprint('mine' in os.listdir('/tmp'), [p for p in os.listdir('/proc') if p.isdigit()])\n"
        "try: socket.create_connection(('127.0.0.1', 5555), 1); print('connected')\nexcept OSError: print('alone')"
    )
    serve = "import socket; s = socket.create_server(('127.0.0.1', 5555)); " + wait
    with Sandbox(Profile(network="loopback")).start(serve) as one:
        one.receive(1)
        ended = Sandbox(Profile(network="loopback")).run(look)
    assert ended.stdout == "False ['1', '2']\nalone\n", ended


def test_two_that_share_a_network_can_talk_and_share_nothing_else():
    serve = (
        "import os, socket; s = socket.create_server(('127.0.0.1', 5555)); open('/tmp/mine', 'w')\n"
        "os.write(EVIDENCE, b'!'); c, _ = s.accept(); c.sendall(b'hello'); os.read(REQUESTS, 1)"
    )
    call = (
        "import os, socket; c = socket.create_connection(('127.0.0.1', 5555)); print(c.recv(5), end=' ')\n"
        "print('mine' in os.listdir('/tmp'))\n"
        "print([p for p in os.listdir('/proc') if p.isdigit()])"
    )
    inside = Sandbox(Profile(network="loopback"))
    with inside.start(serve) as one:
        one.receive(1)
        with inside.start(call, beside=one) as two:
            assert two.finish().stdout == "b'hello' False\n['1', '2']\n"
        assert one.ended is None


def test_beside_one_that_ended_or_without_a_network_is_refused():
    with Sandbox(Profile()).start("import time; time.sleep(9)") as one:
        with pytest.raises(ValueError, match="loopback"):
            Sandbox(Profile()).start("pass", beside=one)
    with pytest.raises(SandboxStopped) as stopped:
        Sandbox(Profile(network="loopback")).start("pass", beside=one)
    assert stopped.value.ended is one.ended


def test_an_interrupted_start_leaves_nothing(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("grader.sandbox.sandbox._introduced", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Sandbox(Profile()).start("import time; time.sleep(60)")


def test_sandboxes_can_be_used_from_many_threads():
    results = []
    threads = [threading.Thread(target=lambda: results.append(run("print('done')"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ended.stdout for ended in results] == ["done\n"] * 6


def test_close_may_be_called_again_and_after_the_end():
    running = Sandbox(Profile()).start("pass")
    assert running.finish().limit is None
    assert running.close() is running.close() is running.ended


def test_no_bubblewrap_is_said_with_the_next_step(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        run("pass")


def test_a_bubblewrap_that_may_not_is_said_in_its_own_words(tmp_path, monkeypatch):
    refused = tmp_path / "bwrap"
    refused.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refused.chmod(0o755)
    which = {"bwrap": str(refused), "setpriv": "/usr/bin/setpriv"}
    monkeypatch.setattr("shutil.which", lambda name, **_: which[name])
    with pytest.raises(SandboxUnavailable, match="No permissions to create new namespace.*doctor"):
        run("pass")


@given(st.lists(st.binary(max_size=40)), st.integers(2, 60))
def test_of_an_endless_text_the_beginning_and_the_end_are_kept(pieces, limit):
    kept, whole = BoundedLog(limit), b"".join(pieces)
    for piece in pieces:
        kept.add(piece)
    text, half = kept.text(), limit // 2
    if len(whole) <= 2 * half:
        assert text == whole.decode(errors="replace")
    else:
        left_out = len(whole) - 2 * half
        assert text == (whole[:half] + f"\n… {left_out} bytes left out …\n".encode() + whole[-half:]).decode(
            errors="replace"
        )


def test_what_this_machine_holds_does_not_count_while_a_sandbox_is_set_up(monkeypatch):
    # before its root is changed, its /tmp is that of the machine, with as many files as there are
    begun, real_usage, real_begin = [], running.usage, running.Running.begin

    def usage(*arguments, **settings):
        return real_usage(*arguments, **settings) if begun else Usage(1 << 50, 0.0, 1, 10**9)

    def begin(self):
        begun.append(self)
        real_begin(self)

    monkeypatch.setattr(running, "EVERY", 0.001)
    monkeypatch.setattr(running, "usage", usage)
    monkeypatch.setattr(running.Running, "begin", begin)
    assert Sandbox(Profile(seconds=20)).run("print('here')").stdout == "here\n"
