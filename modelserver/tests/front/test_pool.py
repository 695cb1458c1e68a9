"""The pool without processes: what it does, and logs, when a worker ends."""

import asyncio
import itertools
import logging
import time
from types import SimpleNamespace

from modelserver.front import pool
from modelserver.front.metrics import Metrics
from modelserver.front.queue import RequestQueue


class Worker:
    """What the pool sees of a worker, which ends when `die` is called."""

    pids = itertools.count(1)

    def __init__(self, answered, lost):
        self._on_lost, self.pid = lost, next(self.pids)
        self.lost, self.batch, self.why, self.programs, self.born = False, None, "", set(), time.monotonic()
        self.started = asyncio.get_running_loop().create_future()
        self.transport = SimpleNamespace(get_returncode=lambda: -9, close=lambda: None)

    async def start(self, settings):
        self.started.set_result(None)

    def die(self):
        self.lost = True
        self._on_lost(self)

    close = die

    def kill(self, why):
        self.lost = True


def test_a_killed_worker_is_one_warning_in_the_log_and_another_answers(monkeypatch, caplog):
    monkeypatch.setattr(pool, "WorkerProcess", Worker)
    monkeypatch.setattr(Worker, "pids", itertools.count(1))
    monkeypatch.setattr(logging.getLogger("modelserver"), "propagate", True)
    metrics = Metrics()

    async def main():
        workers = pool.Pool(1, {}, 100.0, 30.0, RequestQueue(9, 99, 8), metrics)
        workers.start()
        while workers.pids != [1]:
            await asyncio.sleep(0)
        workers._workers[0].die()
        while workers.pids != [2]:
            await asyncio.sleep(0)
        await workers.close()

    with caplog.at_level(logging.INFO, "modelserver"):
        asyncio.run(main())
    assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
        ("modelserver.front.pool", "INFO", "worker 1 answers"),
        ("modelserver.front.pool", "WARNING", "worker 1 ended (status -9); another is started"),
        ("modelserver.front.pool", "INFO", "worker 2 answers"),
    ]
    assert metrics.workers_lost == 1
