"""The classic flags, `--ps-hosts a:1,b:2 --worker-hosts c:1`, as jobs; and where the scheduler of such a cluster is."""

#: The scheduler listens on the first ps task's host, this many ports above it (below it, where that is no port).
PORTS_ABOVE = 1000


def jobs_of_flags(hosts):
    """Return job -> list of addresses for `{"ps_hosts": "a:1,b:2"}`, and the task that the scheduler runs in, or None.

    Without `scheduler_hosts` that is the first ps task (the first task of all where no job is called ps), and its
    address comes from that task's: ps at `a:2222`, scheduler at `a:3222`. Raises TypeError or ValueError.
    """
    jobs = {_job(flag): _addresses(flag, value) for flag, value in hosts.items() if value is not None}
    if "scheduler" in jobs or not jobs:
        return jobs, None
    first = "ps" if "ps" in jobs else next(iter(jobs))
    host, _, port = jobs[first][0].rpartition(":")
    if not port.isascii() or not port.isdigit():
        return jobs, None  # the spec says what is wrong with it
    above = int(port) + PORTS_ABOVE
    beside = above if above <= 65535 else int(port) - PORTS_ABOVE
    return {"scheduler": [f"{host}:{beside}"], **jobs}, f"/job:{first}/task:0"


def _job(flag):
    if not flag.endswith("_hosts") or flag == "_hosts":
        raise TypeError(f"ClusterSpec.from_flags({flag}=…): name a job by JOB_hosts, as in ps_hosts='a:2222'")
    return flag.removesuffix("_hosts")


def _addresses(flag, value):
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, str):
        raise TypeError(f"ClusterSpec.from_flags({flag}={value!r}): give 'host:port,host:port'")
    addresses = [one.strip() for one in value.split(",")]
    if not all(addresses):
        raise ValueError(f"ClusterSpec.from_flags({flag}={value!r}): an address is missing; give 'host:port,host:port'")
    return addresses
