"""`python -m course task`: which spec, which certificate, and the exit code."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course.cluster.certificates import Certificate, read_certificate
from course.cluster.multihost.serve import serve
from course.cluster.multihost.which_task import Member
from course.cluster.routes import Routes
from course.cluster.spec import ClusterSpec
from course.signals import end_process


def run(
    job: str | None,
    task_index: int,
    insecure: bool,
    certificate: str | None,
    patience: float,
    simulated_gpus: int,
    deployed: bool = False,
    routes: tuple[str, ...] = (),
    ports: str | None = None,
    **where: Any,
) -> int:
    """Run the task that the command line names; end the process when it is told to, else return its exit code, 1.

    `deployed`: all that it needs comes by its standard input, from `deploy`. `routes`, `ports`: texts, as for
    `Routes.from_flags` and `Member`. `where`: as for `spec_of`.
    """
    if deployed:
        from course.deploy.deployed_task import run_deployed

        end_process(run_deployed())
    spec = spec_of(**where)
    job = job or _only_job(spec)
    spec.task_address(job, task_index)  # a wrong name is told before a missing certificate
    pair = certificate_of(certificate, where["spec"], insecure)
    gpus = (simulated_gpus, "H200") if simulated_gpus else None
    ways = Routes.from_flags(routes)
    # preloaded: what most of the work that the scheduler reads is made of
    code = serve(Member(spec, job, task_index, pair, patience, gpus, ("course.training",), ways, ports))
    return code or end_process(code)  # it was told to stop


def spec_of(spec: str | None = None, job_hosts: Iterable[str] = (), **hosts: str | None) -> ClusterSpec:
    """Return the `ClusterSpec` of a spec's file, or of the classic flags `ps_hosts`, `worker_hosts`, ….

    A file without a scheduler means what flags without `scheduler_hosts` do: the first ps task runs it. `job_hosts`:
    texts such as `local=a:1,b:2`. Raises ValueError when both or none are given, or one is wrong.
    """
    others = dict(map(_job_and_hosts, job_hosts))
    flags = {flag: value for flag, value in {**hosts, **others}.items() if value is not None}
    if bool(spec) == bool(flags):
        raise ValueError("give the cluster by --spec FILE, or by --ps-hosts, --worker-hosts and --job-hosts")
    if not spec:
        return ClusterSpec.from_flags(**flags)
    read = ClusterSpec.read(spec)
    if read.scheduler is not None:
        return read
    return ClusterSpec.from_flags(**{f"{job}_hosts": addresses for job, addresses in read.as_dict().items()})


def certificate_of(path: str | None, spec: str | None = None, insecure: bool = False) -> Certificate | None:
    """Return the `Certificate` in the file `path`, or beside the spec's, or cluster.pem; None where `insecure`."""
    if insecure:
        return None
    return read_certificate(path or (Path(spec).with_suffix(".pem") if spec else "cluster.pem"))


def _only_job(spec):
    jobs = [job for job in spec.jobs if job != "scheduler"]
    if len(jobs) > 1:
        raise ValueError(f"task: say of which job, --job {' or --job '.join(jobs)}")
    return jobs[0]


def _job_and_hosts(text):
    job, equals, hosts = text.partition("=")
    if not equals:
        raise ValueError(
            f"--job-hosts {text}: give the job's name and its tasks, as in --job-hosts local=a:2222,b:2222"
        )
    return f"{job}_hosts", hosts
