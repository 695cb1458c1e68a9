"""Which values each hyperparameter may have: a range, choices, or one value that stays; and grids over them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)

_PLAIN = (bool, int, float, str, type(None))
_NOTATION = (
    'Write (low, high) for a range, (low, high, "log") for one over powers of ten, a list for choices, '
    "or one value that stays the same."
)
#: An integer range of more numbers than this has its points on a grid spread like those of a float range.
_FINEST = 1_000_000


@dataclass(frozen=True)
class Space:
    """The hyperparameters of a search: `searched`, name -> Optuna's distribution, and `fixed`, name -> value.

    `only_for`: name -> the optimizers that take it, where not all of the search do; others' trials don't have it.
    """

    searched: dict[str, BaseDistribution]
    fixed: dict[str, Any]
    only_for: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def parts(self, optimizer: str | None) -> tuple[dict[str, BaseDistribution], dict[str, Any]]:
        """Return what is searched and what is fixed in a trial with this optimizer; None: in every trial."""
        there = [name for name in self.names if name not in self.only_for or optimizer in self.only_for[name]]
        searched = {name: own for name, own in self.searched.items() if name in there}
        return searched, {name: value for name, value in self.fixed.items() if name in there}

    def is_complete(self, values: Mapping[str, Any]) -> bool:
        """Return whether a trial has all that is searched: name -> value, as Optuna's journal has it."""
        optimizer = None
        if self.only_for and "optimizer" in values:
            optimizer = self.searched["optimizer"].to_external_repr(values["optimizer"])
        return self.parts(optimizer)[0].keys() <= values.keys()

    @property
    def names(self) -> list[str]:
        """All names, the searched ones first."""
        return [*self.searched, *self.fixed]

    def values(self, name: str) -> list[Any]:
        """Return the choices of `name`, its two ends, or its one value."""
        if name in self.fixed:
            return [self.fixed[name]]
        distribution = self.searched[name]
        if isinstance(distribution, CategoricalDistribution):
            return list(distribution.choices)
        assert isinstance(distribution, (FloatDistribution, IntDistribution))
        return [distribution.low, distribution.high]

    def written(self) -> dict[str, str]:
        """Return every name with its range in words, such as `0.001 to 10, log`."""
        ranges = {name: in_words(distribution) for name, distribution in self.searched.items()}
        return ranges | {name: repr(value) for name, value in self.fixed.items()}

    def stored(self) -> dict[str, Any]:
        """Return the space as JSON has it."""
        return {name: distribution_to_json(own) for name, own in self.searched.items()} | {"fixed": self.fixed}


def make_space(space: Mapping[str, Any]) -> Space:
    """Return the `Space` that a dict describes: name to range, choices, value, or one of Optuna's distributions.

    `(low, high)` is a range, of whole numbers where both ends are; `(low, high, "log")` one over powers of ten; a list
    has choices (strings, numbers, True, False, None); any one of these alone stays the same in all trials. Raises
    TypeError or ValueError that names the hyperparameter, its value, and what is legal.

    >>> make_space({"learning_rate": (0.001, 10.0, "log"), "hidden": (10, 200), "optimizer": ["sgd", "adam"]}).written()
    {'learning_rate': '0.001 to 10, log', 'hidden': '10 to 200, whole numbers', 'optimizer': "'sgd' or 'adam'"}
    """
    if not isinstance(space, Mapping) or not all(isinstance(name, str) for name in space):
        raise TypeError(f'tune(space={space!r}): give a dict, such as {{"learning_rate": (0.001, 10.0, "log")}}.')
    searched: dict[str, BaseDistribution] = {}
    fixed: dict[str, Any] = {}
    for name, value in space.items():
        if isinstance(value, _PLAIN):
            fixed[name] = _checked_plain(name, value)
        else:
            searched[name] = _distribution(name, value)
    if not searched:
        raise ValueError(f"tune(space={space!r}): nothing is searched. Give one name a range or a list of choices.")
    return Space(searched, fixed)


def in_words(distribution: BaseDistribution) -> str:
    """Return a distribution in words."""
    if isinstance(distribution, CategoricalDistribution):
        return " or ".join(repr(choice) for choice in distribution.choices)
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    whole = ", whole numbers" if isinstance(distribution, IntDistribution) else ""
    step = f", in steps of {distribution.step:g}" if distribution.step not in (None, 1) else ""
    return f"{distribution.low:g} to {distribution.high:g}{whole}{step}{', log' if distribution.log else ''}"


def _distribution(name, value):
    if isinstance(value, BaseDistribution):
        return value
    if isinstance(value, list):
        return _choices(name, value)
    if isinstance(value, tuple):
        return _range(name, value)
    raise TypeError(f"tune(space): {name} is {value!r}, a {type(value).__name__}. {_NOTATION}")


def _choices(name, value):
    if not value:
        raise ValueError(f"tune(space): {name} is an empty list. {_NOTATION}")
    for choice in value:
        if not isinstance(choice, _PLAIN):
            raise TypeError(
                f"tune(space): {name} may be {choice!r}, a {type(choice).__name__}; a choice is a string, a number, "
                "True, False or None, since it goes to a worker and into the journal."
            )
        _checked_plain(name, choice)
    if len({(type(choice), choice) for choice in value}) < len(value):
        raise ValueError(f"tune(space): {name} is {value!r}, which has a choice twice. Leave one out.")
    return CategoricalDistribution(value)


def _range(name, value):
    scale = value[2] if len(value) == 3 else "linear"
    numbers = value[:2]
    if not 2 <= len(value) <= 3 or scale not in ("linear", "log") or not all(map(_is_number, numbers)):
        raise ValueError(f"tune(space): {name} is {value!r}. {_NOTATION}")
    low, high = numbers
    if not (math.isfinite(low) and math.isfinite(high)) or not low < high:
        raise ValueError(f"tune(space): {name} is {value!r}; a range goes from a finite number up to a larger one.")
    if scale == "log" and low <= 0:
        raise ValueError(
            f"tune(space): {name} is {value!r}; a log range begins above 0, as in ({high / 1000:g}, {high:g}, 'log')."
        )
    kind = IntDistribution if isinstance(low, int) and isinstance(high, int) else FloatDistribution
    return kind(low, high, log=scale == "log")


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _checked_plain(name, value):
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"tune(space): {name} is {value!r}; give a finite number.")
    return value


def grid(space: Space, trials: int) -> list[dict[str, Any]]:
    """Return the points of a grid over what is searched in `space`, at most `trials`, the last name changing fastest.

    Choices are taken whole, and numbers as many times as leaves the product at or below `trials`: the names take turns
    in getting one more. Ends of a range are on the grid; on a log range points are spread over its powers. Raises
    ValueError where the choices alone need more trials.
    """
    counts = _counts(space, trials)
    points: list[dict[str, Any]] = [{}]
    for name, count in counts.items():
        points = [{**point, name: value} for point in points for value in _spread(space.searched[name], count)]
    if not space.only_for:
        return points
    there = [{name: point[name] for name in space.parts(point["optimizer"])[0]} for point in points]
    return [point for at, point in enumerate(there) if point not in there[:at]]


def _counts(space, trials):
    searched = space.searched.items()
    counts = {name: _most(own) if isinstance(own, CategoricalDistribution) else 1 for name, own in searched}
    if math.prod(counts.values()) > trials:
        raise ValueError(
            f"tune(search='grid', trials={trials}): the choices alone have {math.prod(counts.values())} combinations. "
            "Give as many trials, fewer choices, or search='random'."
        )
    growing = [name for name, distribution in searched if counts[name] < _most(distribution)]
    while growing:
        name = min(growing, key=counts.__getitem__)
        wider = {**counts, name: counts[name] + 1}
        if math.prod(wider.values()) > trials:
            growing.remove(name)  # nothing smaller would fit later either
        else:
            counts = wider
            growing = [name for name in growing if counts[name] < _most(space.searched[name])]
    return counts


def _most(distribution):
    """Return how many values a distribution has; of a float range, a million."""
    if isinstance(distribution, CategoricalDistribution):
        return len(distribution.choices)
    if distribution.step:
        return min(_FINEST, int((distribution.high - distribution.low) / distribution.step) + 1)
    return _FINEST


def _spread(distribution: Any, count: int) -> Sequence[Any]:
    """Return `count` values of a distribution, evenly spread, both ends among them; the middle one of one."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices
    low, high, step = distribution.low, distribution.high, distribution.step
    between = np.geomspace if distribution.log else np.linspace
    values = (between(low, high, count) if count > 1 else between(low, high, 3)[1:2]).tolist()
    if step is None:
        return values
    return [low + steps * step for steps in sorted({round((value - low) / step) for value in values})]
