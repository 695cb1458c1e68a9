"""Which clusters of this user are deployed: each has a file in the user's home; a cluster whose file is gone ends."""

import json
import os
import shutil
import socket
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Entry:
    """One deployed cluster: its name, its kind, its tasks, who deployed it where and when (seconds since 1970).

    `leftovers`: the commands that end what is left of it elsewhere.
    """

    name: str
    kind: str
    tasks: tuple[str, ...]
    host: str
    pid: int
    began: float
    leftovers: tuple[tuple[str, ...], ...] = ()

    @property
    def folder(self) -> Path:
        """The cluster's private folder; it is there as long as the cluster is wanted."""
        return ledger() / self.name

    @property
    def client(self) -> str:
        """Whether the process that deployed it lives: "alive", "gone", or "elsewhere", on another host."""
        if self.host != socket.gethostname():
            return "elsewhere"
        try:
            process = psutil.Process(self.pid)
            ended = process.status() == psutil.STATUS_ZOMBIE  # and nobody has asked how
            return "gone" if ended or process.create_time() > self.began else "alive"
        except psutil.Error:
            return "gone"

    def write(self) -> None:
        """Add the cluster to the ledger."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / "entry.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    def remove(self) -> None:
        """Take the cluster from the ledger; if it runs, it ends itself."""
        shutil.rmtree(self.folder, ignore_errors=True)


def ledger() -> Path:
    """Return the folder of the ledger, by the XDG base directory specification: state of a user's own."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "course" / "deployed"


def notes() -> Path:
    """Return the file with a line for each cluster whose process ended without closing it."""
    return ledger() / "notes"


def new_entry(kind: str, tasks: tuple[str, ...]) -> Entry:
    """Return an entry for a cluster of this process's, with a name of its own; it is not written yet."""
    return Entry(f"course-{uuid.uuid4().hex[:8]}", kind, tasks, socket.gethostname(), os.getpid(), time.time())


def entries() -> list[Entry]:
    """Return what is in the ledger, the oldest first; what can't be read is left out."""
    readable = []
    for file in ledger().glob("*/entry.json"):
        try:
            facts = json.loads(file.read_text(encoding="utf-8"))
            facts |= {"tasks": tuple(facts["tasks"]), "leftovers": tuple(map(tuple, facts["leftovers"]))}
            readable.append(Entry(**facts))
        except (OSError, ValueError, TypeError, KeyError):
            continue  # it is being written, or removed
    return sorted(readable, key=lambda entry: entry.began)
