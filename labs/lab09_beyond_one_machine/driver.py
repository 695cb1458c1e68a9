"""How lab 09's job is driven: each life is a process of its own, which is warned by SIGTERM and killed by SIGKILL.

The same text drives it in the notebook and in the sandbox of a submission, so it needs the standard library only, and
holds no answer. When a life ends is decided by whoever answers `ask`.
"""

import contextlib
import io
import json
import operator
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import warnings

PATIENCE = 15.0  # seconds without a question, after which a life is ended
CHANGES = ("os.rename", "os.remove")  # audit events, beside "open" for writing
LEAVES = ("os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen", "socket.connect", "socket.bind")


def drive_job(entry, connect, steps, every, first):
    """Return for each life of the job (how it ended, what it returned); None on a stub.

    `with connect() as ask` begins a life's talk with the machine, which does the steps and ends the lives:
    `ask(do=…, …)` returns a dictionary. A life's process is there before that, so that it has no part in it.
    """
    if not hasattr(os, "fork"):
        raise RuntimeError("this check ends processes by signals, which Windows does not have: run it in WSL")
    told = []
    with tempfile.TemporaryDirectory(prefix="job-") as place:
        folder = os.path.join(place, "folder")
        os.mkdir(folder)
        while True:
            with _life(entry, folder, (steps, every, first)) as (process, *links), connect() as ask:
                begun = ask(do="begin")
                if not begun["more"]:
                    return told
                if begun["back"]:
                    shutil.rmtree(folder)
                    shutil.copytree(os.path.join(place, f"life {begun['back']}"), folder)
                shutil.copytree(folder, os.path.join(place, f"life {len(told) + 1}"))
                try:
                    told.append(_followed(process, ask, *links))
                except (RuntimeError, TimeoutError) as failure:
                    before = f"; life {len(told)} {told[-1][0]}" if told else ""
                    raise type(failure)(f"in life {len(told) + 1}{before}: {failure}") from None
                if told[-1][0] == "stub":
                    return None


@contextlib.contextmanager
def _life(entry, folder, numbers):
    """Within the `with`, a process waits for a word, and then runs the job: it, and two links to it."""
    steps, their_steps = socket.socketpair()
    changes, their_changes = socket.socketpair()  # a second one: a signal's handler may save in the middle of a step
    with steps, changes, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on: a kernel has threads; the child needs none
        process = os.fork()
        if process == 0:
            try:
                steps.close()
                changes.close()
                _run(entry, their_steps, their_changes, folder, numbers)
            finally:
                os._exit(1)
        their_steps.close()
        their_changes.close()
        try:
            yield process, steps, changes
        finally:
            for kill in (os.killpg, os.kill):  # its group is there as soon as it asks for anything
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(process, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored, nothing is left to wait for
                os.waitpid(process, 0)


def _followed(process, ask, steps, changes):
    """Let a life begin, and answer what it asks for until it has ended; return how it did and what it returned."""
    how = "was killed"
    with contextlib.suppress(ConnectionError):
        steps.sendall(b"go\n")
    with steps.makefile("rb") as asked, changes.makefile("rb") as changed:
        files = {steps: asked, changes: changed}
        while files:
            ready, _, _ = select.select(list(files), [], [], PATIENCE)
            if not ready:
                raise TimeoutError(f"it asked for no step for {PATIENCE:g} s")
            link = ready[-1]
            line = b""
            with contextlib.suppress(ConnectionError):  # it ended before it had read its answer
                line = files[link].readline()
            if not line:  # what it said last may still be in the other one
                del files[link]
                continue
            question = json.loads(line)
            if "raised" in question:
                raise RuntimeError(question["raised"])
            if "how" in question:
                return question["how"], question.get("gave")
            told = ask(**question)
            if told.get("then") == "kill":
                os.kill(process, signal.SIGKILL)
                break
            if told.get("then") == "term":
                os.kill(process, signal.SIGTERM)
            how = "was killed as it wrote" if told.get("then") == "tear" else how
            with contextlib.suppress(ConnectionError):  # the warning has ended it
                link.sendall(json.dumps(told).encode() + b"\n")
    return how, None


# ---- in the process of one life --------------------------------------------------------------------------------------


def _run(entry, steps, changes, folder, numbers):
    """Wait for the word; call the job; tell what it returned, or raised."""
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    sys.stdout, sys.stderr, sys.dont_write_bytecode = io.StringIO(), io.StringIO(), True
    asking = _asking(steps)
    if steps.recv(3) != b"go\n":
        return

    def step(number, state):
        told = asking(do="step", step=_whole(number), state=_whole(state))
        if "error" in told:
            raise ValueError(told["error"])
        return told["state"]

    sys.addaudithook(_watch(_asking(changes), folder))
    try:
        gave = entry(folder, *numbers, step)
        end = {"how": "stub"} if gave is ... else {"how": "returned", "gave": None if gave is None else _whole(gave)}
    except SystemExit:  # as a script ends itself
        end = {"how": "returned", "gave": None}
    except BaseException as failure:
        end = {"raised": f"{type(failure).__name__}: {failure}".replace(folder, "folder")[:300]}
    steps.sendall(json.dumps(end).encode() + b"\n")


def _whole(value):
    """Return a whole number, Python's, numpy's or torch's, as Python's; raises TypeError that says what it is."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        kind, text = type(value).__name__, str(value)[:40]
        raise TypeError(f"a whole number is asked for, not a {kind}" + (f", {text}" if " at 0x" not in text else ""))
    return operator.index(value)


def _asking(link):
    """Return what asks a question over `link`; with the other side gone, this process ends."""
    answers = link.makefile("rb")

    def ask(**question):
        link.sendall(json.dumps(question).encode() + b"\n")
        line = answers.readline()
        if not line:
            os._exit(1)
        return json.loads(line)

    return ask


def _folder(path):
    """Return a path without links, and with a slash at its end."""
    return os.path.join(os.path.realpath(path), "")


def _watch(ask, folder):
    """Return an audit hook that tells of each change of a file, and at one that is torn ends the process there."""
    inside, busy = _folder(folder), []

    def hook(event, given):
        writes = event == "open" and isinstance(given[0], (str, bytes)) and given[2] & (os.O_WRONLY | os.O_RDWR)
        if busy or not (writes or event in CHANGES or event in LEAVES) or (given and given[0] == os.devnull):
            return
        busy.append(event)
        here = event not in LEAVES and _folder(os.fsdecode(given[0])).startswith(inside)
        if ask(do="change", state=int(not here))["then"] == "tear":
            if writes:  # it is opened, and the process is gone before what was written has left its memory
                with contextlib.suppress(OSError):
                    os.open(given[0], given[2], 0o600)
            os.kill(os.getpid(), signal.SIGKILL)
        busy.clear()

    return hook
