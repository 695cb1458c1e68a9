"""The reference: one process plays all the workers, in turns, with the same store and rules, no waiting and no luck.

With `workers` workers taking turns, every gradient is `workers − 1` updates old when it is applied.
"""

import itertools
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy
import torch

from course.training.checkpoint.checkpoints import Checkpoints
from course.training.checkpoint.resumed import warn_of_changes
from course.training.hooks.base import Hook, Session, begun, refuse
from course.training.hooks.every import check_validation, with_saving
from course.training.hooks.fetches import ask, tell
from course.training.hooks.progress import late_line
from course.training.problems.problem import MakeOptimizer, Problem, batch_generator
from course.training.records import RECORD, NonFiniteError, Step, TrainingResult, TrainingSettings
from course.training.server.rules import Push, make_rule
from course.training.server.store import ParameterServer, Pulled


def train_in_turns(
    problem: Problem,
    *,
    optimizer: MakeOptimizer,
    mode: str = "async",
    workers: int = 1,
    total_steps: int = 1000,
    hooks: Sequence[Hook] = (),
    max_staleness: int | None = None,
    aggregate: int | None = None,
    seed: int = 0,
    checkpoint_dir: str | os.PathLike | None = None,
    keep: int = 5,
    resume: bool = True,
) -> TrainingResult:
    """Train in this process, the workers taking turns; arguments and result as `train`'s, and deterministic."""
    check_validation(problem, hooks)
    checkpoints = Checkpoints(checkpoint_dir, keep) if checkpoint_dir is not None else None
    restored = checkpoints.to_resume() if checkpoints is not None and resume else None
    incarnation = checkpoints.next_incarnation() if checkpoints is not None else 0
    store = ParameterServer(problem.initial(), optimizer, state=restored)
    if restored is not None:
        warn_of_changes(restored, store.state().optimizer, seed, total_steps)
    rule = make_rule(TrainingSettings(mode, workers, total_steps, max_staleness, aggregate), store)
    session = Session(
        total_steps,
        lambda: store.pull().parameters,
        lambda: replace(store.state(), incarnation=incarnation, seed=seed),
        problem=problem,
        checkpoints=checkpoints,
        settings=dict(mode=mode, workers=workers, max_staleness=max_staleness, aggregate=aggregate, seed=seed),
    )
    session.step = store.version
    sent: Counter[int] = Counter()
    history: list[Step] = []
    with begun(session, with_saving(hooks, checkpoints)):
        if restored is not None:
            session.happened("restored", reason=f"from step {store.version}")
        session.save("the start")
        try:
            with late_line(session.hooks) as line:
                _train(session, rule, sent, history, line)
        except BaseException as error:
            session.finish("an error ended the training", error)
            raise
        session.finish()
    return _result(session, rule, sent, history, restored)


def _train(session, rule, sent, history, line):
    """Take turns until the limit or a stop request; fills `sent` and `history`, and shows progress on `line`."""
    store, workers, seed = rule.store, session.settings["workers"], session.settings["seed"]
    pulled = {worker: store.pull() for worker in range(workers)}  # what each pulled after its last push
    for worker in itertools.cycle(range(workers)):
        if store.version >= session.limit or session.stop_reason is not None:
            return
        if rule.is_waiting(worker):
            continue
        line.look(store.version, session.limit)
        ask(session)
        before = pulled.pop(worker, None) or store.pull()
        push = gradient(session.problem, worker, before, seed, session.seconds())
        sent[worker] += 1
        try:
            store.check(push.gradients, push.version)
            applied = rule.offer(push)
        except NonFiniteError as error:
            refuse(session, error)
            return
        for used in applied:
            seconds = session.seconds()
            history.append(Step(store.version, used.worker, used.version, used.loss, used.arrived, seconds))
            tell(session, history[-1])
        if not rule.is_waiting(worker):
            pulled[worker] = store.pull()


def _result(session, rule, sent, history, restored):
    return TrainingResult(
        session.settings["mode"],
        session.settings["workers"],
        rule.store.pull().parameters,
        rule.store.version,
        numpy.array(history, dtype=RECORD),
        session.seconds(),
        dict(rule.dropped),
        stopped_by=session.stop_reason,
        events=session.events,
        sent=dict(sent),
        acknowledged=dict(sent),
        applied=dict(Counter(step.worker for step in history)),
        restored_from=None if restored is None else restored.version,
        problem=session.problem,
    )


def gradient(problem: Problem, worker: int, pulled: Pulled, seed: int, arrived: float = 0.0) -> Push:
    """Return one worker's `Push` from what it pulled."""
    leaves = {name: value.requires_grad_() for name, value in pulled.parameters.items()}
    batch = problem.batch(worker, pulled.version, batch_generator(seed, worker, pulled.version))
    loss = problem.loss(leaves, batch)
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    return Push(worker, pulled.version, dict(zip(leaves, gradients, strict=True)), loss.item(), arrived)
