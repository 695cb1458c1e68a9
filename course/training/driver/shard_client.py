"""The session's talk with its shards: look, cut a snapshot, stop; and what happens in the tasks for it."""

import secrets
import signal
import threading
import time
from contextlib import contextmanager

import numpy

from course.training.checkpoint.snapshot import Snapshot
from course.training.records.addresses import ShardAddresses
from course.training.records.errors import ShardLost
from course.training.records.result import RECORD
from course.training.server.shard_server import open_server
from course.training.server.sharding import spread
from course.training.server.store import ParameterServer
from course.training.transport.wire import SILENCE, connect
from course.training.worker.worker_loop import run_worker

START = 60.0  # seconds for a task to answer at the start: a first optimiser imports a lot, and laptops are busy
_OTHERS = 0.25  # seconds between two looks at the shards other than shard 0
_SNAPSHOT = 1 << 32  # bytes: what the length of a frame can say
_HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def open_shards(cluster, ps_tasks, problem, optimizer, settings, incarnation=0, snapshot=None):
    """Within the `with`, shards of the problem's parameters run in `ps_tasks`; yields the `ShardClient` with them.

    `snapshot`: start from it instead of the problem's first parameters. Raises ShardLost for a task that doesn't
    answer; ValueError, before anything is started, for an optimiser that can't be sharded, or a snapshot of others.
    """
    parameters = problem.initial()
    ParameterServer(parameters, optimizer, state=snapshot)  # raises what every shard would raise, here and now
    names = spread(parameters, len(ps_tasks), settings.placement)
    tasks, token = tuple(ps_tasks[: len(names)]), secrets.token_hex(8)
    openings = []
    for shard, (task, held) in enumerate(zip(tasks, names, strict=True)):
        start = None if snapshot is None else snapshot.part(held)
        part = {name: parameters[name] for name in held}
        with cluster.at(task):
            arguments = (part, optimizer, settings, token, shard, len(names), incarnation, start)
            openings.append(cluster.client.submit(_open_in_task, *arguments, pure=False))
    endpoints = tuple(tuple(_result(opening, task)) for opening, task in zip(openings, tasks, strict=True))
    addresses = ShardAddresses(endpoints, tasks, token, incarnation, tuple(map(tuple, names)), tuple(parameters))
    client = None
    try:
        client = ShardClient(addresses, context_of(cluster.client.security, "client"))
        client.link()
        yield client
    finally:
        if client is not None:
            client.close()


def attach(cluster, addresses, term):
    """Return a `ShardClient` with shards that another session opened, `addresses` it said; close it as your own.

    Shards obey the highest `term` that has come, and refuse older sessions by name. Raises ShardLost.
    """
    return ShardClient(addresses, context_of(cluster.client.security, "client"), term)


class ShardClient:
    """This process's connections to the shards of one training; they end with it. `addresses` is for the workers."""

    def __init__(self, addresses, context=None, term=0):
        self.addresses, self._channels, self._others_seen = addresses, [], time.monotonic()
        handshake = {"role": "session", "token": addresses.token, "incarnation": addresses.incarnation, "term": term}
        try:
            for number, address in enumerate(addresses.endpoints):
                with self._answers(number):
                    self._channels.append(connect(address, handshake, context, SILENCE))
        except BaseException:
            self.leave()
            raise

    def link(self):
        """Have shard 0 connect to the others: they follow it from now on."""
        if len(self._channels) > 1:
            self._ask(0, "LINK", payload=self.addresses.endpoints[1:])

    def poll(self, since, events=0):
        """Return (status, records from number `since` on): a dict, and an array of `RECORD`.

        `events`: the number of the first of `status["events"]` wanted. Raises ShardLost.
        """
        if time.monotonic() - self._others_seen > _OTHERS:
            self._others_seen = time.monotonic()
            for number in range(1, len(self._channels)):
                self._poll_shard(number)
        return self._poll_shard(0, since, events)

    def parameters(self):
        """Return copies of the present parameters, all of one version: name to tensor."""
        return self._cut(full=False).parameters

    def snapshot(self):
        """Return the `Snapshot` of this moment: every shard's state at one version."""
        return self._cut(full=True)

    def stop(self):
        """End the training on every shard; the parameters can still be asked for."""
        with self._answers(0):
            self._channels[0].send("STOP")

    def close(self):
        """End the shards and close the connections. Idempotent."""
        for channel in self._channels:
            try:
                channel.send("BYE!")
            except (OSError, ValueError):
                continue  # it has gone already
        self.leave()

    def leave(self):
        """Close the connections; the shards wait for another session as long as their `grace`. Idempotent."""
        for channel in self._channels:
            channel.close()

    def _poll_shard(self, number, since=0, events=0):
        status = self._ask(number, "LOOK", since, events).text()
        with self._answers(number):
            rows = self._channels[number].receive()
        ended = status["ended"]
        if ended and ended["why"] == "shard":
            raise ShardLost(self.addresses.tasks[ended["shard"]], ended["text"])
        return status, numpy.frombuffer(rows.payload, dtype=RECORD)

    def _cut(self, full):
        first = self._ask(0, "SNAP", int(full))
        parts = [first] + [self._ask(number, "TAKE", first.number) for number in range(1, len(self._channels))]
        return Snapshot.merge([Snapshot.from_bytes(part.payload) for part in parts], self.addresses.parameters or None)

    def _ask(self, shard, kind, number=0, sequence=0, payload=b""):
        with self._answers(shard):
            self._channels[shard].send(kind, number, sequence=sequence, payload=payload)
            return self._channels[shard].receive(_SNAPSHOT)

    @contextmanager
    def _answers(self, number):
        try:
            yield
        except OSError as error:
            raise ShardLost(self.addresses.tasks[number], str(error) or "no answer") from error


def _result(future, task):
    try:
        return future.result(timeout=START)
    except TimeoutError as error:
        raise ShardLost(task, f"it has not answered for {START:.0f} s; it may be busy, frozen or gone") from error
    except OSError as error:
        raise ShardLost(task, f"it could not open a port: {error}") from error
    finally:
        future.release()  # or Dask would open another one when it replaces a task that died


def _open_in_task(parameters, optimizer, settings, token, shard, shards, incarnation, start):
    from distributed import get_worker

    here = get_worker()
    host = here.address.split("://")[-1].rsplit(":", 1)[0].strip("[]")
    server = open_server(
        parameters,
        optimizer,
        settings,
        token=token,
        shard=shard,
        shards=shards,
        incarnation=incarnation,
        start=start,
        contexts=(context_of(here.security, "worker", listen=True), context_of(here.security, "worker")),
        host=host,
    )
    return server.address


def run_worker_in_task(problem, worker, addresses, seed):
    """Run worker number `worker`'s loop in this Dask worker, until training ends or its shards are gone: `WorkerReport`."""
    from distributed import get_worker

    return run_worker(problem, worker, addresses, seed, context_of(get_worker().security, "worker"))


def context_of(security, role, listen=False):
    """Return the `ssl.SSLContext` that Dask itself would use, or None where the cluster speaks plain TCP."""
    arguments = security.get_listen_args(role) if listen else security.get_connection_args(role)
    return arguments.get("ssl_context")


@contextmanager
def unbroken():
    """Within the `with`, an interrupt (Ctrl-C, Jupyter's *Interrupt*, SIGTERM) waits until its end. Keep it short."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread alone
        return
    held = []
    before = {number: signal.signal(number, lambda number, frame: held.append(number)) for number in _HELD}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held[:1]:
            signal.raise_signal(number)
