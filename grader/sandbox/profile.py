"""The limits of a sandbox, and the files that it shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MIB = 1024 * 1024


@dataclass(frozen=True)
class Profile:
    """The limits of a sandbox and what can be seen inside, beside Python and its installed packages.

    - `seconds`, `cpu_seconds` (by default the same, of the whole tree): then it is stopped.
    - `memory`: bytes, of all its processes together with its files; `scratch`: what files in /tmp may take of that, and
      those in /dev/shm as much again.
    - `processes`: of them and their threads; `open_files`: in each; `files_limit`: how many can be made in /tmp.
    - `output`: bytes on stdout and stderr together, then it is stopped; `kept`: bytes of each that are kept.
    - `threads`: what numerical libraries start.
    - `network`: "none", or "loopback" for a cluster inside: addresses of this sandbox only, never a host's.
    - `files`: absolute path inside -> bytes, read-only.
    - `path`: folders inside that come first on `sys.path`.
    """

    seconds: float = 60.0
    cpu_seconds: float | None = None
    memory: int = 1024 * MIB
    scratch: int = 64 * MIB
    processes: int = 64
    open_files: int = 256
    files_limit: int = 10_000
    output: int = 8 * MIB
    kept: int = 64 * 1024
    threads: int = 1
    network: str = "none"
    files: Mapping[str, bytes] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    def __post_init__(self):
        for name in "seconds memory scratch processes open_files files_limit output kept threads".split():
            if not getattr(self, name) > 0:
                raise ValueError(f"Profile({name}={getattr(self, name)!r}): give a number above 0.")
        if self.cpu_seconds is not None and not self.cpu_seconds > 0:
            raise ValueError(f"Profile(cpu_seconds={self.cpu_seconds!r}): give a number above 0, or leave it out.")
        if self.network not in ("none", "loopback"):
            raise ValueError(
                f"Profile(network={self.network!r}): none or loopback; a sandbox never has a real network."
            )
        for name in ("files", "path"):
            for path in getattr(self, name):
                if not path.startswith("/") or ".." in path.split("/") or "\0" in path:
                    raise ValueError(f"Profile({name}={path!r}): a path inside starts with / and has no '..' in it.")

    @property
    def cpu_limit(self) -> float:
        """Seconds of processor time that the whole tree may use."""
        return self.seconds if self.cpu_seconds is None else self.cpu_seconds
