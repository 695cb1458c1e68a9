"""An exhibit's state: traits tagged `state=True`; several of them change together, or none does."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import traitlets


class Stateful(traitlets.HasTraits):
    """Has its state in traits, and calls `refresh()` once for each change of it. Traits may be set in any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._several = False  # traits are being set together: one refresh at the end
        self.followers: list[Callable[[], object]] = []  # called after each change of the state
        self.observe(self._changed, names=list(self.state()))

    def _changed(self, change):
        with self._lock:  # another thread may be setting several
            if not self._several:
                self._refreshed()

    def refresh(self) -> None:
        """Take a changed state in; a subclass overrides this."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return the state as a dict: trait name to value."""
        return {name: getattr(self, name) for name in sorted(self.trait_names(state=True))}

    def update(self, **changes: object) -> Self:
        """Change several parts of the state at once, with one computation at the end; returns the exhibit.

        Raises TypeError for a name that is no state, TraitError for a value that is none; then all stays as it was.
        """
        for name in changes.keys() - self.state().keys():
            legal = ", ".join(self.state())
            raise TypeError(f"{type(self).__name__}({name}=…): no such state; it has {legal}.")
        with self._lock:
            before, self._several = self.state(), True
            try:
                for name, value in changes.items():
                    setattr(self, name, value)
            except Exception:  # traitlets' TraitError, or an engine's own error, as of torch; raised again below
                self._put(before)
                raise
            finally:
                self._several = False
            if self.state() != before:
                self._refreshed()
        return self

    def _refreshed(self):
        try:
            self.refresh()
        finally:
            for follow in self.followers:
                follow()

    def _put(self, state):
        """Set all traits of a `state` that was legal before, without a computation."""
        several, self._several = self._several, True
        for name, value in [*state.items()] * 2:  # one may be legal only once another is back
            with suppress(traitlets.TraitError):
                setattr(self, name, value)
        self._several = several
