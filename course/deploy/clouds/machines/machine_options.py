"""The options of every cloud's machines, and the one network that reaches them."""

import asyncio
import ipaddress
import urllib.request
from dataclasses import dataclass

from course.deploy.clouds.cloud_options import CLOUD_ANSWERS, CloudOptions, wrong
from course.deploy.clouds.named_tasks import WORKER_PORTS
from course.deploy.launcher import DeployError

#: Seconds without work after which a cloud's scheduler ends, by default, and all machines with it.
MACHINES_IDLE = 1200.0

_SEES_US = "https://checkip.amazonaws.com"


@dataclass(frozen=True)
class MachineOptions(CloudOptions):
    """The options of every cloud.

    `image`: a container image with the course that the machines can pull, "ghcr.io/you/course:1"; `machine`: the
    type of the scheduler's machine and of each task's; `disk`: GB of each; `port`: the scheduler's, and the three after
    it are the tasks'. `client`: the network that may reach the scheduler, and with a `ps` the tasks, "203.0.113.7/32"
    say; without it, this machine's address as the internet sees it. `private`: use addresses inside the cloud's
    network, where this process runs in it. `idle`: seconds without work after which the scheduler ends, and every
    machine with it; `hours`: after so many, they end whatever they do.
    """

    image: str = ""
    machine: str = ""
    disk: int = 30
    port: int = 8786
    client: str | None = None
    private: bool = False
    idle: float = MACHINES_IDLE
    hours: float = 8.0

    def check(self) -> None:
        """Raise ValueError where an option can't be right; see `CloudOptions.check`."""
        self.check_image()
        self.text("machine", r"[A-Za-z][\w.-]+", f"name a type, as in machine={type(self)().machine!r}")
        for name, low, high in (
            ("disk", 10, 1023),
            ("port", 1024, 65535 - WORKER_PORTS),
            ("idle", 1, 86400),
            ("hours", 0.02, 168),
        ):
            value = getattr(self, name)
            type_, word = (int, "whole number") if name in ("disk", "port") else (int | float, "number")
            if isinstance(value, bool) or not isinstance(value, type_) or not low <= value <= high:
                raise ValueError(wrong(name, value, f"give a {word} from {low:g} to {high:g}"))
        if self.client is not None:
            _network(self.client)


def _network(text):
    advice = "say a network, as in client='203.0.113.7/32'"
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError:
        raise ValueError(wrong("client", text, advice)) from None
    if network.prefixlen < 8:
        raise ValueError(wrong("client", text, f"that is much of the internet; {advice}"))
    return network


async def client_network(options: MachineOptions, own: str) -> str:
    """Return the network that may reach the scheduler, "203.0.113.7/32"; `own`: this machine's address in its network.

    Where the options don't say, a service of Amazon's says as whom the internet sees us. Raises DeployError.
    """
    if options.client or options.private:
        return str(ipaddress.IPv4Network(options.client or own))
    try:
        address = await asyncio.wait_for(asyncio.to_thread(_own_address), CLOUD_ANSWERS)
        return str(ipaddress.IPv4Network(address))
    except (OSError, ValueError, TimeoutError) as error:
        why = f"{_SEES_US} did not tell this machine's address ({error or 'no answer'})"
        raise DeployError(f"{why}. Say who may reach the scheduler, as in client='203.0.113.7/32'") from None


def _own_address():
    with urllib.request.urlopen(_SEES_US, timeout=CLOUD_ANSWERS) as answer:
        return answer.read(64).decode("ascii").strip()
