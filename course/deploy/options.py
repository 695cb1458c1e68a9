"""The options of `deploy` for Slurm and SSH: plain data, checked before anything starts."""

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from dask.utils import parse_bytes

from course.cluster.certificates import Certificate
from course.cluster.spec import check_job
from course.deploy.task_order import Order

#: Seconds without work after which a deployed cluster closes itself, by default.
DEPLOYED_IDLE = 3600.0

Options = TypeVar("Options", bound="CommonOptions")


@dataclass(frozen=True)
class CommonOptions:
    """The options of every system; each may be a dictionary by job, as in `memory={"ps": "2GB", "worker": "8GB"}`.

    `python`: the Python of the tasks, which has the course (this one). `prologue`: shell lines before it, such as
    `("module load python", "source env/bin/activate")`. `interface`: the network interface of tasks and scheduler, such
    as "ib0"; `host`: the scheduler's own address, where it is another. `ports`: where firewalls leave a range open,
    "40000:40100". `scratch`: a folder on a task's own disk, "$TMPDIR" say. `memory`: of each task; `cores`: of each
    task. `logs`: a folder for what tasks print, which stays; without it they are removed with the cluster. `idle`:
    seconds without work after which the cluster closes itself, None for never.
    """

    python: str = sys.executable
    prologue: tuple[str, ...] = ()
    interface: str | None = None
    host: str | None = None
    ports: str | None = None
    scratch: str | None = None
    memory: str | None = None
    cores: int | None = None
    logs: str | None = None
    idle: float | None = DEPLOYED_IDLE


@dataclass(frozen=True)
class SlurmOptions(CommonOptions):
    """The options of Slurm besides; None leaves one to the site, and to Dask's `jobqueue.yaml` where there is one.

    `walltime`: "01:00:00"; `leave_before`: seconds before its end at which a task gets SIGTERM and leaves, so that its
    successor is asked for in time. `requeue`: whether Slurm itself starts a job again whose node fails. `directives`:
    any other of sbatch's options, as in `("--exclusive",)`.
    """

    memory: str | None = "2GB"
    cores: int | None = 1
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    gres: str | None = None
    walltime: str | None = None
    leave_before: int | None = None
    requeue: bool = False
    directives: tuple[str, ...] = ()


@dataclass(frozen=True)
class SshOptions(CommonOptions):
    """The options of SSH besides: `hosts`, names, `user@name` or `user@name:port`, which take the tasks in turns.

    `~/.ssh/config` holds. `key`: the private key's file, by default those that `ssh` itself takes; `known_hosts`: the
    file of the hosts' keys, by default `~/.ssh/known_hosts`.
    """

    hosts: tuple[str, ...] = ()
    key: str | None = None
    known_hosts: str | None = None


def options_for(
    kind: str, options: type[Options], arguments: Mapping[str, Any]
) -> tuple[dict[str, int], Mapping[str, Mapping[str, Any]], Options]:
    """Return (job -> how many tasks, what differs by job, the options) for these arguments of `deploy(kind, …)`.

    Raises TypeError or ValueError that names what is wrong and what is legal.
    """
    names = [field.name for field in fields(options)]
    jobs: dict[str, int] = {}
    plain: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in names:
            plain[name] = _tuples(value)
        else:
            jobs[name] = _count(kind, name, value, names)
    hosts = plain.get("hosts", ())
    jobs = jobs or {"ps": 1, "worker": max(2, len(hosts))}
    by_job = {name: value for name, value in plain.items() if isinstance(value, dict)}
    for name, value in by_job.items():
        if other := [job for job in value if job not in jobs]:
            raise ValueError(_wrong(kind, name, value, f"there is no job {other[0]!r}, only {', '.join(jobs)}"))
    common = options(**{name: value for name, value in plain.items() if name not in by_job})
    for job in jobs:
        _check(kind, options_of(common, by_job, job))
    return jobs, by_job, common


def options_of(options: Options, by_job: Mapping[str, Mapping[str, Any]], job: str) -> Options:
    """Return the options of the tasks of `job`."""
    return replace(options, **{name: value[job] for name, value in by_job.items() if job in value})


def order_for(
    name: str, scheduler: str, certificate: Certificate, options: Mapping[str, CommonOptions], **more: Any
) -> Order:
    """Return the order of the task `name` as the options of its job say; `more`: other fields of `Order`."""
    bare = Order(name, scheduler, certificate, **more)
    own = options[bare.job]
    memory = parse_bytes(own.memory) if own.memory else None
    return replace(bare, interface=own.interface, ports=own.ports, cores=own.cores, memory=memory, scratch=own.scratch)


def _tuples(value):
    if isinstance(value, dict):
        return {job: _tuples(own) for job, own in value.items()}
    return tuple(value) if isinstance(value, list) else value


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return " Did you mean NAME?" for the one of `names` that is near to `name`; "" where none is."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _wrong(kind, name, value, legal):
    return f"deploy({kind!r}, {name}={value!r}): {legal}"


def _count(kind, name, value, names):
    if name == "scheduler":
        raise ValueError(_wrong(kind, name, value, "every cluster has one scheduler; leave it out"))
    if isinstance(value, bool) or not isinstance(value, int):
        legal = "a job's number of tasks is a whole number, as in worker=2; the options are"
        raise TypeError(_wrong(kind, name, value, f"{legal} {', '.join(names)}.{did_you_mean(name, names)}"))
    check_job(name)
    if not 1 <= value <= 100:
        raise ValueError(_wrong(kind, name, value, "a job has from 1 to 100 tasks"))
    return value


def _check(kind, options):
    if not getattr(options, "hosts", True):
        raise ValueError(f"deploy({kind!r}): name the hosts, as in hosts=['alpha', 'user@beta']")
    for name in ("prologue", "directives", "hosts"):
        value = getattr(options, name, ())
        if isinstance(value, str):
            raise TypeError(_wrong(kind, name, value, "give a list of texts"))
    if options.memory is not None:
        try:
            parse_bytes(options.memory)
        except ValueError:
            raise ValueError(_wrong(kind, "memory", options.memory, "say it as in memory='4GB'")) from None
    if options.ports is not None and not re.fullmatch(r"\d+:\d+", options.ports):
        raise ValueError(_wrong(kind, "ports", options.ports, "say the range as in ports='40000:40100'"))
