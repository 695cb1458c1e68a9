"""The driver's connections to its shards: open them in ps tasks, poll them, cut a snapshot, stop them."""

import secrets
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy
import torch

from course.signals import held_back
from course.training.checkpoint.snapshot import Snapshot
from course.training.driver.training_plan import TrainingPlan, spread
from course.training.records import (
    RECORD,
    Route,
    ShardAddresses,
    ShardLost,
    TrainingSettings,
    described,
    exits_as_errors,
)
from course.training.server.shard_server import ShardServer
from course.training.server.store import ParameterServer
from course.training.transport.wire import WIRE_SILENCE, Channel, connect, start_beating

#: For a ps task to open its shard: a first optimiser imports a lot, and laptops are busy.
SHARD_OPENS = 60.0
#: Between two polls of the other shards.
FOLLOWERS_POLLED_EVERY = 0.25

if TYPE_CHECKING:
    from distributed.security import Security

    from course.cluster.cluster import Cluster

_LONGEST = 1 << 48  # bytes of a snapshot: what the length of a frame can say


class ShardClient:
    """This process's connections to the shards of one training; they end with it. `addresses` is for the workers.

    `term`: of the chief's lease; shards refuse drivers of a lower one. `leaving`: a task that is about to end. `route`:
    this process's own way to the shards, None: straight. Raises ShardLost for a shard that is gone.
    """

    def __init__(
        self,
        addresses: ShardAddresses,
        context: ssl.SSLContext | None = None,
        term: int = 0,
        route: Route | None = None,
    ):
        self.addresses, self._followers_polled = addresses, time.monotonic()
        self.leaving: str | None = None
        self._channels: list[Channel] = []
        self._over = threading.Event()
        handshake = {"role": "driver", "token": addresses.token, "incarnation": addresses.incarnation, "term": term}
        try:
            for number, endpoint in enumerate(addresses.by(route).endpoints):
                with self._answers(number):
                    self._channels.append(connect(endpoint, handshake, context, WIRE_SILENCE))
        except BaseException:
            self.leave()
            raise
        start_beating(lambda: self._channels, self._over, "driver-heartbeat")

    def link(self) -> None:
        """Have shard 0 connect to the others: they follow it from now on."""
        if len(self._channels) > 1:
            self._ask(0, "LINK", payload=self.addresses.endpoints[1:])

    def order_copies(self, orders: Sequence[tuple[int, bool]], nbytes: int) -> None:
        """Have the shards keep copies for `snapshot_of`, from the next version on. Raises ShardLost.

        `orders`: each (every so many-th version, whether with the optimiser's state). `nbytes`: of all parameters.
        """
        self._ask(0, "ORDR", payload=[orders, nbytes])

    def poll(
        self, since: int, events: int = 0, wait: float = 0.0, told: int = 0
    ) -> tuple[dict[str, Any], numpy.ndarray]:
        """Return (status, records from number `since` on): a dict, and an array of `RECORD`.

        `events`: the number of the first of `status["events"]` wanted. `wait`: seconds until the answer, which
        comes at once where training has ended. `told`: copies up to this version are not needed. Raises ShardLost.
        """
        with held_back():
            if time.monotonic() - self._followers_polled > FOLLOWERS_POLLED_EVERY:
                self._followers_polled = time.monotonic()
                for number in range(1, len(self._channels)):
                    self._poll_shard(number)
            return self._poll_shard(0, since, events, wait, told)

    def parameters(self) -> dict[str, torch.Tensor]:
        """Return copies of the present parameters, all of one version: name to tensor. Raises ShardLost."""
        return self.snapshot(full=False).parameters

    def snapshot(self, full: bool = True) -> Snapshot:
        """Return the `Snapshot` of this moment, all of one version; not `full`: parameters alone. Raises ShardLost."""
        snapshot = self._cut("SNAP", int(full))
        assert snapshot is not None  # of this moment there always is one
        return snapshot

    def snapshot_of(self, version: int) -> Snapshot | None:
        """Return the `Snapshot` of a version that was ordered, once; None where it wasn't kept. Raises ShardLost."""
        return self._cut("KEPT", version)

    def _cut(self, kind, number):
        with held_back():
            first = self._ask(0, kind, number)
            if not first.payload:
                return None
            others = [self._ask(shard, "TAKE", first.number) for shard in range(1, len(self._channels))]
        parts = [Snapshot.from_bytes(part.payload) for part in (first, *others)]
        return Snapshot.merge(parts, list(self.addresses.parameters) or None)

    def stop(self) -> None:
        """End the training on every shard; the parameters can still be asked for. Raises ShardLost."""
        with held_back(), self._answers(0):
            self._channels[0].send("STOP")

    def close(self) -> None:
        """End the shards and close the connections. Idempotent."""
        for channel in self._channels:
            with suppress(OSError, ValueError):  # it has gone already
                channel.send("BYE!")
        self.leave()

    def leave(self) -> None:
        """Close the connections; the shards wait for another driver as long as their `grace`. Idempotent."""
        self._over.set()
        for channel in self._channels:
            channel.close()

    def _poll_shard(self, number, since=0, events=0, wait=0.0, told=0):
        status = self._ask(number, "POLL", since, events, told, wait).text()
        with self._answers(number):
            rows = self._channels[number].receive()
        ended = status["ended"]
        self.leaving = self.addresses.tasks[number] if status["leaving"] else self.leaving
        if ended and ended["why"] == "shard":
            raise ShardLost(self.addresses.tasks[ended["shard"]], ended["text"])
        return status, numpy.frombuffer(rows.payload, dtype=RECORD)

    def _ask(self, shard, kind, number=0, sequence=0, payload=b"", wait=0.0):
        with self._answers(shard):
            self._channels[shard].send(kind, number, wait, sequence, payload)
            return self._channels[shard].receive(_LONGEST)

    @contextmanager
    def _answers(self, number):
        try:
            yield
        except OSError as error:
            raise ShardLost(self.addresses.tasks[number], str(error) or "no answer") from error


@contextmanager
def open_shards(
    cluster: "Cluster",
    ps: Sequence[str],
    plan: TrainingPlan,
    settings: TrainingSettings,
    incarnation: int,
    snapshot: Snapshot | None,
    route: Route | None = None,
) -> Iterator[ShardClient]:
    """Within the `with`, shards of the plan's parameters run in the tasks `ps`; yields the `ShardClient` of them.

    `snapshot`: start from it instead of the problem's first parameters. `route`: as for `ShardClient`. Raises ShardLost
    for a task that doesn't answer; ValueError, before anything is started, for an optimiser that can't be sharded, or a
    snapshot of others.
    """
    parameters = plan.problem.initial()
    ParameterServer(parameters, plan.optimizer, state=snapshot)  # raises what every shard would raise, here and now
    tasks, names = _placed(parameters, ps, plan, settings.placement)
    token, settings = secrets.token_hex(8), replace(settings, placement="")  # a rule stays here: it may not travel
    openings = []
    for shard, (task, held) in enumerate(zip(tasks, names, strict=True)):
        options = {"token": token, "shard": shard, "shards": len(names), "incarnation": incarnation}
        options["start"] = None if snapshot is None else snapshot.part(held)
        part = {name: parameters[name] for name in held}
        with cluster.at(task):
            arguments = (part, plan.optimizer, settings, options)
            openings.append(cluster.client.submit(_open_in_task, *arguments, pure=False))
    endpoints = tuple(tuple(_result(opening, task)) for opening, task in zip(openings, tasks, strict=True))
    addresses = ShardAddresses(endpoints, tasks, token, incarnation, tuple(map(tuple, names)), described(parameters))
    context = context_of(cluster.client.security, "client")
    with closing(ShardClient(addresses, context, route=route)) as client:
        client.link()
        yield client


def _placed(parameters, ps, plan, placement):
    """Return the tasks of `ps` that keep parameters, and the names that each keeps.

    A rule speaks of all ps tasks of the plan: what it gives to one that doesn't answer is kept by the next that does.
    """
    if not callable(placement):
        names = spread(parameters, len(ps), placement)
        return tuple(ps[: len(names)]), names
    answering = [task for task in plan.ps if task in ps]
    held: dict[str, list[str]] = {}
    for index, names in enumerate(spread(parameters, len(plan.ps), placement)):
        task = next((task for task in plan.ps[index:] if task in ps), answering[0])
        held.setdefault(task, []).extend(names)
    held = {task: held[task] for task in answering if held.get(task)}
    return tuple(held), list(held.values())


def context_of(security: "Security", role: str, listen: bool = False) -> ssl.SSLContext | None:
    """Return the `ssl.SSLContext` that Dask itself would use, or None where the cluster speaks plain TCP."""
    arguments = security.get_listen_args(role) if listen else security.get_connection_args(role)
    return arguments.get("ssl_context")


def _result(future, task):
    from distributed import KilledWorker

    try:
        return future.result(timeout=SHARD_OPENS)
    except TimeoutError as error:
        raise ShardLost(task, f"it has not answered for {SHARD_OPENS:.0f} s; it may be busy, frozen or gone") from error
    except KilledWorker as error:
        raise ShardLost(task, f"it died each time it opened its shard; see cluster.log({task!r})") from error
    except OSError as error:
        raise ShardLost(task, f"it could not open a port: {error}") from error
    finally:
        future.release()  # or Dask would open another one when it replaces a task that died


def _open_in_task(parameters, optimizer, settings, options):
    from distributed import get_worker

    here = get_worker()
    host = here.address.split("://")[-1].rsplit(":", 1)[0].strip("[]")
    options |= {"contexts": (context_of(here.security, "worker", listen=True), context_of(here.security, "worker"))}
    with exits_as_errors("the optimiser"):
        where = {"host": host, "ports": here.ports, "route": here.routes}
        server = ShardServer(parameters, optimizer, settings, **options, **where)
        here.leavers.add(server)
        return server.address
