"""A lab as Binder launches it: `binder/start`, a server under /user/x/ with its token, behind configurable-http-proxy.

What is not here of a real hub: the login, the container, and conda, which installs binder/environment.yml there.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.helpers.cluster.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "/user/x/"
PROXY = "configurable-http-proxy"
OPTIONS = ["--ip=127.0.0.1", "--ServerApp.port_retries=0", "--no-browser", "--allow-root", "--log-level=ERROR"]


def need_proxy():
    """Skip the file aloud where there is no proxy; fail where one was promised."""
    if shutil.which(PROXY) is None:
        assert "COURSE_MUST_HAVE_PROXY" not in os.environ, f"no {PROXY} was found"
        pytest.skip(f"NOT TESTED HERE, there is no {PROXY}: `npm install --global {PROXY}`", allow_module_level=True)


def copied(folder):
    """Copy into `folder` what a launched server has of the repository, but for what its tests need."""
    for part in ("binder", "course", "notebooks"):
        unwanted = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
        shutil.copytree(ROOT / part, folder / part, ignore=unwanted)


def environment(home, python=sys.executable):
    """Return the environment variables of a server in a container: a home of its own, and the hub's prefix."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "COURSE_"))}
    path = os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])
    return kept | {"HOME": str(home), "PATH": path, "JUPYTERHUB_SERVICE_PREFIX": PREFIX, "PYTHONUNBUFFERED": "1"}


@contextmanager
def launched(folder, home, python=sys.executable):
    """Launch the copy in `folder` by its `binder/start`; gives the address of a browser, and the server's process."""
    with ExitStack() as held:
        front, routes, server = free_ports(3)
        token = secrets.token_hex(16)
        where = [f"--port={server}", f"--ServerApp.base_url={PREFIX}"]
        command = [str(folder / "binder" / "start"), "jupyter", "lab", *where, *OPTIONS]
        given = environment(home, python) | {"JUPYTER_TOKEN": token}
        lab = held.enter_context(_process(command, cwd=folder, env=given))
        _answers(f"http://127.0.0.1:{server}{PREFIX}api", lab)
        word = {"CONFIGPROXY_AUTH_TOKEN": secrets.token_hex(16)}
        where = ["--ip", "127.0.0.1", "--port", str(front), "--api-ip", "127.0.0.1", "--api-port", str(routes)]
        proxy = held.enter_context(_process([PROXY, *where, "--log-level", "error"], env=os.environ | word))
        table = f"http://127.0.0.1:{routes}/api/routes"
        authorised = {"Authorization": f"token {word['CONFIGPROXY_AUTH_TOKEN']}"}
        _answers(table, proxy, authorised)
        target = json.dumps({"target": f"http://127.0.0.1:{server}"}).encode()
        urlopen(Request(table + PREFIX.rstrip("/"), target, authorised, method="POST"), timeout=20).close()
        yield f"http://127.0.0.1:{front}{PREFIX}?token={token}", lab


@contextmanager
def _process(command, **settings):
    """Within the `with`, the command runs in a group of its own; afterwards nothing of the group is left."""
    process = subprocess.Popen(command, start_new_session=True, **settings)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(60)


def _answers(address, process, headers=None, deadline=120):
    end = time.monotonic() + deadline
    while True:
        try:
            return urlopen(Request(address, headers=headers or {}), timeout=20).close()
        except HTTPError as error:
            with error:
                return None
        except OSError as error:  # one that took the call, and is late with its answer, too
            assert process.poll() is None and time.monotonic() < end, f"{address}: {error}"
            time.sleep(0.05)
