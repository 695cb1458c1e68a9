"""Which tasks a cluster has and where each listens: `{"scheduler": ["host:port"], "ps": [...], "worker": [...]}`."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

LEGAL = 'the legal form is {"scheduler": ["host:port"], "ps": ["host:port"], "worker": ["host:port", "host:port"]}'
_JOB = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
#: What a host is called: a name, numbers, or numbers with colons in brackets.
HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
#: The scheduler listens on the first ps task's host, this many ports above it (below it, where that is no port).
_PORTS_ABOVE = 1000


class ClusterSpec:
    """The jobs of a cluster, each a list of its tasks' `host:port`; checked once, never changed.

    `jobs`: a mapping from a job's name (free, but `scheduler`, where given, names the scheduler's one address) to its
    addresses. Raises TypeError or ValueError that names the job and the task at fault.

    >>> spec = ClusterSpec({"ps": ["localhost:2221"], "worker": ["localhost:2222", "localhost:2223"]})
    >>> spec.jobs
    ['ps', 'worker']
    >>> spec.num_tasks("worker"), spec.task_address("worker", 1)
    (2, 'localhost:2223')
    """

    def __init__(self, jobs: "ClusterSpec | Mapping[str, Sequence[str]]"):
        #: The task whose process the scheduler runs in; None where it has a process of its own, as in a spec's file.
        self.scheduler_task: str | None = jobs.scheduler_task if isinstance(jobs, ClusterSpec) else None
        self._jobs = _checked(jobs.as_dict() if isinstance(jobs, ClusterSpec) else jobs)

    @classmethod
    def from_flags(cls, **hosts: str | Sequence[str] | None) -> "ClusterSpec":
        """Return the spec that the classic flags describe: `ps_hosts="a:2222,b:2222"`, `worker_hosts=…`, `JOB_hosts=…`.

        Without `scheduler_hosts` the scheduler runs inside the first ps task's process (the first task of all where
        there is no ps), 1000 ports above it. Raises TypeError or ValueError as the class does.

        >>> ClusterSpec.from_flags(ps_hosts="a:2222", worker_hosts="b:2222,c:2222").scheduler
        'a:3222'
        """
        jobs, scheduler_task = _jobs_of_flags({flag: value for flag, value in hosts.items() if value is not None})
        spec = cls(jobs)
        spec.scheduler_task = scheduler_task
        return spec

    @classmethod
    def read(cls, path: str | Path) -> "ClusterSpec":
        """Return the spec in the TOML or JSON file `path`.

        Raises FileNotFoundError, and TypeError or ValueError that names the file and the line.
        """
        path = Path(path)
        readers = {".toml": tomllib.loads, ".json": json.loads}
        if path.suffix not in readers:
            raise ValueError(f"ClusterSpec.read({str(path)!r}): the file's name must end in .toml or .json")
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise FileNotFoundError(f"ClusterSpec.read({str(path)!r}): there is no such file") from None
        try:
            return cls(readers[path.suffix](text))
        except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:  # both say at which line and column
            last = f"at line {len(text.splitlines())}, the last"
            raise ValueError(f"{path}: {str(error).replace('at end of document', last)}; {LEGAL}") from None
        except (TypeError, ValueError) as error:
            raise type(error)(f"{path}{_line_of(error, text)}: {error}") from None

    @property
    def jobs(self) -> list[str]:
        """The jobs' names, in the order given."""
        return list(self._jobs)

    @property
    def tasks(self) -> list[str]:
        """The tasks' names, such as `/job:worker/task:0`, in the order given; the scheduler is not a task."""
        jobs = [job for job in self._jobs if job != "scheduler"]
        return [f"/job:{job}/task:{index}" for job in jobs for index in range(len(self._jobs[job]))]

    @property
    def scheduler(self) -> str | None:
        """The scheduler's `host:port`, the session target; None where the spec doesn't say."""
        return self._jobs["scheduler"][0] if "scheduler" in self._jobs else None

    def missing(self, tasks: Iterable[str]) -> list[str]:
        """Return the tasks of the spec that are not among `tasks`, such as `cluster.tasks`.

        >>> ClusterSpec({"worker": ["a:1", "b:1"]}).missing(["/job:worker/task:1"])
        ['/job:worker/task:0']
        """
        joined = set(tasks)
        return [task for task in self.tasks if task not in joined]

    def tasks_beside(self, address: str) -> list[str]:
        """Return the names of the tasks that listen on the same host as `address`: they share its cores and GPUs."""
        host = address.rpartition(":")[0]
        addresses = [address for job, them in self._jobs.items() if job != "scheduler" for address in them]
        return [task for task, where in zip(self.tasks, addresses, strict=True) if where.rpartition(":")[0] == host]

    def num_tasks(self, job: str) -> int:
        """Return how many tasks `job` has; raise ValueError naming the jobs when there is no such job."""
        return len(self._addresses(job))

    def task_address(self, job: str, index: int) -> str:
        """Return the `host:port` of task `index` of `job`; raise ValueError or IndexError saying what there is."""
        addresses = self._addresses(job)
        if not 0 <= index < len(addresses):
            raise IndexError(f"task_address({job!r}, {index}): the tasks of {job} are 0 to {len(addresses) - 1}")
        return addresses[index]

    def as_dict(self) -> dict[str, list[str]]:
        """Return the spec as a new dictionary of lists."""
        return {job: list(addresses) for job, addresses in self._jobs.items()}

    def _addresses(self, job):
        if job not in self._jobs:
            raise ValueError(f"there is no job {job!r}; the jobs are {', '.join(self._jobs)}")
        return self._jobs[job]

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self):
        return hash(tuple(self._jobs.items()))

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()})"


def _checked(jobs):
    """Return `jobs` as a dictionary of tuples, or raise an error that says which entry is wrong."""
    if not isinstance(jobs, Mapping):
        raise TypeError(f"ClusterSpec(jobs={jobs!r}): a mapping is needed; {LEGAL}")
    checked, task_at = {}, {}
    for job, addresses in jobs.items():
        check_job(job)
        if not isinstance(addresses, (list, tuple)):
            raise TypeError(f"ClusterSpec: {job} is {addresses!r}; it must be a list of 'host:port'")
        if not addresses:
            raise ValueError(f"ClusterSpec: {job} has no tasks; give it a 'host:port' or leave the job out")
        for index, address in enumerate(addresses):
            task = f"{job}[{index}]"
            _check_address(task, address)
            if address in task_at:
                raise ValueError(
                    f"ClusterSpec: {task_at[address]} and {task} are both {address!r}; each task needs its own"
                )
            task_at[address] = task
        checked[job] = tuple(addresses)
    if not set(checked) - {"scheduler"}:
        raise ValueError(f"ClusterSpec: there is no job with tasks; {LEGAL}")
    if len(checked.get("scheduler", ("one",))) > 1:
        raise ValueError(
            f"ClusterSpec: scheduler has {len(checked['scheduler'])} addresses; a cluster has one scheduler"
        )
    return checked


def check_job(job: str) -> None:
    """Raise ValueError unless `job` can be a job's name."""
    if not isinstance(job, str) or not _JOB.fullmatch(job):
        raise ValueError(f"ClusterSpec: a job cannot be called {job!r}; use letters, digits, '_', '-', '.'")


def _check_address(task, address):
    if not isinstance(address, str):
        raise TypeError(f"ClusterSpec: {task} is {address!r}; it must be a string 'host:port'")
    host, _, port = address.rpartition(":")
    if not HOST.fullmatch(host):
        raise ValueError(f"ClusterSpec: {task} is {address!r}; it must be 'host:port', such as 'localhost:2222'")
    if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
        raise ValueError(f"ClusterSpec: {task} is {address!r}; the port must be a whole number from 1 to 65535")


def by_numbers(name: str) -> list[int | str]:
    """Return what sorts names by the numbers in them: task:2 comes before task:10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _line_of(error, text):
    """Return `:line` of the last line of `text` with the address, or else the job, that `error` complains of."""
    message = str(error)
    words = re.findall(r"'([^']+)'", message) + re.findall(r"ClusterSpec: ([A-Za-z0-9_.-]+)", message)
    for word in words:
        lines = [number for number, line in enumerate(text.splitlines(), 1) if word in line]
        if lines:
            return f":{lines[-1]}"
    return ""


def _jobs_of_flags(hosts):
    """Return job -> addresses for `{"ps_hosts": "a:1,b:2"}`, and the task that the scheduler runs in, or None."""
    jobs = {}
    for flag, value in hosts.items():
        if not flag.endswith("_hosts") or flag == "_hosts":
            raise TypeError(f"ClusterSpec.from_flags({flag}=…): name a job by JOB_hosts, as in ps_hosts='a:2222'")
        jobs[flag.removesuffix("_hosts")] = _addresses_of_flag(flag, value)
    if "scheduler" in jobs or not jobs:
        return jobs, None
    first = "ps" if "ps" in jobs else next(iter(jobs))
    host, _, port = jobs[first][0].rpartition(":")
    if not port.isascii() or not port.isdigit():
        return jobs, None  # the spec says what is wrong with it
    above = int(port) + _PORTS_ABOVE
    beside = above if above <= 65535 else int(port) - _PORTS_ABOVE
    return {"scheduler": [f"{host}:{beside}"], **jobs}, f"/job:{first}/task:0"


def _addresses_of_flag(flag, value):
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, str):
        raise TypeError(f"ClusterSpec.from_flags({flag}={value!r}): give 'host:port,host:port'")
    addresses = [part.strip() for part in value.split(",")]
    if not all(addresses):
        raise ValueError(f"ClusterSpec.from_flags({flag}={value!r}): an address is missing; give 'host:port,host:port'")
    return addresses
