"""Tasks as Slurm jobs, one each: dask-jobqueue writes their scripts, with a site's own defaults, and this submits them.

A cluster's key goes inside the script, by sbatch's standard input: Slurm keeps it for its owner; no file of ours does.
"""

import asyncio
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import dask

from course.cluster.certificates import Certificate
from course.cluster.spec import by_numbers
from course.deploy.launcher import DEPLOYED_TASKS_END, DeployError, State
from course.deploy.ledger import Entry
from course.deploy.options import SlurmOptions, order_for
from course.deploy.slurm_command import slurm
from course.deploy.task_order import Order
from course.signals import held_back

with held_back():  # dask-jobqueue takes SIGINT as it is imported, to end the process; this gives it back
    from dask_jobqueue.slurm import SLURMJob

_WAITS = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SUSPENDED")
_RUNS = ("RUNNING", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
_BY_OTHERS = ("CANCELLED", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "COMPLETING")
#: Reasons of a waiting job that no end of another job takes away: the job asks for what it can't get, or may not have.
_NEVER = re.compile(
    r"Partition(TimeLimit|NodeLimit|Down|Inactive|Config)|BadConstraints|(Account|QOS)NotAllowed|Invalid(Account|QOS)"
    r"|DependencyNeverSatisfied|\w*Max\w*PerJob(Limit)?"
)
#: `sbatch --test-only` complains of this where nodes are drained, too; sbatch itself knows whether it will ever do.
_MAY_WAIT = re.compile(r"node.* not available|not available now", re.I)


class TaskJob(SLURMJob):
    """The job of one task: its script is dask-jobqueue's, with our command; `run` is the name of all the cluster's."""

    def __init__(self, order: Order, options: SlurmOptions, run: str, folder: Path):
        log = shlex.quote(str(folder / f"{order.file_name}-%j.log"))
        super().__init__(
            order.scheduler,
            order.name,
            queue=options.partition,
            account=options.account,
            walltime=options.walltime,
            cores=options.cores or 1,
            memory=options.memory or "1GB",
            processes=1,
            nanny=False,
            job_name=run,
            job_script_prologue=list(options.prologue) or None,
            job_extra_directives=[*_directives(options), f"--comment={order.name}", f"-o {log}"],
            job_directives_skip=_left_to_slurm(options),
        )
        command = order.command(shlex.quote(options.python))
        self._command_template = f"exec {command} <<'COURSE_ORDER'\n{order.line()}\nCOURSE_ORDER"


def _left_to_slurm(options):
    """Return the directives of dask-jobqueue's own that neither the reader nor the site's `jobqueue.yaml` asks for."""
    site = dask.config.get("jobqueue.slurm.walltime", None, config=dask.config.collect())  # not its own half an hour
    requests = {"--mem": options.memory, "#SBATCH -t ": options.walltime or site}
    return [directive for directive, value in requests.items() if not value]


def _directives(options):
    yield from (f"--{name}={value}" for name in ("qos", "gres") if (value := getattr(options, name)))
    yield "--requeue --open-mode=append" if options.requeue else "--no-requeue"
    if options.leave_before:
        yield f"--signal=B:TERM@{options.leave_before}"
    yield from options.directives


class SlurmLauncher:
    """Starts each task as a job with the cluster's name; see `Launcher`. `folder`: on a disk that nodes see."""

    def __init__(self, entry: Entry, folder: Path, options: Mapping[str, SlurmOptions]):
        self._run, self._folder, self._options = entry.name, folder, options
        self._mine = (f"--user={os.getuid()}", f"--name={self._run}")
        self._jobs: dict[str, bool] = {}  # number -> whether Slurm may put it back into its queue
        self._submitted, self._few = False, asyncio.Semaphore(8)  # sbatch at a time: slurmctld has others to serve

    def order(self, name: str, scheduler: str, certificate: Certificate) -> Order:
        """Return the order of the task `name`; Slurm gives it its cores and GPUs."""
        return order_for(name, scheduler, certificate, self._options)

    async def check(self, orders: Iterable[Order]) -> None:
        """Have Slurm look at one job of each kind, without submitting it."""
        looks = [self._submit(order, "--test-only") for order in {order.job: order for order in orders}.values()]
        for problem in await asyncio.gather(*looks, return_exceptions=True):
            if isinstance(problem, Exception) and not _MAY_WAIT.search(str(problem)):
                raise problem

    async def launch(self, order: Order) -> str:
        """Put the task's job into the queue; return its number."""
        self._submitted = True
        async with self._few:
            job = await self._submit(order)
        self._jobs[job] = self._options[order.job].requeue
        return job

    async def _submit(self, order, *more):
        """Give the script to sbatch's standard input (dask-jobqueue's file could be read by others)."""
        script = TaskJob(order, self._options[order.job], self._run, self._folder).job_script()
        answer = await slurm("sbatch", "--parsable", *more, stdin=script)
        return answer.strip().rpartition("\n")[2].partition(";")[0]  # a site's own lines may stand before

    def logs(self, order: Order) -> list[Path]:
        """Return the files of the task's jobs, the oldest first."""
        return sorted(self._folder.glob(f"{order.file_name}-*.log"), key=lambda file: by_numbers(file.name))

    async def states(self, handles: Iterable[str]) -> dict[str, State]:
        """Return where these jobs are; one that Slurm has forgotten has ended."""
        queue = await slurm("squeue", "--noheader", "--states=all", self._mine[0], "--format=%i|%T|%r")
        states = {}
        for job, state, reason in (line.strip().split("|", 2) for line in queue.splitlines()):
            stage = "waiting" if state in _WAITS else "running" if state in _RUNS else "ended"
            why = reason.replace("None", "Slurm has not come to it yet")
            if state == "COMPLETING" and self._jobs.get(job):  # it may go back into the queue
                stage, why = "waiting", "Slurm ends it, and may start it again"
            never = stage == "waiting" and _NEVER.fullmatch(reason) is not None
            why = why if stage == "waiting" else f"Slurm says {state}"
            states[job] = State(stage, why, state not in _BY_OTHERS, never)
        return {job: states.get(job, State("ended", "Slurm does not know it any more", False)) for job in handles}

    async def signal(self, handle: str, name: str, pid: int | None) -> None:
        """Send a signal to all processes of a job."""
        await slurm("scancel", f"--signal={name}", "--full", handle)

    async def end(self, handles: Iterable[str]) -> None:
        """Cancel these jobs."""
        await slurm("scancel", *handles)

    async def close(self) -> None:
        """Cancel all jobs of the cluster and see them go."""
        if not self._submitted:
            return
        await slurm("scancel", *self._mine)
        with suppress(TimeoutError):
            async with asyncio.timeout(DEPLOYED_TASKS_END):
                while jobs := await self._jobs_in_queue():
                    if still := [job for job, state in jobs.items() if job in self._jobs and state != "COMPLETING"]:
                        with suppress(DeployError):  # they have ended meanwhile
                            await slurm("scancel", *still)
                    await asyncio.sleep(0.2)

    async def _jobs_in_queue(self):
        """Return the cluster's jobs that are in the queue, with their states: a site may have changed their names."""
        queue = await slurm("squeue", "--noheader", self._mine[0], "--format=%i|%T|%j")
        jobs = (line.strip().split("|", 2) for line in queue.splitlines())
        return {job: state for job, state, name in jobs if job in self._jobs or name == self._run}

    def leftovers(self) -> list[list[str]]:
        """Return the command that cancels whatever a killed client left in the queue."""
        return [["scancel", *self._mine]]
