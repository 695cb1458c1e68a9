"""JupyterLab on the course's first page: on this machine only, with its token, asking nothing of any other host.

The reader's own JupyterLab stays as it is: their settings are read, but the course's configuration and its open tabs
are kept apart from theirs.
"""

import getpass
import os
import shlex
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = Path("notebooks", "00_start_here.ipynb")
#: No news, no update check, no extension catalogue, no commands in what a notebook shows; the first page.
CONFIG = Path(__file__).resolve().parent / "lab_config"


class LabError(RuntimeError):
    """JupyterLab can't be opened: the text says why and what to do."""


def lab(browser: bool | None = None, port: int | None = None, root: str | Path = ROOT, remote: bool = False) -> None:
    """Open JupyterLab on `root`/notebooks/00_start_here.ipynb and return when it is stopped (Ctrl-C, or SIGTERM).

    `browser`: open one? None means where there is a display; the address, with its token, is printed in any case.
    `port`: 0 takes any free one; None takes 8888, or the next free one. `remote`: the reader sits at another machine:
    no browser is opened here, and the line is printed that leads from there to here. Raises `LabError` where JupyterLab
    is not installed or can't keep its files, the notebook is not there, the port is taken, or a browser is asked for
    and `remote` too.
    """
    if remote and browser:
        raise LabError("--remote opens no browser here; leave --browser out, and open the address on your own machine")
    root = Path(root).resolve()
    check_ready(root, port)
    if browser is None:
        browser = not remote and has_display()
    arguments = options(root, browser, port)
    # the course's configuration before the reader's own, for this process and its kernels
    earlier = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, [str(CONFIG), earlier]))
    from jupyterlab.labapp import LabApp  # reads the configuration's path when it is imported

    signed = trust(root)
    print(f"Trusting the outputs of the course's {signed} notebooks, so that their pictures show.")
    print(f"Opening {FIRST.as_posix()} in JupyterLab. Ctrl-C here stops it and its kernels.", flush=True)
    server = LabApp.initialize_server(arguments)
    if remote:
        _say_the_way(server.port)
    # Jupyter's own answer to Ctrl-C asks a question in a terminal and, without one, can hang in mid-clean-up.
    signal.signal(signal.SIGINT, lambda number, frame: server.stop(from_signal=True))
    server.start()


def check_ready(root: Path, port: int | None) -> None:
    """Raise `LabError` for what would only fail later, and less plainly."""
    try:
        import jupyterlab  # noqa: F401
    except ImportError:
        raise LabError(
            "JupyterLab is not installed in this Python "
            f"({sys.executable}). Set the course up with `make env`, or `conda env create -f environment.yml`."
        ) from None
    from jupyter_core.paths import jupyter_data_dir

    if not can_be_written(folder := Path(jupyter_data_dir())):
        raise LabError(
            f"{folder}, where JupyterLab keeps its files, can't be written. "
            "Give it another home: HOME=/tmp/home make lab"
        )
    if not (root / FIRST).is_file():
        raise LabError(
            f"{root / FIRST} is not there. Run this in a clone of the course; `make notebooks` builds missing chapters."
        )
    if port and not is_free(port):
        raise LabError(f"--port {port}: something listens there already. Give another, or --port 0 for any free one.")


def can_be_written(folder: Path) -> bool:
    """Tell whether files can be written in `folder`, which may have to be made first."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def is_free(port: int) -> bool:
    """Tell whether 127.0.0.1:`port` can be listened on, by the same means as the server."""
    with socket.socket() as trial:
        if os.name != "nt":  # on Windows the option would let us share a port that is in use
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def has_display() -> bool:
    """Tell whether a browser opened here would be seen."""
    if os.environ.get("SSH_CONNECTION") and not os.environ.get("DISPLAY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _say_the_way(port):
    print(
        "On the machine that you sit at, leave this running; it prints nothing:\n\n"
        f"    {tunnel(port)}\n\n"
        "Then open the address below, there. If you reach this host by another name, put that in the line; if "
        f"{port} is taken there, take another number for its first place in the line, and in the address.",
        flush=True,
    )


def tunnel(port: int, environment: Mapping[str, str] = os.environ) -> str:
    """Return the `ssh` command that leads from another machine's 127.0.0.1:`port` to that of this one.

    This host is named as it names itself. `environment` tells by which port of sshd the reader came, where it is not
    22 (OpenSSH's SSH_CONNECTION), and in a job of Slurm's over which login node the way leads.

    >>> tunnel(8888, {"SLURM_JOB_ID": "7", "SLURM_SUBMIT_HOST": "login1"})
    'ssh -N -L 8888:127.0.0.1:8888 -J ...@login1 ...@...'
    """
    you = _user()
    words = ["ssh", "-N", "-L", f"{port}:127.0.0.1:{port}"]
    came_by = environment.get("SSH_CONNECTION", "").split()  # its address and port, then ours
    if "SLURM_JOB_ID" in environment and environment.get("SLURM_SUBMIT_HOST"):
        words += ["-J", f"{you}@{environment['SLURM_SUBMIT_HOST']}"]
    elif came_by[3:] and came_by[3] != "22":
        words += ["-p", came_by[3]]
    return shlex.join([*words, f"{you}@{socket.gethostname()}"])


def _user():
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container's user has a number and no name
        return "YOU"


def options(root: Path, browser: bool, port: int | None) -> list[str]:
    """Return JupyterLab's command line; what stands here wins over the reader's own configuration files."""
    import zmq

    chosen = {
        "ServerApp.root_dir": root,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": 8888 if port is None else port,
        "ServerApp.port_retries": 50 if port is None else 0,
        "ServerApp.open_browser": bool(browser),
        "ServerApp.allow_root": True,  # containers; it is reached from this machine only, and with the token
        "ServerApp.log_level": "ERROR",
        "LabApp.log_level": "ERROR",
        # Between server and kernel; each kernel would print a warning about its lack.
        "KernelManager.transport_encryption": "auto" if zmq.has("curve") else "disabled",
        # Their own "default" workspace would open tabs of other projects here, and ours there.
        "LabApp.workspaces_dir": root / ".jupyter" / "workspaces",
    }
    return [f"--{name}={value}" for name, value in chosen.items()]


def trust(root: Path) -> int:
    """Sign the published chapters as `jupyter trust` does, and return how many: JupyterLab strips others' HTML."""
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    # Only chapters that have a source of ours: a notebook that someone put beside them is not signed.
    published = [root / "notebooks" / f"{source.stem}.ipynb" for source in (root / "notebooks" / "source").glob("*.py")]
    present = [path for path in published if path.is_file()]
    for path in present:
        notary.sign(nbformat.read(path, as_version=4))
    return len(present)
