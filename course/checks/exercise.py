"""An exercise: its name, inputs from the smallest up, and an oracle that knows a right answer when it sees one."""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Exercise:
    """What `check` needs to know.

    - `name`: the name of the function that the reader writes (or of the value, for `check(value, "name")`).
    - `cases()`: argument tuples, smallest first, so that the first failure is the smallest counterexample.
    - `expected(*arguments)`: the slow reference, or None where only a property is known.
    - `accepts(got, *arguments)`: optional property; returns True, or a sentence that says what is wrong.
    - `hint`: one sentence, shown under the second counterexample.
    - `inputs()`: optional Hypothesis strategy of legal argument tuples, or a context manager that gives one. With it a
      counterexample is made as small as can be found, and an answer that passes the cases is tried on drawn inputs.
    - `watch()`: optional context manager that lasts until the verdict (with devices that the answer needs); it yields
      a function that calls an answer and returns `(got, seen)`; `accepts` gets `seen` right after `got`.
    """

    name: str
    cases: Callable[[], Iterable[tuple]]
    expected: Callable | None = None
    accepts: Callable | None = None
    hint: str = ""
    watch: Callable | None = None
    inputs: Callable | None = None

    def complaint(self, got, arguments, seen=()):
        """Return None when `got` is right for `arguments`, else a sentence that says what was expected.

        `seen` is what watching the answer gave, as a tuple: empty, or one thing.
        """
        if self.accepts is not None:
            verdict = self.accepts(got, *seen, *arguments)
            if verdict is not True:
                return verdict or "that does not have the property asked for"
        if self.expected is not None:
            wanted = self.expected(*arguments)
            if not same(got, wanted):
                return f"expected {show(wanted)}"
        return None


def strategy(module, name):
    """Return what gives the Hypothesis strategy that `module.name()` makes: loaded only when a check wants it."""
    return lambda: getattr(import_module(module), name)()


def same(got, wanted, relative=1e-6):
    """Whether two answers are equal: arrays by shape and value, floats to `relative`, containers by element.

    >>> same([1, 2.0], (1, 2.0000000001)), same(True, 1), same(None, 0)
    (True, False, False)
    """
    if _is_array(got) or _is_array(wanted):
        return _same_arrays(got, wanted, relative)
    if isinstance(wanted, bool) or isinstance(got, bool):
        return got is wanted
    if isinstance(wanted, numbers.Real) and isinstance(got, numbers.Real):
        return math.isclose(got, wanted, rel_tol=relative, abs_tol=1e-12) or (math.isnan(got) and math.isnan(wanted))
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return got.keys() == wanted.keys() and all(same(got[k], wanted[k], relative) for k in wanted)
    if isinstance(wanted, (list, tuple)) and isinstance(got, (list, tuple)):
        return len(got) == len(wanted) and all(same(g, w, relative) for g, w in zip(got, wanted, strict=True))
    return type(got) is type(wanted) and bool(got == wanted)


def show(value, limit=300):
    """Return a short text for `value`: tensors and arrays as nested lists, anything long cut at `limit` characters."""
    text = str(value.tolist()) if _is_array(value) else repr(value)
    return text if len(text) <= limit else text[:limit] + " …"


def _is_array(value):
    return hasattr(value, "tolist") and hasattr(value, "shape")


def _same_arrays(got, wanted, relative):
    if not _is_array(got) or not _is_array(wanted):
        scalar = got if _is_array(got) else wanted
        if tuple(scalar.shape) != ():
            return False
    elif tuple(got.shape) != tuple(wanted.shape):
        return False
    as_list = [v.tolist() if _is_array(v) else v for v in (got, wanted)]
    return same(*as_list, relative)
