"""Computers of a cloud that isn't there: each runs its start-up script, in bubblewrap, with three commands stubbed.

`shutdown` notes what it was told, and "now" ends the computer; `docker run` runs the command by this Python instead of
the image's; `curl` notes what it was told. Bubblewrap lets a script write to the computer's own folder alone.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_SHUTDOWN = '#!/bin/bash\necho "$*" >> shutdown\n[ "$2" != now ] || touch off\n'
_CURL = '#!/bin/bash\necho "$*" >> curl\n[[ "$*" != *identity/oauth2* ]] || echo \'{"access_token": "a token"}\'\n'
_DOCKER = """#!/bin/bash
echo "$*" >> docker
if [ "$1" = pull ]; then exit $(cat pull); fi
shift
while [[ "$1" == -* ]]; do
    case "$1" in -e | --entrypoint) shift 2 ;; *) shift ;; esac
done
shift
exec {python} "$@"
"""


def need_bubblewrap():
    """Return why no computer can be had here, or None."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stderr.strip() or None if done.returncode else None


class Computer:
    """One of them: `folder` has its notes, `script` is what cloud-init would run; `ended` is called when it is off."""

    def __init__(self, folder, script, ended=lambda: None, pull=0):
        self.folder = Path(folder)
        commands = self.folder / "commands"
        commands.mkdir(parents=True)
        (self.folder / "pull").write_text(str(pull))
        (self.folder / "script").write_text(script)
        docker = _DOCKER.format(python=shlex.quote(sys.executable))
        for name, text in (("shutdown", _SHUTDOWN), ("curl", _CURL), ("docker", docker)):
            (commands / name).write_text(text)
            (commands / name).chmod(0o755)
        here = str(self.folder)
        inside = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", here, here, "--chdir", here]
        words = ["bwrap", *inside, "--unshare-pid", "--die-with-parent", "bash", f"{here}/script"]
        path = os.pathsep.join([str(commands), "/usr/bin", "/bin"])
        environment = {"PATH": path, "HOME": here, "TMPDIR": here, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
        environment["PYTHONPATH"] = os.getcwd()  # this checkout is what the image has
        self._log = open(self.folder / "log", "wb")
        self._process = subprocess.Popen(
            words, env=environment, stdout=self._log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        self._ended = ended
        self._off = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def start(self):
        """Call `ended` from now on; returns the computer."""
        self._thread.start()
        return self

    def _watch(self):
        while self._process.poll() is None and not self._off.is_set() and not (self.folder / "off").exists():
            time.sleep(0.02)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._log.close()
        if not self._off.is_set():
            self._off.set()
            self._ended()

    def notes(self, name):
        """Return the lines that the stub `name` noted."""
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def runs(self):
        """Say whether it is on."""
        return self._process.poll() is None

    def wait(self, seconds=60):
        """Wait until it is off; return whether it is."""
        self._thread.join(seconds)
        return not self.runs()

    def pull_the_plug(self):
        """End it, as the cloud does."""
        self._off.set()
        self._thread.join(60)
