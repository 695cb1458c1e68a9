"""A cluster of a Dask Gateway: a site's server starts it behind its own door, and lets in whom it knows."""

import asyncio
import re
import warnings
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from course.deploy.clouds.cloud_options import CLOUD_ANSWERS, CLOUD_CLUSTER_ENDS, CloudOptions, wrong
from course.deploy.launcher import DeployError

if TYPE_CHECKING:
    from dask_gateway import Gateway

_AUTHS = ("basic", "jupyterhub", "kerberos")
_EVERY = 0.25  # seconds between two looks


@dataclass(frozen=True)
class GatewayOptions(CloudOptions):
    """The options of a gateway; without `address` Dask's own configuration has it (`gateway.address`).

    `address`: "https://gateway.example.org"; `proxy_address`: where its schedulers are reached, if elsewhere
    ("example.org:8786"). `auth`: "basic", "jupyterhub", "kerberos", a class by its dotted name, or one of Dask
    Gateway's objects. `options`: what this gateway lets you choose, such as `{"worker_cores": 2}`.
    """

    address: str | None = None
    proxy_address: str | None = None
    auth: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise TypeError or ValueError where an option can't be right."""
        if self.address is not None and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", str(self.address)):
            legal = "give the gateway's address with its scheme, as in address='https://gateway.example.org'"
            raise ValueError(wrong("address", self.address, legal))
        if isinstance(self.auth, str) and self.auth not in _AUTHS and "." not in self.auth:
            legal = f"give {', '.join(map(repr, _AUTHS))}, a class as 'package.Class', or one of dask_gateway's objects"
            raise ValueError(wrong("auth", self.auth, legal))
        if not isinstance(self.options, Mapping):
            raise TypeError(wrong("options", self.options, "give a dictionary, as in options={'worker_cores': 2}"))


class _Unknown(DeployError):
    """The gateway knows no such thing."""


class GatewayDeployer:
    """See `Deployer`; the gateway names the cluster, so `name` is only the ledger's."""

    library: ClassVar[str] = "dask_gateway"
    options: ClassVar[type[CloudOptions]] = GatewayOptions
    dashboard_link: str | None = None
    address = ""
    security: Any = None
    route = None  # its proxy passes on what goes to the scheduler, and nothing else

    def __init__(self, name: str, jobs: Mapping[str, int], options: GatewayOptions):
        self._workers, self._options = sum(jobs.values()), options
        self._gateway: Any = None
        self._name: str | None = None

    async def prepare(self) -> None:
        """Ask the gateway for a cluster: it answers with a name, or says what it doesn't like."""
        self._gateway = _gateway(self._options)
        async with _asking(self._gateway):
            options = await self._gateway.cluster_options()
            for name, value in self._options.options.items():
                try:
                    options[name] = value
                except (AttributeError, KeyError, TypeError, ValueError) as error:
                    names = ", ".join(options) or "none"
                    raise DeployError(f"options={{{name!r}: {value!r}}}: {error}. This gateway's are {names}") from None
            await self._submit(options)

    async def _submit(self, options):
        """Ask for the cluster. Whoever is interrupted meanwhile waits for its name: without it nobody could stop it."""
        request = asyncio.ensure_future(self._gateway.submit(options))
        try:
            self._name = await asyncio.shield(request)
        except asyncio.CancelledError:
            await asyncio.wait([request], timeout=CLOUD_ANSWERS)
            if not request.done():
                request.cancel()
            elif not request.cancelled() and request.exception() is None:
                self._name = request.result()
            raise

    def leftover(self) -> dict[str, Any] | None:
        """Return where the cluster is; None where `auth` is an object, which no other process can have."""
        if self._options.auth is not None and not isinstance(self._options.auth, str):
            return None
        return {"name": self._name, "address": self._gateway.address, "auth": self._options.auth}

    async def open(self) -> None:
        """Wait for the scheduler, and ask for the workers."""
        while (report := await self._report()).status.name != "RUNNING":
            await asyncio.sleep(_EVERY)
        _resolve_in_the_loop()
        self.address, self.security = report.scheduler_address, report.security
        self.dashboard_link = report.dashboard_link
        from dask_gateway.client import GatewayWarning

        async with _asking(self._gateway):
            with warnings.catch_warnings():
                warnings.simplefilter("error", GatewayWarning)  # it would start fewer, and only warn
                try:
                    await self._gateway.scale_cluster(self._name, self._workers)
                except GatewayWarning as error:
                    raise DeployError(f"the gateway at {self._gateway.address} starts fewer workers: {error}") from None

    async def waiting(self) -> str:
        """Return ""; raise where the gateway has ended the cluster, as it does when its workers fail to start."""
        await self._report()
        return ""

    async def reach(self, addresses: Iterable[str]) -> None:
        """Open nothing: a gateway has no way to a worker."""

    async def log(self) -> str:
        """Raise: a gateway keeps what its tasks print."""
        raise RuntimeError("cluster.log: the gateway keeps what tasks print; whoever runs it can show it")

    async def close(self) -> None:
        """Stop the cluster and wait until the gateway says that it has ended."""
        if self._gateway is None:
            return
        try:
            if self._name is not None:
                await _stop(self._gateway, self._name)
                self._name = None
        finally:
            await self._gateway.close()

    @staticmethod
    async def end(leftover: dict[str, Any]) -> None:
        """Stop the cluster that a killed client left."""
        gateway = _gateway(GatewayOptions(leftover["address"], auth=leftover["auth"]))
        try:
            await _stop(gateway, leftover["name"])
        finally:
            await gateway.close()

    async def _report(self):
        async with _asking(self._gateway):
            report = await self._gateway.get_cluster(self._name)
        if report.status.name in ("STOPPING", "STOPPED", "FAILED"):
            raise DeployError(
                f"the gateway at {self._gateway.address} has ended the cluster {self._name}: it is "
                f"{report.status.name.lower()}. Its log says why: the scheduler or the workers may not have started"
            )
        return report


def _gateway(options: GatewayOptions) -> "Gateway":
    from dask_gateway import Gateway

    try:
        return Gateway(options.address, options.proxy_address, auth=options.auth, asynchronous=True)
    except (ValueError, TypeError, ImportError) as error:
        advice = "Say where it is, and who you are, as in address='https://gateway.example.org', auth='jupyterhub'"
        call = f"deploy('gateway', address={options.address!r}, auth={options.auth!r})"
        raise DeployError(f"{call}: {error}. {advice}") from None


def _resolve_in_the_loop():
    """Have the loop look up addresses: Dask Gateway's own two threads for that would never end."""
    from dask_gateway.comm import GatewayConnector
    from tornado.tcpclient import TCPClient

    GatewayConnector.client = TCPClient()


async def _stop(gateway, name):
    """Have the cluster stopped and see it end; one that the gateway knows no more has ended long ago."""
    with suppress(_Unknown):
        async with _asking(gateway):
            await gateway.stop_cluster(name)
        async with _asking(gateway, CLOUD_CLUSTER_ENDS):
            while (await gateway.get_cluster(name)).status.name not in ("STOPPED", "FAILED"):
                await asyncio.sleep(_EVERY)


@asynccontextmanager
async def _asking(gateway: "Gateway", seconds: float | None = None) -> AsyncIterator[None]:
    """Within the `async with`, whatever goes wrong with the gateway is a DeployError with the next step."""
    import aiohttp
    from dask_gateway import GatewayClusterError, GatewayServerError

    where, seconds = f"the gateway at {gateway.address}", seconds or CLOUD_ANSWERS
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        problem = f"{where} has not answered for {seconds:.0f} s; is the address right, and no firewall in between?"
    except (aiohttp.ContentTypeError, KeyError):
        problem = f"{gateway.address} answers, and not as a Dask Gateway does; is the path right?"
    except aiohttp.ClientResponseError as error:
        problem = f"{where} says {error.status} {error.message}"
        if error.status in (401, 403):
            ways = ", ".join(map(repr, _AUTHS))
            problem = f"{where} does not let you in ({error.status}); name yourself by auth=, one of {ways}"
    except (OSError, aiohttp.ClientError) as error:
        problem = (
            f"there is no gateway at {gateway.address}: {error}; is the address right, and are you in its network?"
        )
    except ValueError as error:  # of a 404 or a 422
        if "\n" not in str(error) and not re.match("404|<", str(error)):
            raise _Unknown(f"{where} says: {error}") from None
        problem = f"{gateway.address} answers, and not as a Dask Gateway does; is the path right?"
    except (GatewayClusterError, GatewayServerError) as error:
        problem = f"{where} says: {error}"
    else:
        return
    raise DeployError(problem)
