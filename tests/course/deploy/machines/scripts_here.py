"""Start-up scripts beside the stored ones, which people read: what differs from run to run is a word in capitals."""

import json
import re
from pathlib import Path

import dask

STORED = Path(__file__).parent / "scripts"


def config_of(script):
    """Return the configuration of Dask's that the script passes on."""
    return dask.config.deserialize(re.search(r"DASK_INTERNAL_INHERIT_CONFIG=(\S+)", script)[1])


def same_as_stored(name, script, port):
    """Say whether the script is the one stored as `name`.sh; where there is none, store it, for you to read."""
    plain = re.sub(r"course-[0-9a-f]{8}", "course-NAME", script)
    plain = re.sub(r"worker-[0-9a-f]{8}", "worker-NAME", plain)
    plain = re.sub(r"(INHERIT_CONFIG=)\S+", r"\1CONFIG", plain)
    plain = plain.replace(f"{port + 1}:{port + 3}", "PORTS").replace(str(port), "PORT")
    file = STORED / f"{name}.sh"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(plain)
        return False
    return plain == file.read_text()


def holds_no_other_secret(script, secret):
    """Say whether the script passes on the cluster's certificate, key and time-out, and nothing that has `secret`."""
    told = config_of(script)
    fields = {"distributed": {"comm", "scheduler"}}
    inside = {name: set(one) for name, one in told.items()}
    return (
        inside == fields
        and set(told["distributed"]["comm"]["tls"]["worker"]) == {"cert", "key"}
        and (secret not in json.dumps(told) and secret not in script)
    )
