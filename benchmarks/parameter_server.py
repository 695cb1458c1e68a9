"""Regression steps a second over TLS: a parameter server and 2 workers, beside bare sockets and a Dask Actor."""

import multiprocessing
import socket
import statistics
import struct
import threading
import time
from functools import partial

import torch

from benchmarks.report import Row
from course.cluster import local_cluster
from course.cluster.certificates import new_certificate, security
from course.training import ParameterServer, batch_generator, linear_regression, train

_STEPS, _REPEATS, _WORKERS = 3000, 3, 2
_SGD = partial(torch.optim.SGD, lr=0.02)
_FRAME = struct.Struct("<Qff")  # version, slope, intercept: all that a step has to move


def rows():
    """Yield the figures; each is the median of runs that take turns, so that a busy moment hits all alike."""
    problem = linear_regression()
    with local_cluster(ps=1, worker=_WORKERS) as cluster:
        forms = {
            "async": lambda: train(problem, cluster, optimizer=_SGD, total_steps=_STEPS).steps_per_second,
            "sync": lambda: (
                train(problem, cluster, optimizer=_SGD, mode="sync", total_steps=_STEPS // 3).steps_per_second
            ),
            "bare": lambda: _bare_sockets(problem),
            "actor": lambda: _actor(problem, cluster),
        }
        train(problem, cluster, optimizer=_SGD, total_steps=200)  # warm
        runs = {name: [] for name in forms}
        for _ in range(_REPEATS):
            for name, run in forms.items():
                runs[name].append(run())
    rate = {name: statistics.median(found) for name, found in runs.items()}
    yield Row("async, course.training", rate["async"], "steps/s", "bare sockets", rate["bare"], "≥0.8×")
    yield Row("async, course.training", rate["async"], "steps/s", "a Dask Actor", rate["actor"], "≥3×")
    yield Row("sync, course.training (2 gradients an update)", rate["sync"], "updates/s", "async", rate["async"])


# --- a Dask Actor: the usual way on Dask -----------------------------------------------------------------------------


class _StoreActor:
    def __init__(self, parameters, optimizer):
        self.store = ParameterServer(parameters, optimizer)

    def pull(self):
        return self.store.pull()

    def push_pull(self, gradients, version):
        return self.store.push_pull(gradients, version)


def _gradients(problem, worker, version, parameters, generator):
    leaves = {name: value.requires_grad_() for name, value in parameters.items()}
    loss = problem.loss(leaves, problem.batch(worker, version, batch_generator(0, worker, version, generator)))
    return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True)), loss.item()


def _work_for_actor(problem, worker, actor, steps):
    generator = torch.Generator()
    version, parameters = actor.pull().result()
    for _ in range(steps):
        gradients, _ = _gradients(problem, worker, version, parameters, generator)
        version, parameters = actor.push_pull(gradients, version).result()


def _actor(problem, cluster):
    with cluster.at("/job:ps/task:0"):
        actor = cluster.client.submit(_StoreActor, problem.initial(), _SGD, actor=True, pure=False).result(30)
    steps = _STEPS // _WORKERS // 4  # a slower form: fewer steps for the same precision
    started, futures = time.perf_counter(), []
    for worker in range(_WORKERS):
        with cluster.at(f"/job:worker/task:{worker}"):
            futures.append(cluster.client.submit(_work_for_actor, problem, worker, actor, steps, pure=False))
    for future in futures:
        future.result(120)
    return steps * _WORKERS / (time.perf_counter() - started)


# --- plain processes with bare sockets: the same step and nothing else -----------------------------------------------


def _bare_sockets(problem):
    context = multiprocessing.get_context("spawn")  # a fork after torch has started its threads may hang
    made, (ours, theirs) = new_certificate(), context.Pipe()
    server = context.Process(target=_bare_server, args=(problem, made, theirs), daemon=True)
    server.start()
    address = _told(ours)
    workers = [
        context.Process(target=_bare_worker, args=(problem, worker, address, made), daemon=True)
        for worker in range(_WORKERS)
    ]
    for process in workers:
        process.start()
    rate = _told(ours)
    for process in (*workers, server):
        process.join(30)
    return rate


def _told(pipe):
    if not pipe.poll(60):
        raise TimeoutError("the bare-socket processes said nothing for 60 s")
    return pipe.recv()


def _bare_server(problem, made, pipe):
    torch.set_num_threads(1)
    parameters = {name: value.requires_grad_() for name, value in problem.initial().items()}
    optimizer, lock, version = _SGD(list(parameters.values())), threading.Lock(), 0
    slope, intercept = parameters.values()
    everybody = threading.Barrier(_WORKERS + 1)

    def serve(connection):
        nonlocal version
        everybody.wait(60)
        connection.sendall(_FRAME.pack(0, slope.item(), intercept.item()))
        while True:
            _, slope_gradient, intercept_gradient = _FRAME.unpack(_read(connection))
            with lock:
                slope.grad, intercept.grad = torch.tensor(slope_gradient), torch.tensor(intercept_gradient)
                optimizer.step()
                version += 1
                told = version  # the other thread goes on counting
                frame = _FRAME.pack(told, slope.item(), intercept.item())
            connection.sendall(frame)
            if told >= _STEPS:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        pipe.send(listener.getsockname())
        connections = [_tls(listener.accept()[0], made, server=True) for _ in range(_WORKERS)]
        threads = [threading.Thread(target=serve, args=(connection,)) for connection in connections]
        for thread in threads:
            thread.start()
        everybody.wait(60)
        started = time.perf_counter()
        for thread in threads:
            thread.join(60)
        pipe.send(version / (time.perf_counter() - started))


def _bare_worker(problem, worker, address, made):
    torch.set_num_threads(1)
    generator = torch.Generator()
    with _tls(socket.create_connection(address, 60), made) as connection:
        while True:
            version, slope, intercept = _FRAME.unpack(_read(connection))
            if version >= _STEPS:
                return
            parameters = {"slope": torch.tensor(slope), "intercept": torch.tensor(intercept)}
            gradients, _ = _gradients(problem, worker, version, parameters, generator)
            connection.sendall(_FRAME.pack(version, gradients["slope"].item(), gradients["intercept"].item()))


def _tls(connection, made, server=False):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    arguments = security(made).get_listen_args("worker") if server else security(made).get_connection_args("worker")
    return arguments["ssl_context"].wrap_socket(connection, server_side=server)


def _read(connection):
    data = b""
    while len(data) < _FRAME.size:
        piece = connection.recv(_FRAME.size - len(data))
        if not piece:
            raise ConnectionError("the other side has gone")
        data += piece
    return data
