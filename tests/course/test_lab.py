"""`python -m course lab`: started for real, on a free port, with its token, and stopped without a trace."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbformat.sign import NotebookNotary

from course import lab
from course.__main__ import main


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one chapter and a stranger's notebook, and a home folder of its own."""
    root = tmp_path / "my course"
    (root / "notebooks" / "source").mkdir(parents=True)
    (root / "notebooks" / "source" / "00_start_here.py").touch()
    for name in ("00_start_here", "99_from_a_stranger"):
        output = nbformat.v4.new_output("display_data", {"text/html": "<style>p {color: red}</style>"})
        cells = [nbformat.v4.new_code_cell("1", outputs=[output])]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), root / "notebooks" / f"{name}.ipynb")
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("JUPYTER_CONFIG_PATH", "JUPYTER_TOKEN", "JUPYTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    return root


@contextmanager
def running(root):
    """Start the lab on `root`; yields the process and its address without path or token, and the token."""
    program = f"from course.lab import lab; lab(browser=False, port=0, root={str(root)!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = threading.Timer(120, process.kill)  # then the lines below end
    deadline.start()
    try:
        said = ""
        for line in process.stdout:
            said += line
            if found := re.search(
                r"(http://127\.0\.0\.1:\d+)(/lab/tree/notebooks/00_start_here\.ipynb)\?token=(\w+)", line
            ):
                break
        else:
            pytest.fail(f"no address printed:\n{said}")
        wait_for(found[1])
        yield process, found[1], found[3]
    finally:
        deadline.cancel()
        process.kill()
        process.wait(60)
        process.stdout.close()


def wait_for(server, deadline=60):
    """Return once `server` accepts connections: Jupyter prints its address a moment before."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", int(server.rpartition(":")[2])), timeout=60).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    pytest.fail(f"{server} was announced and does not answer")


def get(address, token=None):
    """Return status and body of `address`."""
    headers = {"Authorization": f"token {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, ""


def test_the_lab_opens_the_first_chapter_for_its_token_only_and_asks_no_other_host(checkout):
    with running(checkout) as (process, server, token):
        page = f"{server}/lab/tree/notebooks/00_start_here.ipynb"
        status, text = get(f"{page}?token={token}")
        assert status == 200 and "jupyter-config-data" in text
        assert get(f"{server}/api/contents")[0] == 403
        assert "Password or token" in get(page)[1]  # the page itself: a form that asks for the token
        settings = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', text, re.S)[1])
        assert settings["news"] == {"disabled": True}
        assert settings["extensionManager"]["name"] == "read-only"
        assert "@jupyterlab/apputils-extension:announcements" in settings["disabledExtensions"]
        sanitizer = get(f"{server}/lab/api/settings/@jupyterlab/apputils-extension:sanitizer", token)[1]
        assert json.loads(sanitizer)["schema"]["properties"]["allowCommandLinker"]["default"] is False
        assert json.loads(get(f"{server}/lab/api/update", token)[1]) == {"notification": None}
        assert json.loads(get(f"{server}/lab/api/news", token)[1]) == {"news": []}
        for name in ("00_start_here.ipynb", "99_from_a_stranger.ipynb"):
            cells = json.loads(get(f"{server}/api/contents/notebooks/{name}", token)[1])["content"]["cells"]
            assert cells[0]["metadata"].get("trusted", False) == name.startswith("00")
        request = urllib.request.Request(
            f"{server}/lab/api/workspaces/default",
            method="PUT",
            headers={"Authorization": f"token {token}"},
            data=json.dumps({"data": {}, "metadata": {"id": "default"}}).encode(),
        )
        urllib.request.urlopen(request, timeout=60).close()
        assert list((checkout / ".jupyter" / "workspaces").iterdir())  # and not among the reader's own


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are not Windows's")
def test_ctrl_c_stops_the_lab_and_its_kernels(checkout):
    with running(checkout) as (process, server, token):
        request = urllib.request.Request(
            f"{server}/api/kernels", method="POST", data=b"{}", headers={"Authorization": f"token {token}"}
        )
        urllib.request.urlopen(request, timeout=60).close()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everything that runs in it
        assert process.wait(60) == 0
        deadline = time.monotonic() + 60
        while group_lives(process.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not group_lives(process.pid)


def group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_port_that_is_taken_or_out_of_range_is_said_at_once(monkeypatch):
    monkeypatch.setattr(lab, "FIRST", Path("README.md"))  # there before any chapter is built
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = CliRunner().invoke(main, ["lab", "--no-browser", "--port", str(port)])
    assert done.exit_code == 1
    assert f"--port {port}: something listens there already. Give another, or" in done.output
    done = CliRunner().invoke(main, ["lab", "--port", "70000"])
    assert done.exit_code == 2 and "0<=x<=65535" in done.output


def test_a_missing_notebook_is_named(tmp_path):
    with pytest.raises(lab.LabError, match=r"00_start_here\.ipynb is not there\. Run this in a clone"):
        lab.lab(root=tmp_path)


def test_a_missing_jupyterlab_is_named(checkout, monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    with pytest.raises(lab.LabError, match=r"JupyterLab is not installed.*`make env`"):
        lab.lab(root=checkout)


def test_a_home_that_cannot_be_written_is_told_with_the_next_step(checkout, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "file" / "jupyter"))
    with pytest.raises(lab.LabError, match="file/jupyter, where .* can't be written. Give it another home: HOME="):
        lab.check_ready(checkout, None)


@pytest.mark.parametrize(
    "platform, environment, expected",
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "a b c d"}, False),
        ("win32", {}, True),
    ],
)
def test_a_browser_is_opened_only_where_it_would_be_seen(platform, environment, expected, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert lab.has_display() is expected


def test_the_lab_listens_on_this_machine_only_whatever_the_readers_own_configuration_says():
    options = lab.options(Path("/x"), True, None)
    assert "--ServerApp.ip=127.0.0.1" in options and "--ServerApp.open_browser=True" in options
    assert not any("token" in option or "password" in option for option in options)


def test_only_chapters_of_the_course_are_trusted(checkout):
    assert lab.trust(checkout) == 1
    notary = NotebookNotary()
    signed = {
        path.name: notary.check_signature(nbformat.read(path, as_version=4))
        for path in (checkout / "notebooks").glob("*.ipynb")
    }
    notary.store.close()
    assert signed == {"00_start_here.ipynb": True, "99_from_a_stranger.ipynb": False}
