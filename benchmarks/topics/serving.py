"""Serving: CPU and requests a second of a small model, what a heavier one gains from batches, latency at half load.

Each server runs beside its load generator on this machine: one front process and one that computes, or two processes of
a peer. CPU is of all the server's processes together.
"""

import json
import os
import sys
import tempfile
from contextlib import contextmanager

import psutil

from benchmarks.contest import LIMIT, OURS, Contest, Contestant, Together
from benchmarks.contestant import Work
from benchmarks.figures import Target
from benchmarks.load import grpc_load, http_load
from benchmarks.load.model_server import exported, served, started

_BINARY, _JSON, _LIT = "course serve, binary", "course serve, JSON", "LitServe, JSON"
_GRPC = "course serve, gRPC"
_FAST, _RAW = "FastAPI, JSON", "FastAPI, raw bytes"
_BATCHED, _SINGLE, _DIRECT = "batches up to 64", "batches of 1", "the program in process, batches of 32"
_CPU, _RATE = "CPU a request, 784-100-10", "Requests a second, 784-100-10"
_LATE = "99th percentile at half the peak, open loop"
_CALLERS = 32
#: Both take 5 ms and more for a batch of 32. The first is limited by arithmetic, as models of images are. The second is
#: limited by reading its weights, which costs a small batch nearly as much as a large one. Of 32 callers half wait in
#: the queue while the batch of the others runs: batches have 16 rows on average, of whatever model.
_HEAVY = {"convolutions": "two convolutions, 23 MFLOP a row", "dense": "three dense layers, 12 MFLOP a row"}


def contests(quick, places):
    """Yield contests: CPU a request, requests a second, a heavier model, the 99th percentile at half load."""
    small = tuple(Contestant(name, kind=OURS) for name in (_BINARY, _JSON, _GRPC))
    small += tuple(Contestant(name) for name in (_FAST, _RAW, _LIT))
    targets = (Target(_BINARY, most=0.12), Target(_JSON, most=0.25), Target(_GRPC, _BINARY, most=10))
    named = [Contest(_CPU, "ms", small, "less", targets=targets)]
    targets = (Target(_JSON, _LIT, least=1.5), Target(_JSON, _FAST, least=1.5))
    named.append(Contest(_RATE, "requests/s", small, targets=targets))
    heavy = (*(Contestant(name, kind=OURS) for name in (_BATCHED, _SINGLE)), Contestant(_DIRECT, kind=LIMIT))
    targets = (Target(_BATCHED, _DIRECT, least=0.6),)
    named += [Contest(_rows(kind), "rows/s", heavy, targets=targets) for kind in _HEAVY]
    late = (Contestant(_BINARY, kind=OURS),)
    named.append(Contest(_LATE, "ms", late, "less", targets=(Target(_BINARY, most=25),)))
    with tempfile.TemporaryDirectory() as models:
        yield Together(_servers(quick, models), tuple(named), rounds=2 if quick else 5)


def _servers(quick, models):
    """Return a contestant for each way to serve; what one server can show is shown by one."""
    count, here = 2400 if quick else 6400, f"{__name__}:"

    def one(name, what, kind="peer", needs="", **more):
        return Contestant(name, here + what, more, kind, needs)

    return (
        one("course serve", "ours", OURS, models=models, count=count),
        one("FastAPI", "fastapi", needs="fastapi", count=count),  # these two start while the networks are exported
        one("LitServe", "litserve", needs="litserve", count=count),
        one(_DIRECT, "direct", models=models),
        one("course serve --largest 1", "single", OURS, models=models, count=count // 8),
        one("course serve, half load", "half_load", OURS, models=models, count=count, seconds=2 if quick else 5),
    )


def _rows(kind):
    return f"Rows a CPU second, generator included, {_HEAVY[kind]}"


@contextmanager
def ours(models, count):
    """`python -m course serve` with one worker: the small model asked in three ways, and the heavier ones."""
    with served(models) as server:

        def run():
            requests = {_BINARY: (_sent("small", "binary"), count), _JSON: (_sent("small", "json"), count)}
            found = _small(server, requests)
            for title, figure in _by_grpc(server, count // 4).items():
                found[title][_GRPC] = figure
            return found | {_rows(kind): {_BATCHED: _rows_of(server, kind, count // 4)} for kind in _HEAVY}

        yield Work(run, figures=True, warm_ups=1)


@contextmanager
def single(models, count):
    """The same, with batches of one row."""
    with served(models, "--largest", "1") as server:
        run = lambda: {_rows(kind): {_SINGLE: _rows_of(server, kind, count)} for kind in _HEAVY}  # noqa: E731
        yield Work(run, figures=True, warm_ups=1)


@contextmanager
def half_load(models, count, seconds):
    """Latency from the scheduled time, at half the closed loop's rate; a run whose generator was late is done again."""
    with served(models) as server:
        sent = _sent("small", "binary")
        http_load.closed(server.port, sent, count, _CALLERS)
        peak = count / http_load.closed(server.port, sent, count, _CALLERS).seconds

        def run():
            for seed in range(4):
                load = http_load.opened(server.port, sent, peak / 2, seconds, seed)
                if load.late < 0.005 and load.refused:
                    raise RuntimeError(f"{load.refused} of {len(load.latencies) + load.refused} were refused")
                if load.late < 0.005:
                    return {_LATE: {_BINARY: 1e3 * http_load.percentile(load.latencies, 99)}}
            raise RuntimeError(f"the generator was late by {1e3 * load.late:.1f} ms: the machine is too busy")

        yield Work(run, figures=True, warm_ups=0)


def fastapi(count):
    """FastAPI with two processes, asked in two forms."""
    flags = "--factory --workers 2 --no-access-log --log-level error --port".split()
    requests = {_FAST: (_post("/json", _rows_as_json()), count // 4), _RAW: (_post("/bytes", bytes(3136)), count)}
    return _peer(["uvicorn", "benchmarks.peers.fastapi_server:made", *flags], "/json", requests)


def litserve(count):
    """LitServe."""
    requests = {_LIT: (_post("/predict", _rows_as_json()), count // 4)}
    return _peer(["benchmarks.peers.litserve_server"], "/predict", requests)


@contextmanager
def _peer(program, path, requests):
    with started([sys.executable, "-m", *program], path) as server:
        yield Work(lambda: _small(server, requests), figures=True, warm_ups=1)


def direct(models):
    """The exported programs, called in this process."""
    import torch

    torch.set_num_threads(1)
    folder, rows = exported(models), torch.rand(32, 784)
    programs = {kind: torch.export.load(next((folder / kind).glob("**/program.pt2"))).module() for kind in _HEAVY}

    def rate(run):
        return 640 / _cpu_of([os.getpid()], lambda: [run(image=rows) for _ in range(20)])[0]

    def run():
        with torch.inference_mode():
            return {_rows(kind): {_DIRECT: rate(program)} for kind, program in programs.items()}

    return Work(run, figures=True, warm_ups=1)


def _small(server, requests):
    """Return the milliseconds of CPU a request, and requests a second, of {name: (a request's bytes, how often)}."""
    found = {_CPU: {}, _RATE: {}}
    for name, (sent, count) in requests.items():
        cpu, load = _loaded(server, sent, count, server.pids())
        found[_CPU][name], found[_RATE][name] = 1e3 * cpu / count, count / load.seconds
    return found


def _by_grpc(server, count):
    """Return the same two figures of requests over gRPC."""
    sent = grpc_load.message("small", bytes(3136))
    cpu, load = _cpu_of(server.pids(), lambda: grpc_load.closed(server.grpc_port, sent, count, _CALLERS))
    return {_CPU: 1e3 * cpu / count, _RATE: count / load.seconds}


def _rows_of(server, kind, count):
    """Return the rows a second of CPU of the server and of this process."""
    return count / _loaded(server, _sent(kind, "binary"), count, [*server.pids(), os.getpid()])[0]


def _loaded(server, sent, count, pids):
    """Return the CPU seconds that the processes `pids` took for `count` requests, and the `Load`."""
    return _cpu_of(pids, lambda: http_load.closed(server.port, sent, count, _CALLERS))


def _cpu_of(pids, work):
    """Return the CPU seconds that these processes took while `work()` ran, and what it returned."""
    processes = [psutil.Process(pid) for pid in pids]
    before = sum(sum(one.cpu_times()[:2]) for one in processes)
    found = work()
    return sum(sum(one.cpu_times()[:2]) for one in processes) - before, found


def _numbers():
    return [round(0.001 * (at % 997), 6) for at in range(784)]


def _rows_as_json():
    return json.dumps({"rows": [_numbers()]}).encode()


def _post(path, body):
    return http_load.request(path, body, Content_Type="application/json")


def _sent(model, form):
    one = {"name": "image", "shape": [1, 784], "datatype": "FP32"}
    path = f"/v2/models/{model}/infer"
    if form == "json":
        return http_load.request(path, json.dumps({"inputs": [one | {"data": _numbers()}]}).encode())
    told = {"inputs": [one | {"parameters": {"binary_data_size": 3136}}], "parameters": {"binary_data_output": True}}
    head = json.dumps(told).encode()
    return http_load.request(path, head + bytes(3136), Inference_Header_Content_Length=len(head))
