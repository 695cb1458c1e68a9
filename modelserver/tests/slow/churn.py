"""Requests without a pause while versions change and workers are killed: none may fail, each must be its version's."""

import random
import threading
from dataclasses import dataclass, field

import numpy
import torch

from modelserver import Client, ServingError
from modelserver.tests.served import PATIENCE, Digits, export_digits, until

#: Answers may be further than this from the version's own, in process, by rounding alone.
CLOSE = 1e-5


@dataclass
class Outcome:
    """What the callers saw: `answered` requests, by which `versions`; what `failed`, as texts."""

    answered: int = 0
    versions: set = field(default_factory=set)
    failed: list = field(default_factory=list)


class Callers:
    """`count` threads that ask without a pause, in a `with`; version n of the model must be `Digits(n)`."""

    def __init__(self, url, count=4):
        self.outcome, self._url, self._lock, self._stop = Outcome(), url, threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(seed,)) for seed in range(count)]
        self._modules = {}

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, seed):
        generator = torch.Generator().manual_seed(seed)
        with Client(self._url, deadline=PATIENCE) as client:
            while not self._stop.is_set():
                images = torch.rand(1 + seed % 3, 784, generator=generator)
                try:
                    answer = client.infer("digits", {"image": images.numpy()})
                    problem = "" if answer.attempts == 1 else f"asked {answer.attempts} times"
                    problem = problem or self._wrong(images, answer)
                except ServingError as error:
                    answer, problem = None, str(error)
                with self._lock:
                    self.outcome.answered += answer is not None
                    self.outcome.versions |= {answer.version} if answer else set()
                    self.outcome.failed += [problem] if problem else []

    def _wrong(self, images, answer):
        with self._lock:
            module = self._modules.setdefault(answer.version, Digits(answer.version))
        with torch.no_grad():
            apart = numpy.abs(module(images).numpy() - answer["scores"]).max()
        return "" if apart <= CLOSE else f"{apart} from version {answer.version}'s own answer"


def churn(served, directory, changes, kills, seed=0, say=lambda line: None):
    """Change the version `changes` times and kill a worker `kills` times under load; return the `Outcome`.

    `served`: a server of `directory`, in which version 1 of "digits" is `Digits(1)`, with two workers or more.
    """
    generator = random.Random(seed)
    killed_after = sorted(generator.choices(range(changes), k=kills))
    with Callers(served.url) as callers, Client(served.url) as client:
        for change in range(changes):
            number = export_digits(directory, seed=change + 2).number
            for _ in range(killed_after.count(change)):
                generator.choice(both_up(client, served)).kill()
            until(lambda n=number: client.metadata("digits")["parameters"]["version"] == str(n), f"version {number}")
            say(f"version {number}: {callers.outcome.answered} answered, {len(callers.outcome.failed)} failed")
    return callers.outcome


def both_up(client, served):
    """Return the processes of two workers, once both can answer."""
    until(lambda: len(_up(client, served)) == 2, "two workers")
    return served.workers()


def _up(client, served):
    """Return the workers' processes; [] while the server says that one of them can't answer yet."""
    text = client.text("/metrics")
    counted = int(next(line.split()[1] for line in text.splitlines() if line.startswith("serving_workers ")))
    alive = served.workers()
    return alive if counted == len(alive) else []
