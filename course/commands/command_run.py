"""How a command runs: here, or on the cluster that its flags name; an error ends it with a sentence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

import click

from course.commands.cluster_flags import CLUSTER_FLAGS, cluster_flags, joined_cluster

#: Prints a line at once, into a pipe too.
say = partial(print, flush=True)


@contextmanager
def errors_as_messages(*errors: type[Exception], usage: bool = False) -> Iterator[None]:
    """Within the `with`, `errors` end the command with their message alone; with `usage`, as a wrong flag does."""
    try:
        yield
    except errors as error:
        raise (click.UsageError if usage else click.ClickException)(str(error)) from error


@contextmanager
def exit_code_of_interrupt() -> Iterator[None]:
    """Within the `with`, Ctrl-C ends the command with the code 130, as a shell has it."""
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def on_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Add the flags that name a cluster to a click command, which gets `cluster`: that one, or None."""

    @cluster_flags
    @wraps(command)
    def with_cluster(**arguments: Any) -> None:
        where = {name: arguments.pop(name) for name in CLUSTER_FLAGS}
        errors = errors_as_messages(OSError, RuntimeError)
        with exit_code_of_interrupt(), errors, errors_as_messages(ValueError, IndexError, usage=True):
            with joined_cluster(say, **where) as cluster:
                command(**arguments, cluster=cluster)

    return with_cluster
