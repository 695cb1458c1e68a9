"""What `deploy` is given for a cloud: how many workers, and the system's own options, checked before it starts."""

import difflib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from course.deploy.clouds.deployer import CloudOptions

#: For a cloud, a gateway or Kubernetes to answer one question: whoever is not there is told within ten seconds.
CLOUD_ANSWERS = 8.0
#: For one of these to end a cluster, when it is asked to.
CLOUD_CLUSTER_ENDS = 30.0

_MOST = 100  # workers; as many as a job of Slurm's may have


def cloud_options(kind: str, options: type[CloudOptions], given: Mapping[str, Any]) -> tuple[int, CloudOptions]:
    """Return (how many workers, the options) for what `deploy(kind, …)` was given; two workers when it doesn't say.

    Raises TypeError or ValueError that names what is wrong and what is legal.
    """
    known = [one.name for one in fields(options)]
    workers = given.get("worker", 2)
    plain = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items() if name != "worker"}
    for name, value in plain.items():
        if name not in known:
            raise _unknown(kind, name, value, known)
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= _MOST:
        raise ValueError(f"deploy({kind!r}, worker={workers!r}): give a whole number of workers from 1 to {_MOST}")
    made = options(**plain)
    try:
        made.check()
    except (TypeError, ValueError) as error:
        raise type(error)(f"deploy({kind!r}, {error}") from None
    return workers, made


def _unknown(kind, name, value, known):
    given = f"deploy({kind!r}, {name}={value!r})"
    if name == "ps":
        return ValueError(
            f"{given}: it has workers only, for nobody could reach a parameter server's own sockets through its "
            "scheduler. Train on deploy('slurm', ps=1, …) or deploy('ssh', ps=1, …)"
        )
    near = difflib.get_close_matches(name, known, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return TypeError(f"{given}: the options are worker, {', '.join(known)}.{meant}")


def wrong(option: str, value: object, legal: str) -> str:
    """Return the text of an error about `option`, for `CloudOptions.check`; `legal`: what to give, and why."""
    return f"{option}={value!r}): {legal}"
