"""A server in a process of its own: it answers, ends with its `with` and with its owner, says why it can't start."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap

import httpx
import psutil
import pytest

from modelserver import Client, local_server
from modelserver.tests.served import PATIENCE, export_digits


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("of") / "models"
    export_digits(directory)
    return directory


def test_it_answers_until_it_is_closed_and_leaves_no_process(models, monkeypatch):
    monkeypatch.setenv("COURSE_SERVING_TOKEN", "of-another-server")  # it would ask for it
    before = set(psutil.Process().children(recursive=True))  # other tests' fork server may be there
    with local_server(models, workers=1, largest=8) as server, Client(server.url) as client:
        assert client.ready() and client.metadata()["name"] == "modelserver"
        assert "digits version 1 is served" in server.log
        below = set(psutil.Process().children(recursive=True)) - before
    assert len(below) >= 2
    assert psutil.wait_procs(below, PATIENCE)[1] == []
    server.close()
    assert "digits version 1 is served" in server.log
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url)


def test_what_cant_be_served_is_said(tmp_path):
    with pytest.raises(RuntimeError, match=r"ended with status 1:\n.*there is no such folder"):
        local_server(tmp_path / "nothing")


def test_it_ends_with_a_process_that_is_killed(tmp_path):
    source = f"""
        import time
        from modelserver import Client, local_server
        server = local_server({str(tmp_path)!r}, workers=1)
        with Client(server.url) as client:
            while "serving_workers 1" not in client.text("/metrics"):
                time.sleep(0.02)
        print("ready", flush=True)
        time.sleep(600)
    """
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(source)], stdout=subprocess.PIPE, text=True)
    with owner:
        assert owner.stdout.readline() == "ready\n"
        below = psutil.Process(owner.pid).children(recursive=True)
        os.kill(owner.pid, signal.SIGKILL)
    assert len(below) >= 2
    assert psutil.wait_procs(below, PATIENCE)[1] == []


@pytest.fixture
def leftovers(tmp_path, monkeypatch):
    """A script of the shell stands for the server; return what says which processes and files are left."""
    if os.name != "posix":
        pytest.skip("a script of the shell")
    script = tmp_path / "server"
    script.write_text("#!/bin/sh\necho serving at http://127.0.0.1:1\nread line\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(psutil.Process().children(recursive=True))

    def processes_and_files():
        processes = [process for process in psutil.Process().children(recursive=True) if process not in before]
        return processes + [path for path in tmp_path.iterdir() if path != script]

    return processes_and_files


@pytest.mark.skipif(os.name != "posix", reason="a script of the shell stands for the server")
def test_an_interrupt_at_any_line_leaves_no_process_and_no_file(tmp_path):
    command = [sys.executable, "-m", "modelserver.tests.interrupted_server", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr
    lines, at_once = ended.stdout.split()
    assert int(lines) > 30 and at_once == "True"


def test_it_may_be_closed_as_often_as_one_likes(leftovers):
    server = local_server(".")
    for _ in range(3):
        server.close()
        assert leftovers() == [] and "serving at" in server.log
