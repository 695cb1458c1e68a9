"""What ends a cloud's machine that everyone has forgotten: its start-up script, machine_ends_itself.sh, filled in."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask

#: For a cloud's machine to install Docker, take the image and start the scheduler.
MACHINE_STARTS = 1200.0
#: Between two looks of a machine whether its scheduler answers, and of a client whether its machines are there.
MACHINE_LOOKS_EVERY = 20.0
#: A machine whose scheduler has been silent for so long ends itself.
MACHINE_LOST = 300.0


_TEMPLATE = (Path(__file__).parent / "machine_ends_itself.sh").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Startup:
    """One machine's start-up script: which process of which image it runs, and when it ends itself; times in seconds.

    `command`: what Python is given there, as shell words. `host`, `port`: where the scheduler answers, as this machine
    sees it. `config`: Dask's configuration, serialised. `end`: shell lines before `shutdown`, where that isn't enough.
    `starts`: for the scheduler to answer at first; `lost`: a silence of it that counts as its end.
    """

    cluster: str
    image: str
    command: str
    host: str
    port: int
    config: str
    idle: float
    hours: float
    end: str = ""
    starts: float = MACHINE_STARTS
    lost: float = MACHINE_LOST
    every: float = MACHINE_LOOKS_EVERY

    def script(self) -> str:
        """Return the script's text."""
        values = {
            "CLUSTER": self.cluster,
            "IMAGE": shlex.quote(self.image),
            "COMMAND": self.command,
            "HOST": self.host,
            "PORT": self.port,
            "CONFIG": self.config,
            "IDLE": f"{self.idle:g}",
            "LAST": f"{self.hours * 3600:.0f}",
            "MINUTES": 5 + round(self.hours * 60),
            "END": "\n".join(f"    {line}" for line in self.end.splitlines()),
            "STARTS": f"{self.starts:.0f}",
            "LOST": f"{self.lost:.0f}",
            "EVERY": f"{self.every:g}",
        }
        filled = re.sub(r"@([A-Z]+)@", lambda match: str(values[match[1]]), _TEMPLATE)
        return filled.replace("    trap - EXIT\n\n", "    trap - EXIT\n")


def dask_config(secure: Any, idle: float) -> str:
    """Return Dask's configuration for a cluster's processes, serialised: TLS, its key inside, and the idle time-out.

    `secure`: Dask's `Security`; `idle`: seconds.
    Nothing of this process's own configuration is in it. (The library sends all of that, other clouds' tokens too.)
    """
    tls: dict[str, Any] = {"ca-file": secure.tls_ca_file}
    for role in ("scheduler", "worker", "client"):
        tls[role] = {"cert": getattr(secure, f"tls_{role}_cert"), "key": getattr(secure, f"tls_{role}_key")}
    comm = {"default-scheme": "tls", "require-encryption": True, "tls": tls}
    scheduler = {"idle-timeout": f"{idle:g} s"}
    return dask.config.serialize({"distributed": {"comm": comm, "scheduler": scheduler}})
