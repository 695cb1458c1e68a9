"""The limit: a server and plain worker processes on blocking TLS sockets, the same step, and nothing else.

No counting of who sent what, no silence noticed, no checks, no records: what any of those costs shows in the ratio.
"""

import multiprocessing
import socket
import struct
import sys
import threading
import time
from contextlib import contextmanager
from itertools import pairwise

import torch

from course.cluster.certificates import new_certificate, security
from course.training import batch_generator

_VERSION = struct.Struct("<Q")
_PATIENCE = 120  # seconds: a hang becomes an error


@contextmanager
def bare_sockets(problem, optimizer, workers=2):
    """Yield `rate(steps, mode)`: updates a second of one run; the processes stay in between.

    `mode`: "async", "sync", or "none": each worker computes its share of the gradients and tells nobody.
    """
    made, started = new_certificate(), []
    forked = sys.platform == "linux"  # to import PyTorch in each takes six seconds of a core
    context = multiprocessing.get_context("fork" if forked else "spawn")

    def start(function, *arguments):
        ours, theirs = context.Pipe()
        inherited = [ours, *(pipe for _, pipe in started)] if forked else []
        process = context.Process(
            target=_child, args=(inherited, function, *arguments, problem, made, theirs), daemon=True
        )
        process.start()
        theirs.close()
        started.append((process, ours))
        return ours

    server = start(_server, optimizer, workers)
    others = [start(_worker, index) for index in range(workers)]
    address = _told(server)

    def rate(steps, mode="async"):
        if mode == "none":
            for pipe in others:
                pipe.send((None, steps // workers))
            return steps / max(_told(pipe) for pipe in others)
        server.send((steps, mode))
        for pipe in others:
            pipe.send((address, steps))
        return _told(server)

    try:
        yield rate
    finally:
        for process, pipe in started:
            pipe.close()  # its recv ends the process
            process.join(10)
            if process.is_alive():
                process.kill()
                process.join()


def _child(inherited, function, *arguments):
    for pipe in inherited:  # as long as one end is open anywhere, the other sees no end
        pipe.close()
    function(*arguments)


def _told(pipe):
    if not pipe.poll(_PATIENCE):
        raise TimeoutError(f"the bare-socket processes said nothing for {_PATIENCE} s")
    return pipe.recv()


# --- the server's process --------------------------------------------------------------------------------------------


def _server(optimizer, workers, problem, made, pipe):
    torch.set_num_threads(1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_PATIENCE)
        pipe.send(listener.getsockname())
        while (order := _next(pipe)) is not None:
            connections = [_tls(listener.accept()[0], made, server=True) for _ in range(workers)]
            pipe.send(_serve(problem, optimizer, connections, *order))


def _serve(problem, optimizer, connections, steps, mode):
    board = _Board(problem, optimizer, len(connections))
    everybody = threading.Barrier(len(connections) + 1)
    push = board.push if mode == "async" else board.push_with_the_others

    def serve(worker, connection):
        received, gradient = _frame(board.flat)
        sending, parameters = _frame(board.flat)
        gradients, told = board.views(gradient), 0
        everybody.wait(_PATIENCE)
        parameters.copy_(board.flat)
        with connection:
            while True:
                _VERSION.pack_into(sending, 0, told)
                connection.sendall(sending)
                if told >= steps:
                    return
                _fill(connection, received)
                told = push(worker, gradients, parameters)

    threads = [threading.Thread(target=serve, args=pair, daemon=True) for pair in enumerate(connections)]
    for thread in threads:
        thread.start()
    everybody.wait(_PATIENCE)
    started = time.perf_counter()
    for thread in threads:
        thread.join(_PATIENCE)
    return board.version / (time.perf_counter() - started)


class _Board:
    """Parameters as views of one flat tensor, so that a pull is one copy."""

    def __init__(self, problem, optimizer, workers):
        first = problem.initial()
        self.flat = torch.cat([value.detach().flatten() for value in first.values()])
        self._shapes = [value.shape for value in first.values()]
        self._parameters = [view.requires_grad_() for view in self.views(self.flat)]
        self._optimizer, self._workers, self.version = optimizer(self._parameters), workers, 0
        self._changed, self._kept = threading.Condition(), {}

    def views(self, flat):
        return _views(flat, self._shapes)

    def push(self, worker, gradients, into):
        with self._changed:
            self._apply(gradients)
            into.copy_(self.flat)
            return self.version

    def push_with_the_others(self, worker, gradients, into):
        with self._changed:
            self._kept[worker], mine = gradients, self.version
            if len(self._kept) == self._workers:
                each = [self._kept[worker] for worker in sorted(self._kept)]
                self._apply([sum(part) / len(each) for part in zip(*each, strict=True)])
                self._kept.clear()
                self._changed.notify_all()
            elif not self._changed.wait_for(lambda: self.version > mine, _PATIENCE):
                raise TimeoutError("the others did not push")
            into.copy_(self.flat)
            return self.version

    def _apply(self, gradients):
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            parameter.grad = gradient
        self._optimizer.step()
        self.version += 1


# --- a worker's process ----------------------------------------------------------------------------------------------


def _worker(index, problem, made, pipe):
    torch.set_num_threads(1)
    while (order := _next(pipe)) is not None:
        _work(index, problem, made, pipe, *order)


def _work(index, problem, made, pipe, address, steps):
    first = problem.initial()
    flat = torch.cat([value.flatten() for value in first.values()])
    shapes = [value.shape for value in first.values()]
    received, parameters = _frame(flat)
    sending, out = _frame(flat)
    parameters.copy_(flat)
    leaves = [view.requires_grad_() for view in _views(parameters, shapes)]
    named, outputs, generator = dict(zip(first, leaves, strict=True)), _views(out, shapes), torch.Generator()

    def compute(version):
        batch = problem.batch(index, version, batch_generator(0, index, version, generator))
        gradients = torch.autograd.grad(problem.loss(named, batch), leaves)
        for output, gradient in zip(outputs, gradients, strict=True):
            output.copy_(gradient)

    if address is None:
        started = time.perf_counter()
        for version in range(steps):
            compute(version)
        pipe.send(time.perf_counter() - started)
        return
    with _tls(socket.create_connection(address, _PATIENCE), made) as connection:
        while True:
            _fill(connection, received)
            version = _VERSION.unpack_from(received)[0]
            if version >= steps:
                return
            compute(version)
            connection.sendall(sending)


# --- both ------------------------------------------------------------------------------------------------------------


def _next(pipe):
    try:
        return pipe.recv()
    except EOFError:
        return None


def _views(flat, shapes):
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + shape.numel())
    return [flat[a:b].view(shape) for (a, b), shape in zip(pairwise(ends), shapes, strict=True)]


def _frame(flat):
    """Return a buffer of a version and `flat`'s numbers, and the tensor over those."""
    buffer = bytearray(_VERSION.size + flat.nbytes)
    return buffer, torch.frombuffer(buffer, dtype=flat.dtype, offset=_VERSION.size)


def _fill(connection, buffer):
    view = memoryview(buffer)
    while len(view):
        count = connection.recv_into(view)
        if not count:
            raise ConnectionError("the other side has gone")
        view = view[count:]


def _tls(connection, made, server=False):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(_PATIENCE)
    arguments = security(made).get_listen_args("worker") if server else security(made).get_connection_args("worker")
    return arguments["ssl_context"].wrap_socket(connection, server_side=server)
