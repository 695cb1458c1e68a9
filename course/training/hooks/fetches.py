"""What a hook may ask for before a step, which copies that takes, and how it is looked up after the step."""

from collections.abc import Mapping, Sequence
from typing import Any

from course.training.checkpoint.snapshot import Snapshot
from course.training.hooks.base import Fetches, Hook, Session
from course.training.records import Step, StepWithValues


def ask(session: Session) -> None:
    """Tell the hooks that another step is coming, and note what each wants to have fetched after it."""
    session._fetches = {place: hook.before_run(session) for place, hook in enumerate(session.hooks)}


def orders(hooks: Sequence[Hook]) -> list[tuple[int, bool]]:
    """Return the copies that these hooks order: each (every so many-th step, whether with the optimiser's state)."""
    fetching = [getattr(hook.before_run, "__func__", None) is not Hook.before_run for hook in hooks]
    every = [hook.copies_every or (1 if fetches else None) for hook, fetches in zip(hooks, fetching, strict=True)]
    return sorted({(n, hook.copies_optimizer) for n, hook in zip(every, hooks, strict=True) if n is not None})


def tell(session: Session, step: Step) -> None:
    """Tell the hooks of one applied step, each with the values that it wanted."""
    session.step = step.step
    for place, hook in enumerate(session.hooks):
        fetches = session._fetches.get(place)
        hook.after_run(session, step if fetches is None else _with_values(session, step, hook, fetches))


def _with_values(session, step, hook, fetches):
    if hook.copies_every and step.step % hook.copies_every:
        name = type(hook).__name__
        raise ValueError(
            f"{name}.before_run asks for values of step {step.step}; with copies_every = {hook.copies_every} it can "
            "ask for those of its multiples. Return None before the others, or leave copies_every out."
        )
    with_values, snapshot = StepWithValues(*step), session.snapshot_of(step.step)
    with_values.values = None if snapshot is None else fetched(fetches, snapshot, hook)
    return with_values


def fetched(fetches: Fetches, snapshot: Snapshot, asker: object) -> Any:
    """Return what `fetches` asks for, in its own form: one value, a list, or a dict with the same keys.

    Tensors are copies. `asker`: the hook, for the error: ValueError for what can't be fetched.
    """
    if isinstance(fetches, Mapping):
        return {key: _fetched_value(fetch, snapshot, asker) for key, fetch in fetches.items()}
    if isinstance(fetches, (list, tuple)):
        return [_fetched_value(fetch, snapshot, asker) for fetch in fetches]
    return _fetched_value(fetches, snapshot, asker)


def _fetched_value(fetch, snapshot, asker):
    if isinstance(fetch, str) and fetch in snapshot.parameters:
        return snapshot.parameters[fetch].clone()
    if fetch == "version":
        return snapshot.version
    if callable(fetch):
        return fetch({name: value.clone() for name, value in snapshot.parameters.items()})
    raise ValueError(
        f"{type(asker).__name__}.before_run asks for {fetch!r}: give {', '.join(snapshot.parameters)} or version, a "
        "function of the parameters, or a list or a dict of these."
    )
