"""The deployer of a cloud's machines: what AWS, Google Cloud and Azure have in common."""

import asyncio
import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from distributed.utils import get_ip

from course.cluster.certificates import new_certificate, security
from course.cluster.routes import Routes
from course.deploy.clouds.cloud_options import CLOUD_ANSWERS, CloudOptions
from course.deploy.clouds.machines.machine_ends_itself import MACHINE_LOOKS_EVERY
from course.deploy.clouds.machines.machine_options import client_network
from course.deploy.clouds.named_tasks import WORKER_PORTS
from course.deploy.launcher import DeployError

#: Seconds for a cloud to end a cluster's machines, disks and networks: a minute, or two for slow shutdowns.
MACHINES_END = 180.0
#: Seconds between two looks at which of them remain; a machine just requested may be missing in the first.
MACHINES_END_EVERY = 2.0

_LOG = logging.getLogger(__name__)
_TRIES = 3  # of a look that fails, before it counts: a network is away for a moment


class MachineDeployer(ABC):
    """See `Deployer`. All that it makes is marked with `name`, and `close` goes by that mark alone.

    So it ends what a start that failed, an interrupt or a killed client left, known to this process or not. `wanted`:
    the options; `workers`: how many.
    """

    library: ClassVar[str]
    options: ClassVar[type[CloudOptions]]
    #: A pattern in an error of the cloud's -> the next step.
    steps: ClassVar[Mapping[str, str]]
    dashboard_link: str | None = None  # its port is open to nobody
    address = ""

    def __init__(self, name: str, jobs: Mapping[str, int], options: Any):
        self.name, self.workers, self.wanted = name, sum(jobs.values()), options
        self.outer: dict[str, str] = {}  # a machine's address in the cloud's network -> the one from outside
        self.route = Routes(self.outer)
        #: The first and the last port at which the client reaches machines: without a ps the scheduler's alone.
        self.door = options.port, options.port + ("ps" in jobs) * WORKER_PORTS
        self.security: Any = security(new_certificate(days=30))
        self.allowed = ""  # the network that may reach the scheduler; after `prepare`
        self._cluster: Any = None
        self._networking: Any = None
        self._opened = False
        self._looked = time.monotonic()

    async def prepare(self) -> None:
        """See `Deployer.prepare`."""
        with self.explained():
            await self.find()
        self.allowed = await client_network(self.wanted, get_ip())

    @abstractmethod
    async def find(self) -> None:
        """Find credentials, the network and the type of machine; raise where one is not there."""

    @abstractmethod
    def leftover(self) -> dict[str, Any]:
        """See `Deployer.leftover`."""

    @abstractmethod
    async def network(self) -> None:
        """Let this client in by `door`, and the cluster's machines to each other; nobody else."""

    @abstractmethod
    def make(self) -> Any:
        """Return the library's cluster, not started yet."""

    @classmethod
    @abstractmethod
    async def machines(cls, leftover: dict[str, Any]) -> list[str]:
        """Return the cluster's machines that are there, or on their way."""

    @classmethod
    @abstractmethod
    async def sweep(cls, leftover: dict[str, Any]) -> list[str]:
        """Have the cloud end whatever has the mark and can be ended now; return what is still there."""

    @classmethod
    @abstractmethod
    def explain(cls, error: Exception) -> str:
        """Return what this error of the cloud's means, and the next step."""

    @classmethod
    def advised(cls, words: str, symptom: str) -> str:
        """Return `words` with the next step of the first of `steps` whose pattern is in `symptom`."""
        step = next((step for pattern, step in cls.steps.items() if re.search(pattern, symptom, re.S | re.I)), "")
        return words + (f"; {step}" if step else "")

    def last_lines(self, machine: str) -> str:
        """Return the shell lines with which a machine ends itself before it shuts down."""
        return ""

    @classmethod
    @contextmanager
    def explained(cls) -> Iterator[None]:
        """Within the `with`, an error of the cloud's becomes a DeployError with the next step."""
        try:
            yield
        except (DeployError, TypeError, AttributeError, NameError, AssertionError):
            raise  # a fault of the code is none of the cloud's
        except Exception as error:  # each of botocore's, googleapiclient's and azure.core's errors has another base
            raise DeployError(cls.explain(error)) from error

    async def open(self) -> None:
        """Open the network to this client, start all machines, and return when the scheduler answers."""
        self._opened = True
        self._networking = asyncio.ensure_future(self.network())
        with self.explained():
            await asyncio.shield(self._networking)  # to the end: `close` must find all that it makes
            self._cluster = self.make()
            try:
                await self._cluster
            except Exception as error:  # dask-cloudprovider passes on any error of the three libraries
                raise (self._cluster.problem or error) from None
            _LOG.info("the %d machines of %s are started", 1 + self.workers, self.name)
        scheduler = self._cluster.scheduler
        self.address = getattr(scheduler, "external_address", None) or scheduler.address

    async def waiting(self) -> str:
        """Return ""; raise where a machine has ended itself."""
        if self.address:
            await self.look(1 + self.workers)
        return ""

    async def look(self, least: int = 1) -> None:
        """Now and then ask the cloud; raise DeployError where fewer machines than `least` are there."""
        if time.monotonic() - self._looked < MACHINE_LOOKS_EVERY:
            return
        self._looked = time.monotonic()
        with self.explained():
            count = len(await self.machines(self.leftover()))
        if count < least:
            raise self.ended(least - count)

    def ended(self, count: int) -> DeployError:
        """Return the error of so many machines that have ended themselves."""
        advice = f"Can they pull the image {self.wanted.image!r}, and is this course in it?"
        return DeployError(f"{count} of the cluster's machines ended before they joined. {advice}")

    async def reach(self, addresses: Iterable[str]) -> None:  # noqa: B027 - none of the clouds has more to do
        """Open nothing: `door` is open, and `outer` is known since the machines were made."""

    async def log(self) -> str:
        """Return what Dask's scheduler and workers logged lately."""
        logs = await self._cluster.get_logs()
        return "".join(f"{name}\n{text}\n" for name, text in logs.items())

    async def close(self) -> None:
        """End everything that has the cluster's mark and see it gone; may be called again."""
        if not self._opened:
            return
        if self._networking:
            await asyncio.wait([self._networking], timeout=2 * CLOUD_ANSWERS)
            await asyncio.gather(self._networking, return_exceptions=True)
        if self._cluster:
            await self._cluster.halt()
            await self._cluster.dismiss()
        await self.end(self.leftover())
        self._opened = False

    @classmethod
    async def end(cls, leftover: dict[str, Any]) -> None:
        """End what has the mark of `leftover`, until two looks in a row find nothing; DeployError where it stays."""
        deadline, clear, failures, remaining = time.monotonic() + MACHINES_END, 0, 0, ["?"]
        while clear < 2:
            if time.monotonic() > deadline:
                raise DeployError(f"after {MACHINES_END:.0f} s there still are {', '.join(remaining)}")
            try:
                with cls.explained():
                    remaining = await asyncio.wait_for(cls.sweep(leftover), 2 * CLOUD_ANSWERS)
                clear, failures = 0 if remaining else clear + 1, 0
            except DeployError:
                clear, failures = 0, failures + 1
                if failures == _TRIES:
                    raise
            if clear < 2:
                await asyncio.sleep(MACHINES_END_EVERY)
        _LOG.info("all machines of %s are ended", leftover["name"])


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a blocking function of a cloud's library in a thread; TimeoutError where it takes too long."""
    return await asyncio.wait_for(asyncio.to_thread(function, *arguments), CLOUD_ANSWERS)
