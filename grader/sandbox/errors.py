"""How a sandbox ended, and its two errors: the machine can't make one, or it was stopped."""

from dataclasses import dataclass

#: limit -> what is said about it. `None`: the program ended by itself.
SENTENCES = {
    None: "it ended by itself",
    "closed": "it was no longer needed",
    "silent": "it closed the pipe on which it answers",
    "time": "it ran longer than it may",
    "cpu": "it used more processor time than it may",
    "memory": "it used more memory than it may",
    "processes": "it started more processes than it may",
    "output": "it printed more than it may",
    "files": "it made more files than it may",
}


@dataclass(frozen=True)
class Ended:
    """How one sandbox ended.

    - `limit`: a key of `SENTENCES`; None when the program ended by itself, with exit `status` (128 + n for signal n).
    - `stdout`, `stderr`: what it printed, as text; the middle is left out where there was much. Never trust it.
    - `seconds` and `cpu_seconds` it ran; `memory`: the most that was seen in use at once, bytes.
    """

    limit: str | None
    status: int | None
    stdout: str
    stderr: str
    seconds: float
    cpu_seconds: float
    memory: int

    def __str__(self) -> str:
        tail = f", exit status {self.status}" if self.limit is None else ""
        return f"{SENTENCES[self.limit]}{tail} (after {self.seconds:.1f} s)"


class SandboxUnavailable(RuntimeError):
    """This machine can't make the sandbox: never the student's doing. The text has the reason and the next step."""


class SandboxStopped(Exception):
    """The program inside can't answer any more; `ended` says how it ended."""

    def __init__(self, ended: Ended) -> None:
        super().__init__(str(ended))
        self.ended = ended
