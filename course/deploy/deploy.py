"""`deploy("slurm", ps=1, worker=4)`: the same `Cluster` as `local_cluster`, its tasks on machines that others share."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from distributed import Client

from course.cluster.cluster import Cluster
from course.cluster.dask_log import quiet
from course.cluster.local import any_ports, checked_gpus, local_cluster
from course.deadlines import CONNECT
from course.deploy.clouds.cloud_options import cloud_options
from course.deploy.clouds.cloud_runtime import CloudRuntime
from course.deploy.clouds.kinds import CLOUDS
from course.deploy.deployed_runtime import DeployedRuntime
from course.deploy.launcher import load
from course.deploy.ledger import new_entry
from course.deploy.options import SlurmOptions, SshOptions, options_for, options_of

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: kind -> its options, its launcher in the module of that name; what it needs is in the extra of that name.
_KINDS: dict[str, tuple[Any, str]] = {"slurm": (SlurmOptions, "SlurmLauncher"), "ssh": (SshOptions, "SshLauncher")}


def deploy(
    kind: str,
    *,
    timeout: float | None = None,
    wait: bool = True,
    say: Callable[..., None] = print,
    **jobs_and_options: Any,
) -> Cluster:
    """Start a cluster by `kind`, "slurm" or "ssh" ("local" is `local_cluster`), and return its `Cluster`.

    "kubernetes", "gateway", "aws", "gcp" and "azure" are for Dask's own deployers, with `worker=2` by default; `ps=1`
    besides, where this process can reach what a parameter server opens, which is tried at the start. Their options:
    `KubernetesOptions`, `GatewayOptions`, `AwsOptions`, `GcpOptions`, `AzureOptions`. `kill`, `freeze`, `thaw` and
    `restart` raise RuntimeError there. The rest holds for Slurm and SSH.

    `jobs_and_options`: how many tasks each job has (`ps=1, worker=2` when nothing is given), and the system's options:
    see `SlurmOptions` and `SshOptions`; `memory={"ps": "2GB", "worker": "8GB"}` gives them by job. `say` gets lines
    about tasks that wait or were lost. With `wait` it returns when every task has joined, however long jobs wait in
    a queue; `timeout`: seconds for that, None for no limit. Interrupt it at any time: nothing stays.

    The tasks end with this process, killed or not: 20 s later there is no job, process or file with the key. A task
    that is lost is replaced under its name, perhaps on another machine, and its work runs again. TLS by a certificate
    of the cluster's own. Raises TypeError or ValueError for wrong arguments, DeployError (a RuntimeError) with the
    system's own words where it refuses, TimeoutError; ImportError where an extra is not installed; RuntimeError where
    "slurm" is first asked for outside the main thread.
    """
    if kind == "local":
        return local_cluster(**jobs_and_options)
    option_names(kind)  # raises where there is no such kind
    _warn_of_processor_limit(say)
    if kind in CLOUDS:
        quiet()
        return _cloud(kind, jobs_and_options, timeout, wait, say)
    options, class_name = _KINDS[kind]
    jobs, by_job, common = options_for(kind, options, jobs_and_options)
    try:
        make = getattr(load(kind, f"course.deploy.{kind}"), class_name)
    except ValueError as error:  # dask-jobqueue takes a signal as it is first imported
        raise RuntimeError(
            f"deploy({kind!r}): {error}. Call it first in the main thread, or say `import dask_jobqueue` there"
        ) from error
    quiet()
    entry = new_entry(kind, _tasks(jobs))
    folder = Path(common.logs).expanduser().absolute() if common.logs else entry.folder
    if common.logs:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    launcher = make(entry, folder, {job: options_of(common, by_job, job) for job in jobs})
    runtime = DeployedRuntime(entry, launcher, common, say)
    try:
        runtime.start(timeout, wait)
        client = Client(runtime.session_target, security=runtime.security, loop=runtime.thread.loop, timeout=CONNECT)
    except BaseException:
        runtime.close()
        raise
    return Cluster(client, runtime)


def check_options(kind: str, **jobs_and_options: Any) -> None:
    """Raise the TypeError or ValueError that `deploy` raises for these arguments, before anything is asked."""
    option_names(kind)
    if kind in CLOUDS:
        cloud_options(kind, CLOUDS[kind].options, jobs_and_options)
    elif kind in _KINDS:
        options_for(kind, _KINDS[kind][0], jobs_and_options)
    else:
        checked_gpus(jobs_and_options.get("simulated_gpus", 0))
        any_ports({name: count for name, count in jobs_and_options.items() if name not in option_names(kind)})


def option_names(kind: str) -> list[str]:
    """Return the names of the options of `deploy(kind, …)`; ValueError that names the kinds where there is none."""
    if kind == "local":
        return ["simulated_gpus", "dashboard"]
    if kind not in (*_KINDS, *CLOUDS):
        raise ValueError(f"deploy({kind!r}): the kinds are 'local', {', '.join(map(repr, [*_KINDS, *CLOUDS]))}")
    return [field.name for field in fields(CLOUDS[kind].options if kind in CLOUDS else _KINDS[kind][0])]


def _tasks(jobs):
    return tuple(f"/job:{job}/task:{index}" for job, count in jobs.items() for index in range(count))


def _cloud(kind, arguments, timeout, wait, say):
    """Start a cluster by one of Dask's deployers."""
    deployer = CLOUDS[kind]
    jobs, options = cloud_options(kind, deployer.options, arguments)
    load(kind, deployer.library)
    entry = new_entry(kind, _tasks(jobs))
    runtime = CloudRuntime(entry, deployer(entry.name, jobs, options), say)
    try:
        return Cluster(runtime.start(timeout, wait), runtime)
    except BaseException:
        runtime.close()
        raise


def _warn_of_processor_limit(say):
    """Say where this process, with which the cluster ends, may use so much of the processor and no more."""
    seconds = resource.getrlimit(resource.RLIMIT_CPU)[0] if resource else None
    if resource and seconds != resource.RLIM_INFINITY:
        say(
            f"This machine ends a process after {seconds:,} s of processor time (`ulimit -t`), and the cluster with "
            "it: start this inside a job, by `srun --pty` or sbatch"
        )
