"""The worker's part of a process that was started by hand: its loop, at the shards that the chief names."""

import ssl
import threading
import time
from collections.abc import Callable, Sequence

from course.training.multihost.worker_reports import OwnParameters, OwnSummaries
from course.training.problems.problem import Problem
from course.training.records import Misfit, Route, ShardAddresses, described
from course.training.worker.worker_loop import run_worker

#: Between two starts of a role's worker loop for the same shards.
WORKER_LOOP_AGAIN = 0.5
#: For a role that can't take part to tell shard 0 so.
REFUSAL_TOLD = 3.0
#: For a role that ends to finish the gradient it is in, or to give up shards that are gone.
GRADIENT_ENDS = 5.0


class WorkerThread:
    """Runs worker number `worker`'s loop in a thread, one at a time; close it.

    `context`, `device`: as for `run_worker`. `route`: this process's way to the shards, None: straight. `say`: gets a
    line on why a loop ended that begins again; for one that never came to work, once for the same shards. `reports`:
    each is told of every gradient, in the loop's thread, and closed at the end.
    """

    def __init__(
        self,
        problem: Problem,
        worker: int,
        seed: int,
        context: ssl.SSLContext | None,
        device: str | None = None,
        route: Route | None = None,
        say: Callable[[str], object] = str,
        reports: Sequence[OwnParameters | OwnSummaries] = (),
    ):
        self._problem, self._reports = _Parking(problem, reports), reports
        self._seed, self._context, self._worker, self._device = seed, context, worker, device
        self._route, self._say, self._announced = route, say, None
        self._addresses: ShardAddresses | None = None
        self._thread: threading.Thread | None = None
        self._over, self._started = False, 0.0
        self._own = described(problem.initial())

    def follow(self, addresses: ShardAddresses | None) -> None:
        """See that the loop runs for the shards at `addresses` (None: there are none yet). Quick; call it often."""
        if addresses != self._addresses:
            self._addresses, self._over = addresses, False
        elif self._over or (self._thread is not None and self._thread.is_alive()):
            return
        elif time.monotonic() - self._started < WORKER_LOOP_AGAIN:
            return
        if addresses is not None:
            self._started = time.monotonic()
            self._thread = threading.Thread(target=self._work, args=(addresses,), name="worker's loop", daemon=True)
            self._thread.start()

    def check(self, addresses: ShardAddresses | None) -> None:
        """Raise Misfit where this worker's parameters are not those at `addresses`, as soon as shard 0 has been told.

        Its process can neither work for this training nor be its chief.
        """
        misfit = addresses and addresses.misfit(self._own)
        if misfit and self._thread is not None:
            self._thread.join(REFUSAL_TOLD)
            raise Misfit(f"worker {self._worker} can't take part in this training: {misfit}")

    def close(self) -> None:
        """Have the loop stand still before its next gradient: the process is about to end. Idempotent.

        (A thread that is in the middle of PyTorch's own code when Python ends would abort the process.)
        """
        self._problem.leaving.set()
        deadline = time.monotonic() + GRADIENT_ENDS
        while self._thread is not None and self._thread.is_alive() and time.monotonic() < deadline:
            if self._problem.parked.wait(0.05):
                break
        for report in self._reports:
            report.close()

    def _work(self, addresses):
        reached, sent = addresses.by(self._route), 0
        try:
            report = run_worker(self._problem, self._worker, reached, self._seed, self._context, self._device)
            ended, sent = report.ended, report.sent
        except Exception as error:  # the problem's code: the loop has sent it to shard 0, and the chief reports it
            ended = str(error)
        if addresses == self._addresses:
            # a loop that lost its shards begins again, for as long as the chief names no others
            self._over = not ended.startswith("lost")
            if ended.startswith("refused"):
                self._say(ended)
            if not self._over and (sent or self._announced != addresses):
                self._announced = addresses
                self._say("{} (at {}:{}); it tries again".format(ended, *reached.endpoints[0]))


class _Parking:
    """A problem whose next batch never comes once `leaving` is set; the thread that waits for it is `parked`.

    `reports` are told of each loss.
    """

    def __init__(self, problem, reports):
        self._problem, self.leaving, self.parked = problem, threading.Event(), threading.Event()
        self._reports, self._version, self.initial = reports, 0, problem.initial

    def batch(self, worker, version, generator):
        if self.leaving.is_set():
            self.parked.set()
            threading.Event().wait()
        self._version = version
        return self._problem.batch(worker, version, generator)

    def loss(self, parameters, batch):
        loss = self._problem.loss(parameters, batch)
        for report in self._reports:
            report.gradient(self._version, parameters, loss.item())
        return loss
