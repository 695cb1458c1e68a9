"""The arguments of `deploy` for a cloud: how many workers, and the system's own options, checked before it starts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from course.deploy.options import did_you_mean

#: Seconds for a cloud, a gateway or Kubernetes to answer; silence is an error within ten seconds.
CLOUD_ANSWERS = 8.0
#: Seconds for one of these to end a cluster.
CLOUD_CLUSTER_ENDS = 30.0

_MOST = 100  # tasks of a job; as many as a job of Slurm's may have
#: An image's name by the reference's grammar, https://github.com/distribution/reference.
_IMAGE = (
    r"([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?"
)


@dataclass(frozen=True)
class CloudOptions:
    """The options of a system, plain data; each system has a class of its own that adds fields and checks them."""

    def check(self) -> None:
        """Raise TypeError or ValueError, made by `wrong`, where an option can't be right: before anyone is asked."""

    def text(self, name: str, pattern: str, legal: str) -> None:
        """Raise ValueError unless the option `name` is a text of this `pattern`; `legal`: what to give."""
        value = getattr(self, name)
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(wrong(name, value, legal))

    def check_image(self) -> None:
        """Raise ValueError unless the option `image` is the name of a container image."""
        example = "image='ghcr.io/you/course:1', without capitals in its path; deploy/docker builds one"
        self.text("image", _IMAGE, f"name a container image with the course, as in {example}")


def cloud_options(
    kind: str, options: type[CloudOptions], arguments: Mapping[str, Any]
) -> tuple[dict[str, int], CloudOptions]:
    """Return (job -> how many tasks, the options) for these arguments of `deploy(kind, …)`; two workers by default.

    Raises TypeError or ValueError that names what is wrong and what is legal.
    """
    names = [field.name for field in fields(options)]
    jobs = {job: arguments.get(job, 2) for job in ("ps", "worker") if job in arguments or job == "worker"}
    plain = {name: tuple(v) if isinstance(v, list) else v for name, v in arguments.items() if name not in jobs}
    for name, value in plain.items():
        if name not in names:
            legal = f"the options are ps, worker, {', '.join(names)}.{did_you_mean(name, names)}"
            raise TypeError(f"deploy({kind!r}, {name}={value!r}): {legal}")
    for job, count in jobs.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise ValueError(f"deploy({kind!r}, {job}={count!r}): give a whole number of tasks from 1 to {_MOST}")
    checked = options(**plain)
    try:
        checked.check()
    except (TypeError, ValueError) as error:
        raise type(error)(f"deploy({kind!r}, {error}") from None
    return jobs, checked


def wrong(option: str, value: object, legal: str) -> str:
    """Return the text of an error about `option`, for `CloudOptions.check`; `legal`: what to give, and why."""
    return f"{option}={value!r}): {legal}"
