"""Tasks as processes on other hosts, started over SSH: each ends with its standard input, so none outlives its client.

(Dask's `SSHCluster` names tasks by their addresses, has no TLS of its own and leaves processes behind.)
"""

import asyncio
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import asyncssh

from course.cluster.certificates import Certificate
from course.deploy.launcher import DEPLOYED_TASKS_END, DeployError, State
from course.deploy.ledger import Entry
from course.deploy.options import SshOptions, order_for
from course.deploy.task_order import Order

#: Seconds for a host to accept an SSH login, with its key and ours checked.
SSH_ANSWERS = 8.0


@dataclass(eq=False)
class Started:
    """The process of a task on a host, and the wait for its end."""

    host: str
    process: Any
    ended: asyncio.Task

    def __str__(self):
        return f"a process on {self.host}"


class SshLauncher:
    """Starts each task on one of the hosts, in turns; see `Launcher`. `folder`: on this machine."""

    def __init__(self, entry: Entry, folder: Path, options: Mapping[str, SshOptions]):
        self._folder, self._options = folder, options
        self._any = next(iter(options.values()))
        self._hosts = dict(zip(entry.tasks, cycle(self._any.hosts), strict=False))
        self._connections: dict[str, list[Any]] = {}  # by host; the last one may have room
        self._connecting = asyncio.Lock()

    def order(self, name: str, scheduler: str, certificate: Certificate) -> Order:
        """Return the order of the task `name`, which ends with its standard input."""
        among = tuple(task for task, host in self._hosts.items() if host == self._hosts[name])
        return order_for(name, scheduler, certificate, self._options, among=among, attached=True)

    async def check(self, orders: Iterable[Order]) -> None:
        """Log in to every host."""
        await asyncio.gather(*map(self._connection, dict.fromkeys(self._hosts.values())))

    async def launch(self, order: Order) -> Started:
        """Start the task's process on its host."""
        host, options = self._hosts[order.name], self._options[order.job]
        folder = shlex.quote(str(Path.cwd()))  # if the host has this folder, it may hold modules that the work needs
        lines = [f"cd {folder} 2>/dev/null", *options.prologue, f"exec {order.command(shlex.quote(options.python))}"]
        log = open(self._folder / f"{order.file_name}.log", "ab", buffering=0)
        try:
            process = await self._process(host, "\n".join(lines), stdout=log, stderr=asyncssh.STDOUT)
            process.stdin.write(order.line() + "\n")
        except (OSError, asyncssh.Error, TimeoutError) as error:
            log.close()
            raise DeployError(f"{host} lets us in, but starts no process: {error or 'no answer'}") from None
        return Started(host, process, asyncio.ensure_future(process.wait_closed()))

    async def states(self, handles: Iterable[Started]) -> dict[Started, State]:
        """Return whether these processes run."""
        return {task: State("ended", _end_of(task)) if task.ended.done() else State("running") for task in handles}

    async def signal(self, handle: Started, name: str, pid: int | None) -> None:
        """Send a signal to the task's process, by the host's own `kill`."""
        if pid is None:
            return await self.end([handle])
        process = await self._process(handle.host, f"kill -{name} {pid}")
        await asyncio.wait_for(process.wait(), SSH_ANSWERS)

    async def end(self, handles: Iterable[Started]) -> None:
        """End these processes: by the end of their input, and by SIGKILL where their host knows how."""
        for task in handles:
            with suppress(OSError, asyncssh.Error):
                task.process.stdin.write_eof()
                task.process.kill()
                task.process.close()

    async def close(self) -> None:
        """Hang up: every process ends with its input."""
        connections = list(chain.from_iterable(self._connections.values()))
        for connection in connections:
            connection.close()
        waits = [connection.wait_closed() for connection in connections]
        with suppress(TimeoutError):
            async with asyncio.timeout(DEPLOYED_TASKS_END):
                await asyncio.gather(*waits, return_exceptions=True)

    def logs(self, order: Order) -> list[Path]:
        """Return the file with what the task and its predecessors printed."""
        return [self._folder / f"{order.file_name}.log"]

    def leftovers(self) -> list[list[str]]:
        """Return nothing: what a killed client leaves ends with its connection."""
        return []

    async def _process(self, host, command, **settings):
        """Start a process on `host`, by another connection where sshd lets one have no more (`MaxSessions`: 10)."""
        for fresh in (False, True):
            connection = await self._connection(host, fresh)
            try:
                process = await asyncio.wait_for(connection.create_process(command, **settings), SSH_ANSWERS)
            except asyncssh.ChannelOpenError:
                if fresh:
                    raise
                continue
            self._connections[host].sort(key=lambda other: other is connection)  # it comes first from now on
            return process

    async def _connection(self, host, fresh=False):
        """Return the connection to `host` that may have room, or a `fresh` one, which nobody else uses yet."""
        async with self._connecting:
            connections = [old for old in self._connections.get(host, ()) if not old.is_closed()]
            self._connections[host] = connections
            if fresh or not connections:
                connections.insert(0, await _connected(host, self._any))
                return connections[0]
            return connections[-1]


async def _connected(host, options):
    """Return a connection to `host`; DeployError with the next step, in a few seconds."""
    user, _, address = host.rpartition("@")
    name, colon, port = address.partition(":")
    where = f"{f'-p {port} ' if colon else ''}{host.removesuffix(f':{port}')}"
    settings: dict[str, Any] = {"keepalive_interval": 5, "config": [str(Path("~/.ssh/config").expanduser())]}
    if not Path(settings["config"][0]).exists():
        settings["config"] = None
    settings |= {"username": user} if user else {}
    settings |= {"port": int(port)} if colon else {}
    # a key with a passphrase is the agent's to use, as for `ssh`
    settings |= {"client_keys": [options.key], "ignore_encrypted": True} if options.key else {}
    settings |= {"known_hosts": options.known_hosts} if options.known_hosts else {}
    try:
        return await asyncio.wait_for(asyncssh.connect(name, **settings), SSH_ANSWERS)
    except asyncssh.HostKeyNotVerifiable:
        problem, advice = _of_host_key(host, name, port, where, options.known_hosts)
    except (asyncssh.PermissionDenied, asyncssh.KeyImportError) as error:
        problem, advice = f"{host} does not let us in ({error}).", f"Give it your key: `ssh-copy-id {where}`"
        if locked := _with_passphrase(options.key):
            advice = f"The key {locked} has a passphrase: say `ssh-add {locked}` first. {advice}, if that is not done"
    except TimeoutError:
        problem = f"{host} has not answered for {SSH_ANSWERS:.0f} s."
        advice = "Is it on, and does no firewall keep us out?"
    except (OSError, asyncssh.Error, ValueError) as error:
        problem, advice = f"{host} can't be reached by SSH: {error}.", f"`ssh {where}` says more"
    raise DeployError(f"{problem} {advice}")


def _of_host_key(host, name, port, where, known_hosts):
    """Return (what is wrong with the key of a host, what to do): it is new to us, or another one than it was."""
    file = Path(known_hosts or "~/.ssh/known_hosts").expanduser()
    listed = file.exists() and asyncssh.match_known_hosts(str(file), name, "", int(port or 22))[0]
    if not listed:
        problem = f"the key of {host} is not in your list of known hosts, {file}."
        return problem, f"Say `ssh {where}` once and compare the key that it shows"
    own = f" -f {shlex.quote(known_hosts)}" if known_hosts else ""
    entry = f"'[{name}]:{port}'" if port not in ("", "22") else name
    problem = f"the key of {host} HAS CHANGED: it is not the one in {file}. Somebody may be in between: stop here."
    return problem, f"Only if you know that the host was set up anew, say `ssh-keygen -R {entry}{own}`"


def _with_passphrase(key):
    """Return the file of the first key that can't be read without a passphrase: `key`, or one that `ssh` takes."""
    for file in [key] if key else [f"~/.ssh/id_{kind}" for kind in ("ed25519", "ecdsa", "rsa")]:
        try:
            asyncssh.read_private_key(Path(file).expanduser())
        except asyncssh.KeyImportError as error:
            if "assphrase" in str(error):
                return file
        except OSError:
            continue
    return None


def _end_of(started):
    process = started.process
    if process.exit_signal:
        return f"its process was ended by SIG{process.exit_signal[0]}"
    if process.exit_status is None:
        return f"the connection to {started.host} was lost"
    return f"its process on {started.host} ended with exit code {process.exit_status}"
