"""What ends the jobs of a client that was killed: the caretaker, a small process of its own.

It is started beside every deployed cluster, reads what to do from its standard input, and waits there. A line "done"
says that the cluster was closed; the end of the input without it, or another parent, that its client was killed. It
uses the standard library alone, so that it starts in a moment and is small.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from typing import Any


class Caretaker:
    """The client's side: starts the process; `dismiss` ends it, once there is nothing left to take care of.

    `folder`: the cluster's own, which goes with it; where the client is gone, a line is added to the `notes` beside it.
    """

    def __init__(self, folder: str, commands: list[list[str]], seconds: dict[str, float]):
        order = {"folder": folder, "commands": commands, "owner": os.getpid(), **seconds}
        command = [sys.executable, "-I", "-S", __file__]
        started: Any = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, text=True)
        self._process = started
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def dismiss(self, done: bool = True) -> None:
        """Tell it that all is closed, and see it end; where it is not `done`, let it do it. Idempotent."""
        if self._process.stdin.closed:
            return
        try:
            self._process.stdin.write("done\n" if done else "")
            self._process.stdin.close()
        except OSError:
            pass  # it was killed
        if done:
            self._process.wait(10)


def main() -> None:
    """Wait for the client's end; then do what it would have done."""
    heard = b""
    while b"\n" not in heard:
        read = os.read(0, 1 << 16)
        if not read:
            return  # killed as it started this: nothing was launched yet
        heard += read
    line, _, heard = heard.partition(b"\n")
    order = json.loads(line)
    while os.getppid() == order["owner"]:
        if select.select([0], [], [], order["looks_every"])[0]:
            read = os.read(0, 1 << 10)
            heard += read
            if b"done" in heard:
                return
            if not read:
                break
    deadline = time.monotonic() + order["ends"]
    while order["commands"] and time.monotonic() < deadline:
        for command in order["commands"]:
            try:
                subprocess.run(command, capture_output=True, timeout=order["answers"])
            except (OSError, subprocess.TimeoutExpired):
                pass  # again in a moment
        time.sleep(order["ends_every"])
    shutil.rmtree(order["folder"], ignore_errors=True)
    _note(order, time.strftime("%Y-%m-%d %H:%M"))


def _note(order, when):
    """Add a line for `python -m course deploy list`: the client is gone, and can't say so itself."""
    name, host = os.path.basename(order["folder"]), os.uname().nodename if hasattr(os, "uname") else "this machine"
    line = f"{name}: its process {order['owner']} on {host} ended without closing it; all that it had was ended, {when}"
    try:
        with open(os.path.join(os.path.dirname(order["folder"]), "notes"), "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except OSError:
        pass  # a full disk


if __name__ == "__main__":
    main()
