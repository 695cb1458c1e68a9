"""A worker's loop: receive parameters, compute one gradient, push it, receive again; over broken connections too."""

import logging
import secrets
import ssl
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from course.training.problems.problem import Problem, batch_generator
from course.training.records import Misfit, ShardAddresses, described, exits_as_errors, in_words
from course.training.transport.layout import Layout
from course.training.transport.wire import Refused, connect
from course.training.worker.device import DeviceLeaves
from course.training.worker.shard_connections import ShardConnections

#: A worker whose connections broke tries again for so long: longer than a shard needs to count the old ones out.
WORKER_RECONNECTS = 6.0
#: … where the connection is refused: no process listens there any more, and another shard is on its way.
WORKER_RECONNECTS_REFUSED = 1.0
#: Between two such attempts.
WORKER_RECONNECTS_EVERY = 0.1

_LOG = logging.getLogger(__name__)

if TYPE_CHECKING:
    from course.cluster.tape.on_worker import Notes


@dataclass(frozen=True)
class WorkerReport:
    """What a worker's loop did: pushes `sent`, how many it knows were decided (`acknowledged`), and why it `ended`."""

    worker: int
    sent: int
    acknowledged: int
    ended: str


def run_worker(
    problem: Problem,
    worker: int,
    addresses: ShardAddresses,
    seed: int = 0,
    context: ssl.SSLContext | None = None,
    device: str | None = None,
    notes: "Notes | None" = None,
) -> WorkerReport:
    """Work for the training whose shards are at `addresses` until it says stop; on `device` (None: the CPU).

    `notes`: of the tape that records this process, None where none does.

    A connection that breaks is made again, for some seconds, in the same session: what was decided meanwhile is known
    then, and no gradient counts twice. Shards that are gone end the loop too: whether that is an error, the driver
    says. An exception in the problem's code is told to shard 0 and then raised; one that would end the process, such as
    SystemExit, as a TrainingError.
    """
    with exits_as_errors("the problem's code"):
        return _WorkerLoop(problem, worker, addresses, seed, context, device, notes).run()


class _WorkerLoop:
    def __init__(self, problem, worker, addresses, seed, context, device, notes):
        self.problem, self.worker, self.addresses, self.seed, self.context = problem, worker, addresses, seed, context
        self.device, self.notes = device, notes
        self.session, self.attempt = secrets.token_hex(8), 0
        self.sent = self.acknowledged = 0
        self._unanswered = None  # the number of the push whose fate is not known here
        self._broken_since = None  # when the connection was first seen to be broken; None while it is whole
        parameters = problem.initial()
        self._names = list(parameters)
        layout, self._misfit = Layout.of(parameters), addresses.misfit(described(parameters))
        names = addresses.names if self._misfit is None else ()
        self._layouts = [layout.part(names) for names in names] if names else [layout]

    def run(self):
        while True:
            try:
                if self._misfit is not None:
                    self._tell_misfit()
                with closing(self._connected()) as connections:
                    self._work(connections)
                    return self._report("stopped")
            except _Failed as failed:
                raise failed.error from None
            except Refused as error:
                return self._report(f"refused: {error}")
            except OSError as error:
                # a refused connection: no process listens there any more
                limit = WORKER_RECONNECTS_REFUSED if isinstance(error, ConnectionRefusedError) else WORKER_RECONNECTS
                if self._broken_since is None:
                    _LOG.info("worker %d lost its shards (%s) and tries again for %.0f s", self.worker, error, limit)
                # not since the last answer: a process that was frozen wakes up with that long ago
                self._broken_since = self._broken_since or time.monotonic()
                if time.monotonic() - self._broken_since > limit:
                    return self._report(f"lost the parameter server: {error}")
                time.sleep(WORKER_RECONNECTS_EVERY)

    def _tell_misfit(self):
        """Tell shard 0 why this worker can't take part, and raise that; the driver hears of it."""
        with closing(connect(self.addresses.endpoints[0], self._handshake(), self.context)) as channel:
            channel.send("FAIL", payload=self._misfit.encode())
        raise _Failed(Misfit(f"worker {self.worker} can't take part in this training: {self._misfit}"))

    def _report(self, ended):
        ended = ended.rstrip(".")
        _LOG.info("worker %d: %s, after %d pushes", self.worker, ended, self.sent)
        return WorkerReport(self.worker, self.sent, self.acknowledged, ended)

    def _handshake(self):
        self.attempt += 1
        fields = {"role": "worker", "worker": self.worker, "token": self.addresses.token}
        return fields | {"incarnation": self.addresses.incarnation, "session": self.session, "attempt": self.attempt}

    def _connected(self):
        fields, to = self._handshake(), self.addresses
        _LOG.debug("worker %d connects to %s, attempt %d", self.worker, to.endpoints, self.attempt)
        return ShardConnections(to.endpoints, self._layouts, fields, self.context, share=not to.routed)

    def _work(self, connections):
        # the views of the receiving buffers: each answer overwrites them in place, between two gradients
        leaves = DeviceLeaves({name: connections.parameters[name] for name in self._names}, self.device)
        outputs = [connections.gradients[name] for name in self._names]
        generator = torch.Generator()
        while True:
            answer = connections.receive()
            received = self.notes.clock() if self.notes else 0.0
            self._learn(answer)
            if answer.version is None:
                connections.bye(self.sent, self.acknowledged)
                return
            try:
                loss, gradients = self._gradient(leaves, answer.version, generator)
            except BaseException as error:  # the problem's code may raise anything; the driver reports it
                connections.fail(in_words(error))
                raise _Failed(error) from error
            for output, gradient in zip(outputs, gradients, strict=True):
                output.copy_(gradient)
            self.sent += 1
            self._unanswered = self.sent
            connections.push(loss, self.sent, self.acknowledged)
            if self.notes:
                self.notes.gradient(received, answer.version)

    def _learn(self, answer):
        """Note that the connections are whole, and what became of the last push: decided, or lost with them."""
        if self._unanswered is not None and self._unanswered == answer.taken:
            self.acknowledged += 1
        self._unanswered = self._broken_since = None

    def _gradient(self, leaves, version, generator):
        seeded = batch_generator(self.seed, self.worker, version, generator)
        return leaves.gradient(self.problem, self.problem.batch(self.worker, version, seeded))


class _Failed(Exception):
    """The problem's code raised `error`, which may be an OSError itself: not one of the connections'."""

    def __init__(self, error):
        self.error = error
