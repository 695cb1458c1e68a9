"""Replacing attributes for a while: each is the same object again afterwards."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_ABSENT = object()


@contextmanager
def replaced(changes: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Within the `with`, each owner's attribute is the given value: `changes` are (owner, name, value).

    Put back in the opposite order, after an exception too.
    """
    with ExitStack() as stack:
        for owner, name, value in changes:
            stack.callback(_put_back, owner, name, vars(owner).get(name, _ABSENT))
            setattr(owner, name, value)
        yield


def _put_back(owner, name, value):
    if value is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
