"""One process plays all the workers, in turns: the same store and rules, no waiting, the same answer every time.

This is the reference for the real thing, and the place to see staleness without luck: with `workers` workers taking
turns, every gradient is `workers − 1` updates old when it is applied.
"""

import time

import numpy
import torch

from course.training.hooks import Session, begun, refuse, tell
from course.training.problem import batch_generator
from course.training.result import RECORD, Step, TrainingResult
from course.training.rules import Push, make_rule
from course.training.store import NonFiniteError, ParameterServer


def train_in_turns(
    problem,
    *,
    optimizer,
    mode="async",
    workers=1,
    total_steps=1000,
    hooks=(),
    max_staleness=None,
    aggregate=None,
    seed=0,
):
    """Train in this process, the workers taking turns; arguments and result as `train`'s, and deterministic."""
    store = ParameterServer(problem.initial(), optimizer)
    rule = make_rule(mode, store, workers, max_staleness, aggregate)
    session = Session(total_steps, lambda: store.pull().parameters)
    history, started = [], time.perf_counter()
    with begun(session, hooks):
        for worker, pulled in _turns(session, store, rule, workers):
            for hook in hooks:
                hook.before_run(session)
            arrived = time.perf_counter() - started
            try:
                applied = rule.offer(gradient(problem, worker, pulled, seed, arrived))
            except NonFiniteError as error:
                refuse(session, hooks, error)
                break
            for push in applied:
                now = time.perf_counter() - started
                history.append(Step(store.version, push.worker, push.version, push.loss, push.arrived, now))
                tell(session, hooks, history[-1])
    return TrainingResult(
        mode,
        workers,
        store.pull().parameters,
        store.version,
        numpy.array(history, dtype=RECORD),
        time.perf_counter() - started,
        dict(rule.dropped),
        stopped_by=session.stop_reason,
    )


def _turns(session, store, rule, workers):
    """Yield (worker, what it pulled after its last push), round and round, until the limit or a stop request."""
    pulled = {worker: store.pull() for worker in range(workers)}
    while True:
        for worker in range(workers):
            if store.version >= session.limit or session.stop_reason is not None:
                return
            if rule.is_waiting(worker):
                continue
            yield worker, pulled.pop(worker, None) or store.pull()
            if not rule.is_waiting(worker):
                pulled[worker] = store.pull()


def gradient(problem, worker, pulled, seed, arrived=0.0):
    """Return one worker's `Push` from what it pulled."""
    leaves = {name: value.requires_grad_() for name, value in pulled.parameters.items()}
    batch = problem.batch(worker, pulled.version, batch_generator(seed, worker, pulled.version))
    loss = problem.loss(leaves, batch)
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return Push(worker, pulled.version, dict(zip(leaves, gradients, strict=True)), loss.item(), arrived)
