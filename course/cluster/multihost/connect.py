"""`connect(spec, security="cluster.pem")`: the same `Cluster`, on tasks that were started elsewhere."""

import asyncio
import logging
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partialmethod
from pathlib import Path
from typing import NoReturn

from distributed import Client
from distributed.security import Security

from course.cluster.certificates import Certificate, read_certificate
from course.cluster.certificates import security as dask_security
from course.cluster.cluster import Cluster
from course.cluster.dask_log import quiet
from course.cluster.executor import OpenWork
from course.cluster.local_runtime.loop import LoopThread
from course.cluster.multihost.handshake import other_versions
from course.cluster.multihost.heartbeat import watch_scheduler
from course.cluster.multihost.reachability import Refused, reach_within
from course.cluster.spec import ClusterSpec, by_numbers
from course.deadlines import CLIENT_CLOSES, CONNECT, SCHEDULER_SILENCE

_LOG = logging.getLogger(__name__)


def connect(
    target: ClusterSpec | str,
    *,
    security: str | Path | Certificate | Security | None = None,
    insecure: bool = False,
    timeout: float = CONNECT,
    wait: bool = True,
) -> Cluster:
    """Join a running cluster and return its `Cluster`; closing that leaves the tasks running.

    `target`: a `ClusterSpec` with a scheduler, or the scheduler's address (`tls://localhost:8786`). `security`: the
    certificate's file, a `Certificate` or Dask's `Security`; `insecure=True` instead for plain TCP. Waits at most
    `timeout` seconds for the scheduler and, unless `wait=False`, for every task of the spec; `cluster.missing()` names
    those that are not there. Raises TimeoutError with what is missing, and ConnectionError at once where waiting can't
    help: a host that doesn't answer, another certificate, other versions.
    """
    address, spec = _address(target, insecure), target if isinstance(target, ClusterSpec) else None
    dask_settings = _security(security, insecure)
    quiet()
    deadline = time.monotonic() + timeout
    with ExitStack() as undo:
        thread = LoopThread()
        undo.callback(thread.stop)
        client = _client(address, dask_settings, timeout, thread)
        undo.callback(client.close, timeout=CLIENT_CLOSES)
        runtime = RemoteRuntime(client, address, thread, spec)
        while wait and spec and (missing := runtime.missing()):
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"connect({address!r}): {', '.join(missing)} had not joined after {timeout:g} s. Start each by "
                    "`python -m course task`, or go on without by wait=False"
                )
            time.sleep(0.05)
        cluster = Cluster(client, runtime)
        _LOG.info("connected to %s: %d tasks", address, len(cluster.tasks))
        undo.pop_all()
    return cluster


def _client(address, security, timeout, thread):
    """Return a Dask client of the scheduler at `address`, once that answers."""
    deadline = time.monotonic() + timeout
    try:
        thread.run(reach_within, timeout, address.partition("://")[2], security.get_connection_args("client"))
        return Client(address, security=security, timeout=max(1.0, deadline - time.monotonic()), loop=thread.loop)
    except Refused as error:
        raise ConnectionError(f"connect({address!r}): {error}") from None
    except OSError as error:
        raise TimeoutError(
            f"connect({address!r}): no scheduler answered within {timeout:g} s ({error}). Start it with "
            "`python -m course task --job scheduler --index 0`, and give every member the same certificate."
        ) from None


def _address(target, insecure):
    protocol = "tcp" if insecure else "tls"
    if isinstance(target, ClusterSpec):
        if target.scheduler is None:
            raise ValueError("connect(spec): the spec names no scheduler; give its address instead")
        return f"{protocol}://{target.scheduler}"
    if not isinstance(target, str) or not re.fullmatch(r"((tls|tcp)://)?(\[[0-9A-Fa-f:.]+\]|[^/:\s]+):\d+", target):
        raise ValueError(f"connect({target!r}): give a ClusterSpec or an address such as 'tls://localhost:8786'")
    if "://" in target and not target.startswith(protocol):
        raise ValueError(f"connect({target!r}): for plain TCP say insecure=True, for TLS give security='cluster.pem'")
    return target if "://" in target else f"{protocol}://{target}"


def _security(security, insecure):
    if insecure:
        return dask_security(None)
    if security is None:
        raise ValueError("connect(): give security='cluster.pem', the tasks' certificate, or insecure=True on loopback")
    if isinstance(security, (str, Path)):
        security = read_certificate(security)
    return dask_security(security) if isinstance(security, Certificate) else security


class RemoteRuntime:
    """Tasks that others started and end; here they are only counted, and the scheduler asked whether it still lives.

    `spec`: the tasks that there should be; None asks the scheduler, which knows them unless it is a plain Dask one.
    """

    dashboard_link = route = None

    def __init__(self, client: Client, address: str, thread: LoopThread, spec: ClusterSpec | None = None):
        self._client, self.session_target, self.thread = client, address, thread
        self._last: dict[str, str] = {}  # task -> address, as last told: what a closed cluster still shows
        description = self._identity(0).get("course", {})
        if description and (other := other_versions(description["versions"], ("the scheduler", "this process"))):
            raise ConnectionError(f"connect({address!r}): {other}")
        self._spec = spec or (ClusterSpec(description["jobs"]) if description else None)

    @property
    def tasks(self) -> list[str]:
        """The tasks that have joined, by name."""
        return sorted(self._addresses(), key=by_numbers)

    def missing(self) -> list[str]:
        """Return the tasks of the spec that have not joined, or have left."""
        return self._spec.missing(self._addresses()) if self._spec else []

    def address(self, task: str) -> str:
        """Return where `task` listens, `host:port`; RuntimeError when the scheduler does not answer."""
        return self._addresses()[task].partition("://")[2]

    def _addresses(self):
        if self._client.status == "running" or not self._last:
            workers = self._identity(-1)["workers"]
            self._last = {str(worker["name"]): address for address, worker in workers.items()}
        return self._last

    def _identity(self, workers):
        try:
            identity = self._client.scheduler.identity
            return self._client.sync(identity, n_workers=workers, callback_timeout=SCHEDULER_SILENCE)
        except OSError as error:
            raise RuntimeError(f"the scheduler at {self.session_target} doesn't answer: {error}") from None

    def _refuse(self, _: object, method: str) -> NoReturn:
        """Raise RuntimeError: who started the tasks does that to them, and sees what they print."""
        raise RuntimeError(
            f"cluster.{method}: these tasks were started elsewhere; do it where `python -m course task` runs"
        )

    signal = _refuse
    restart = partialmethod(_refuse, method="restart")
    log = partialmethod(_refuse, method="log")

    def watch(self, client: Client, work: OpenWork) -> Callable[[], object]:
        """End the client and close `work` when the scheduler is silent; return the function that ends the watch."""
        watching = watch_scheduler(client, work, self.session_target)
        return asyncio.run_coroutine_threadsafe(watching, self.thread.loop.asyncio_loop).cancel

    def close(self) -> None:
        """End the event loop; the tasks stay up."""
        self.thread.stop()
