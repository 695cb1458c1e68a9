"""`connect(spec, security="cluster.pem")`: the same `Cluster`, on tasks that were started elsewhere."""

import asyncio
import re
import time
from pathlib import Path

from distributed import Client

from course.cluster.certificates import Certificate, read_certificate
from course.cluster.certificates import security as dask_security
from course.cluster.cluster import Cluster
from course.cluster.loop import LoopThread
from course.cluster.quiet import quiet
from course.cluster.spec import ClusterSpec

_PING = 2.0  # seconds between two questions to the scheduler
_SILENCE = 10.0  # seconds without an answer after which it counts as lost


def connect(target, *, security=None, insecure=False, timeout=30.0):
    """Join a running cluster and return its `Cluster`; closing that leaves the tasks running.

    `target`: a `ClusterSpec` with a scheduler, or the scheduler's address (`tls://localhost:8786`). `security`: the
    certificate's file, a `Certificate` or Dask's `Security`; `insecure=True` instead for plain TCP. Waits at most
    `timeout` seconds for the scheduler and for the tasks of the spec; raises TimeoutError with what is missing.
    """
    address, expected = _address(target, insecure), target.tasks if isinstance(target, ClusterSpec) else []
    given = _security(security, insecure)
    quiet()
    thread = LoopThread()
    try:
        return Cluster(*_joined(address, given, expected, timeout, thread))
    except BaseException:
        thread.stop()
        raise


def _joined(address, security, expected, timeout, thread):
    """Return a client and the runtime of the cluster at `address`, once the tasks `expected` are there."""
    deadline = time.monotonic() + timeout
    try:
        client = Client(address, security=security, timeout=timeout, loop=thread.loop)
    except OSError as error:
        raise TimeoutError(
            f"connect({address!r}): no scheduler answered within {timeout:g} s ({error}). Start it with "
            "`python -m course task --job scheduler --index 0`, and give every member the same certificate."
        ) from None
    runtime = RemoteRuntime(client, address, thread)
    while missing := [task for task in expected if task not in runtime.tasks]:
        if time.monotonic() > deadline:
            client.close(timeout=2)
            raise TimeoutError(f"connect({address!r}): {', '.join(missing)} had not joined after {timeout:g} s")
        time.sleep(0.05)
    return client, runtime


def _address(target, insecure):
    protocol = "tcp" if insecure else "tls"
    if isinstance(target, ClusterSpec):
        if target.scheduler is None:
            raise ValueError("connect(spec): the spec names no scheduler; give its address instead")
        return f"{protocol}://{target.scheduler}"
    if not isinstance(target, str) or not re.fullmatch(r"((tls|tcp)://)?[^/:\s]+:\d+", target):
        raise ValueError(f"connect({target!r}): give a ClusterSpec or an address such as 'tls://localhost:8786'")
    if "://" in target and not target.startswith(protocol):
        raise ValueError(f"connect({target!r}): for plain TCP say insecure=True, for TLS give security='cluster.pem'")
    return target if "://" in target else f"{protocol}://{target}"


def _security(given, insecure):
    if insecure:
        return dask_security(None)
    if given is None:
        raise ValueError("connect(): give security='cluster.pem', the tasks' certificate, or insecure=True on loopback")
    if isinstance(given, (str, Path)):
        given = read_certificate(given)
    return dask_security(given) if isinstance(given, Certificate) else given


class RemoteRuntime:
    """Tasks that others started and end; here they are only counted, and the scheduler asked whether it still lives."""

    dashboard_link = None

    def __init__(self, client, address, thread):
        self._client, self.session_target, self._thread = client, address, thread

    @property
    def tasks(self):
        """The tasks that have joined, by name."""
        return sorted(
            self._addresses(), key=lambda task: [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", task)]
        )

    def address(self, task):
        return self._addresses()[task].partition("://")[2]

    def _addresses(self):
        asked = self._client.sync(self._client.scheduler.identity, n_workers=-1, callback_timeout=_SILENCE)
        return {str(worker["name"]): address for address, worker in asked["workers"].items()}

    def kill(self, task):
        self._refuse("kill")

    def freeze(self, task):
        self._refuse("freeze")

    def thaw(self, task):
        self._refuse("thaw")

    def restart(self, tasks):
        self._refuse("restart")

    def log(self, task):
        self._refuse("log")

    def _refuse(self, method):
        raise RuntimeError(
            f"cluster.{method}: these tasks were started elsewhere; do it where `python -m course task` runs"
        )

    def watch(self, client, work):
        """Close `work` when the scheduler has been silent for ten seconds, where Dask alone would wait for ever.

        Return the function that ends this.
        """
        pinging = _ping(client, work, self.session_target)
        return asyncio.run_coroutine_threadsafe(pinging, client.loop.asyncio_loop).cancel

    def in_loop(self):
        return self._thread.is_mine()

    def close(self):
        """End the event loop; the tasks belong to whoever started them."""
        self._thread.stop()


async def _answers(client):
    try:
        await asyncio.wait_for(client.scheduler.identity(n_workers=0), _SILENCE)
    except (OSError, TimeoutError):
        return False
    return True


async def _ping(client, work, address):
    heard = time.monotonic()
    while time.monotonic() - heard < _SILENCE:
        if await _answers(client):
            heard = time.monotonic()
        await asyncio.sleep(_PING)
    work.close(f"the scheduler at {address} has not answered for {_SILENCE:.0f} s; connect again when it is back")
