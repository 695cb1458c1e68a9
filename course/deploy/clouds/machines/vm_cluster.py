"""What stands before dask-cloudprovider's clusters and machines: our start-up script, and no wait without an end.

The library leaves machines behind where a start is interrupted, waits for a scheduler for ever and blocks its event
loop meanwhile, and sends this process's whole Dask configuration to each machine. So `MachineDeployer.close` alone
ends machines: it asks the cloud which ones exist.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import dask
from distributed.core import Status

from course.deploy.clouds.cloud_options import CLOUD_ANSWERS
from course.deploy.clouds.machines.machine_ends_itself import (
    MACHINE_LOST,
    MACHINE_STARTS,
    dask_config,
    startup_script,
)
from course.deploy.clouds.named_tasks import WORKER_PORTS, TaskNanny
from course.deploy.launcher import DeployError

#: Seconds for a cloud to make a machine: a few are enough where it has one.
MACHINE_CREATED = 300.0

_LOG = logging.getLogger(__name__)
#: The tag, or label, by which whatever belongs to a cluster is found; its value is the cluster's name.
MARK = "course-cluster"
#: What the library sets for the whole process, and never back.
_SET = [
    *(f"distributed.comm.{name}" for name in ("default-scheme", "require-encryption", "tls.ca-file")),
    *(f"distributed.comm.tls.{role}.{file}" for role in ("scheduler", "worker", "client") for file in ("key", "cert")),
]


class Machine:
    """Before a library's scheduler or worker class: one machine. Its `close` leaves it to the deployer."""

    cluster: Any
    status: Any

    async def create_vm(self) -> tuple[str, str | None]:
        """Create the machine, to the end even where nobody waits any more; return its inner and outer address."""
        if self.cluster.halted:
            raise DeployError("this cluster is closed")
        creation = asyncio.ensure_future(asyncio.wait_for(self.created(), MACHINE_CREATED))
        self.cluster.creations.add(creation)
        try:
            addresses = await asyncio.shield(creation)
        except Exception as error:  # of the cloud's library: botocore's, googleapiclient's, azure.core's
            self.cluster.problem = self.cluster.problem or error
            raise
        _LOG.info("the machine %s is created", self.name)  # type: ignore[attr-defined]
        inner, outer = addresses
        if outer:
            self.cluster.deployer.outer[inner] = outer
        return addresses

    async def created(self) -> tuple[str, str | None]:
        """Create the machine as the library does; return its inner and outer address."""
        return await super().create_vm()  # type: ignore[misc]

    async def wait_for_scheduler(self) -> None:
        """Return when the scheduler can be reached; DeployError when its machine has ended, or too late."""
        where = urlsplit(getattr(self, "external_address", None) or self.address)  # type: ignore[attr-defined]
        try:
            async with asyncio.timeout(MACHINE_STARTS):
                while not await _answers(where.hostname, where.port):
                    await asyncio.sleep(0.2)
                    await self.cluster.deployer.look()
        except (TimeoutError, DeployError) as error:
            silent = f"the scheduler at {where.netloc} has not answered for {MACHINE_STARTS / 60:.0f} min"
            advice = "Does its network let us in, and does its start-up script do its work?"
            late = isinstance(error, TimeoutError)
            self.cluster.problem = DeployError(f"{silent}. {advice}") if late else error
            raise self.cluster.problem from None

    async def close(self) -> None:
        """Count as closed; the deployer ends the machine."""
        self.status = Status.closed
        self._event_finished.set()  # type: ignore[attr-defined]


class MachineCluster:
    """Before one of the library's clusters, of `deployer`.

    `problem`: why the first machine that failed did; `creations`: what still creates one; `halted`: none may any more.
    """

    status: Any
    scheduler_comm: Any

    def __init__(self, deployer: Any, **settings: Any):
        self.deployer = deployer
        self.problem: Exception | None = None
        self.creations: set[asyncio.Future] = set()
        self.halted = False
        self._calls: set[asyncio.Future] = set()
        options = deployer.wanted
        settings |= {"n_workers": deployer.workers, "security": deployer.security, "docker_image": options.image}
        ports = f"{options.port + 1}:{options.port + WORKER_PORTS}"
        settings["worker_class"] = f"{TaskNanny.__module__}.{TaskNanny.__name__}"
        settings["worker_options"] = {"death_timeout": f"{MACHINE_LOST:.0f} s", "worker_port": ports}
        settings["scheduler_options"] = {"port": options.port}
        with dask.config.set({name: dask.config.get(name, None) for name in _SET}):
            super().__init__(asynchronous=True, **settings)  # type: ignore[call-arg]

    async def _start(self) -> None:
        self.quiet = True  # its log is kept, and not printed
        self.uuid = self.deployer.name  # of which machines, disks and addresses are called
        await super()._start()  # type: ignore[misc]

    async def call_async(self, function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """Run a blocking function in a thread; `halt` knows of it even where nobody waits any more."""
        call = asyncio.ensure_future(asyncio.to_thread(function, *arguments, **more))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return await asyncio.shield(call)

    async def halt(self) -> None:
        """Let no machine be created from now on, and what is on its way arrive, in so far as it does soon."""
        self.halted = True
        for going in (self.creations, set(self._calls)):
            if going:
                await asyncio.wait(going, timeout=CLOUD_ANSWERS)
        for creation in self.creations:
            creation.cancel()
        await asyncio.gather(*self.creations, return_exceptions=True)

    async def dismiss(self) -> None:
        """Say goodbye to the scheduler and the workers, in so far as they are there."""
        with suppress(Exception):  # dask-cloudprovider raises whatever its machine's library does
            async with asyncio.timeout(CLOUD_ANSWERS):
                if self.status != Status.running:
                    self.status = Status.created  # there is no scheduler to say goodbye to
                    if self.scheduler_comm:
                        await self.scheduler_comm.close_rpc()
                for machine in list(self._created):  # type: ignore[attr-defined]
                    await machine.close()  # Dask insists on it, for those that never started, too
                await self.close()  # type: ignore[attr-defined]

    def render_process_cloud_init(self, process: Any) -> str:
        """Return the start-up script of a machine."""
        options = self.deployer.wanted
        # the library doubles quotes for YAML, and sends this process's configuration along
        command = process.command.removeprefix(f"{process.set_env} python ").replace("''", "'")
        return startup_script(
            cluster=self.deployer.name,
            image=options.image,
            command=command,
            host=self.scheduler_host(process),
            port=options.port,
            config=dask_config(self.deployer.security, options.idle),
            idle=options.idle,
            hours=options.hours,
            end=self.deployer.last_lines(process.name),
        )

    def scheduler_host(self, process: Any) -> str:
        """Return where the scheduler is for the machine of `process`."""
        scheduler = getattr(process, "scheduler", None)
        return str(urlsplit(scheduler).hostname) if scheduler else "localhost"


async def _answers(host, port):
    """Say whether somebody listens there."""
    try:
        async with asyncio.timeout(CLOUD_ANSWERS):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
