"""What ends a cloud's machine that everyone has forgotten: its start-up script, machine_ends_itself.sh, filled in."""

import re
import shlex
from pathlib import Path
from typing import Any

import dask

#: Seconds for a cloud's machine to install Docker, pull the image and start the scheduler.
MACHINE_STARTS = 1200.0
#: Seconds between two looks of a machine whether its scheduler answers, and of a client whether its machines run.
MACHINE_LOOKS_EVERY = 20.0
#: Seconds of silence of its scheduler after which a machine ends itself.
MACHINE_LOST = 300.0

_TEMPLATE = (Path(__file__).parent / "machine_ends_itself.sh").read_text(encoding="utf-8")


def startup_script(
    cluster: str,
    image: str,
    command: str,
    host: str,
    port: int,
    config: str,
    idle: float,
    hours: float,
    end: str = "",
    starts: float = MACHINE_STARTS,
    lost: float = MACHINE_LOST,
    every: float = MACHINE_LOOKS_EVERY,
) -> str:
    """Return one machine's start-up script: which process of which image it runs, and when it ends itself.

    `command`: the arguments of Python in the image, as shell words. `host`, `port`: where the scheduler answers, as
    this machine sees it. `config`: Dask's configuration, serialised. `end`: shell lines before `shutdown`, where that
    isn't enough. In seconds: `idle`; `starts`, for the scheduler to answer at first; `lost`, a silence of it that
    counts as its end; `every`, between two looks.
    """
    values = {
        "CLUSTER": cluster,
        "IMAGE": shlex.quote(image),
        "COMMAND": command,
        "HOST": host,
        "PORT": port,
        "CONFIG": config,
        "IDLE": f"{idle:g}",
        "LAST": f"{hours * 3600:.0f}",
        "MINUTES": 5 + round(hours * 60),
        "END": "".join(f"    {line}\n" for line in end.splitlines()),
        "STARTS": f"{starts:.0f}",
        "LOST": f"{lost:.0f}",
        "EVERY": f"{every:g}",
    }
    return re.sub(r"@([A-Z]+)@", lambda match: str(values[match[1]]), _TEMPLATE)


def dask_config(secure: Any, idle: float) -> str:
    """Return Dask's configuration for a cluster's processes, serialised: TLS, its key inside, and the idle time-out.

    `secure`: Dask's `Security`; `idle`: seconds. Nothing of this process's own configuration is in it: the library
    would send all of that, other clouds' tokens too.
    """
    tls: dict[str, Any] = {"ca-file": secure.tls_ca_file}
    for role in ("scheduler", "worker", "client"):
        tls[role] = {"cert": getattr(secure, f"tls_{role}_cert"), "key": getattr(secure, f"tls_{role}_key")}
    comm = {"default-scheme": "tls", "require-encryption": True, "tls": tls}
    scheduler = {"idle-timeout": f"{idle:g} s"}
    return dask.config.serialize({"distributed": {"comm": comm, "scheduler": scheduler}})
