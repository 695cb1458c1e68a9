"""The session's talk with its shards: open them in the ps tasks, look, pull, stop; and what a worker task runs."""

from contextlib import contextmanager
from dataclasses import dataclass

import numpy

from course.training.result import RECORD
from course.training.server import open_server
from course.training.wire import Layout, connect
from course.training.worker import work

START = 20.0  # seconds for a task to answer at the start: a busy laptop, not a hang
SILENCE = 3.0  # seconds without an answer from a shard before it counts as lost


class TrainingError(RuntimeError):
    """Training can't go on: the message names the task and what happened to it."""


class ShardLost(TrainingError):
    """A ps task that held parameters is gone or silent: `task` says which, `reason` what was seen."""

    def __init__(self, task, reason):
        super().__init__(
            f"{task}, the parameter server, is lost: {reason}. The parameters were only there; call train again to "
            "start over (the cluster replaces a task that died), or give a checkpoint_dir to go on by itself."
        )
        self.task, self.reason = task, reason


@dataclass(frozen=True)
class Where:
    """What a worker's loop, or another session, needs in order to find this training; it can be pickled.

    `addresses`: (host, port) of every shard, shard 0 first; `tasks`: their names.
    """

    addresses: tuple[tuple[str, int], ...]
    tasks: tuple[str, ...]
    token: str
    incarnation: int = 0


@contextmanager
def open_talk(cluster, ps_tasks, problem, optimizer, settings, incarnation=0, snapshot=None):
    """Within the `with`, shards of the problem's parameters run in `ps_tasks`; yields the `Talk` with them.

    `snapshot`: start from it instead of the problem's first parameters. Raises ShardLost for a task that doesn't
    answer, ValueError for an optimiser that can't be sharded.
    """
    parameters = problem.initial()
    task = ps_tasks[0]
    with cluster.at(task):
        opening = cluster.client.submit(_open_in_task, parameters, optimizer, settings, pure=False)
    address, token = _result(opening, task)
    opening.release()  # or Dask would open another one when it replaces a task that died
    where = Where((tuple(address),), (task,), token, incarnation)
    talk = Talk(where, Layout.of(parameters), context_of(cluster.client.security, "client"))
    try:
        yield talk
    finally:
        talk.close()


class Talk:
    """This process's connections to the shards of one training; they end with it. `where` is for the workers."""

    def __init__(self, where, layout, context):
        self.where, self._task = where, where.tasks[0]
        hello = {"role": "session", "token": where.token, "layout": layout.as_json()}
        try:
            self._channel = connect(where.addresses[0], hello, context, SILENCE)
        except OSError as error:
            raise ShardLost(self._task, f"it opened, but can't be reached: {error}") from error
        self._channel.agree(layout)

    def look(self, since):
        """Return (status, records from number `since` on): a dict, and an array of `RECORD`."""
        with self._answers():
            self._channel.send("LOOK", since)
            status, rows = self._channel.receive(), self._channel.receive()
        return status.text(), numpy.frombuffer(rows.payload, dtype=RECORD)

    def parameters(self):
        """Return copies of the present parameters: name to tensor."""
        with self._answers():
            self._channel.send("PULL")
            self._channel.receive()
        return {name: value.clone() for name, value in self._channel.received.items()}

    def snapshot(self):
        """Return the `Snapshot` of this moment: every shard's state at one version."""
        raise NotImplementedError

    def stop(self):
        """End the training on every shard; the parameters can still be pulled."""
        with self._answers():
            self._channel.send("STOP")

    def close(self):
        """Close the connections; the shards end. Idempotent."""
        self._channel.close()

    @contextmanager
    def _answers(self):
        try:
            yield
        except OSError as error:
            raise ShardLost(self._task, str(error) or "no answer") from error


def _result(future, task):
    try:
        return future.result(timeout=START)
    except TimeoutError as error:
        future.cancel()
        raise ShardLost(task, f"it has not answered for {START:.0f} s; it may be busy, frozen or gone") from error


def _open_in_task(parameters, optimizer, settings):
    from distributed import get_worker

    here = get_worker()
    host = here.address.split("://")[-1].rsplit(":", 1)[0].strip("[]")
    context = context_of(here.security, "worker", listen=True)
    server = open_server(
        parameters,
        optimizer,
        settings.mode,
        settings.workers,
        settings.limit,
        settings.max_staleness,
        settings.aggregate,
        context=context,
        host=host,
    )
    return server.address, server.token


def work_in_task(problem, worker, where, seed):
    """Run worker number `worker`'s loop in this Dask worker, until training ends or its shards are gone."""
    from distributed import get_worker

    context = context_of(get_worker().security, "worker")
    return work(problem, worker, where.addresses[0], where.token, seed, context)


def context_of(security, role, listen=False):
    """Return the `ssl.SSLContext` that Dask itself would use, or None where the cluster speaks plain TCP."""
    arguments = security.get_listen_args(role) if listen else security.get_connection_args(role)
    return arguments.get("ssl_context")
