"""What a bet is about: numbers on an axis, a line over some places, or one of some choices; and what is legal there."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from course.draw import Picture

_NAME = "begin with the chapter's two digits, as in '01 six ops'"
_LONGEST = 60  # characters of a bet's name: it is part of a link


@dataclass(frozen=True)
class Subject:
    """What is guessed: `question`, and `name`, under which a browser keeps the guess ("01 six ops": chapter, words).

    - `kind`: "number" (one, or one for each of `rows`), "line" (a height over each of `rows`), "choice".
    - `low`, `high`: the ends of the axis, `log`: a scale of powers of ten, `unit`: what is counted.
    - `choices`: word -> picture, or None for a word alone; `across`: what the places of a line are.
    """

    question: str
    name: str
    kind: str
    rows: tuple[str, ...] = ("",)
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    unit: str = ""
    across: str = ""
    choices: Mapping[str, Picture | None] | None = None

    def __post_init__(self) -> None:
        name = self.name
        if not (name[:2].isdecimal() and name[2:3] == " " and name[3:].strip() and len(name) <= _LONGEST):
            raise ValueError(f"Predict(name={name!r}): {_NAME}, {_LONGEST} characters at most.")
        if self.kind == "choice":
            if len(self.choices or ()) < 2:
                raise ValueError(f"Predict({name!r}, choices={list(self.choices or ())}): give two or more.")
            return
        for end, value in (("low", self.low), ("high", self.high)):
            if not _is_number(value):
                raise ValueError(f"Predict({name!r}, {end}={value!r}): give a number, the {end} end of the axis.")
        if not self.low < self.high or (self.log and self.low <= 0):
            least = "0 < low < high on a log axis" if self.log else "low < high"
            raise ValueError(f"Predict({name!r}, low={self.low}, high={self.high}): {least} is needed.")
        if len(set(self.rows)) != len(self.rows) or len(self.rows) < (2 if self.kind == "line" else 1):
            raise ValueError(f"Predict({name!r}): places {list(self.rows)}; give different ones, two for a line.")

    @property
    def chapter(self) -> str:
        """The two digits that the name begins with."""
        return self.name[:2]

    def legal(self, guess: Any) -> Any:
        """Return `guess` as the page keeps it: one of the words, or a list with a number for each of `rows`, or None.

        A single number may be given alone, several as a sequence, or as a mapping by row; rows left out have no guess.
        Raises ValueError for what the page would not let through.
        """
        call = f"commit({guess!r}) to {self.name!r}"
        if self.kind == "choice":
            if guess not in (words := list(self.choices or ())):
                raise ValueError(f"{call}: choose one of {', '.join(map(repr, words))}.")
            return guess
        values = self.by_row(guess, call)
        if all(value is None for value in values):
            raise ValueError(f"{call}: give {self._expected()} from {in_digits(self.low)} to {in_digits(self.high)}.")
        for value in values:
            if value is not None and not (_is_number(value) and self.low <= value <= self.high):
                raise ValueError(
                    f"{call}: {value!r} is no number from {in_digits(self.low)} to {in_digits(self.high)}."
                )
        return values

    def measured(self, value: Any) -> Any:
        """Return a measured `value` as the page takes it; it may lie beyond the axis. Raises ValueError as `legal`."""
        call = f"reveal({value!r}) of {self.name!r}"
        if self.kind == "choice":
            if value not in (words := list(self.choices or ())):
                raise ValueError(f"{call}: one of {', '.join(map(repr, words))} is needed.")
            return value
        values = [None if number is None else _plain(number) for number in self.by_row(value, call)]
        least = 0.0 if self.log else -math.inf
        for number in values:
            if number is not None and not (_is_number(number) and number > least):
                raise ValueError(f"{call}: {number!r} has no place on {'a log' if self.log else 'the'} axis.")
        return values

    def by_row(self, values: Any, call: str) -> list[Any]:
        """Return `values` (a number, a sequence, a mapping) as a list as long as `rows`, None for a row without one."""
        if isinstance(values, Mapping):
            by_name = {str(row): value for row, value in values.items()}
            if unknown := [row for row in by_name if row not in self.rows]:
                raise ValueError(f"{call}: no place is called {unknown[0]!r}; there are {', '.join(self.rows)}.")
            return [by_name.get(row) for row in self.rows]
        if isinstance(values, Sequence) and not isinstance(values, str):
            if len(values) > len(self.rows):
                raise ValueError(f"{call}: {len(values)} values for {len(self.rows)} places.")
            return [*values, *[None] * (len(self.rows) - len(values))]
        if len(self.rows) > 1 or values is None:
            raise ValueError(f"{call}: give {self._expected()}.")
        return [values]

    def words(self, value: Any) -> str:
        """Return a legal guess or a measured value in words, such as "6 ops" or "1: 20, 8: 135"."""
        if self.kind == "choice":
            return str(value)
        unit = f" {self.unit}" if self.unit else ""
        pairs = [(row, number) for row, number in zip(self.rows, value, strict=True) if number is not None]
        return ", ".join((f"{row}: " if row else "") + in_digits(number) + unit for row, number in pairs)

    @property
    def legal_in_words(self) -> str:
        """What may be guessed, such as "from 0 to 6 ops"."""
        if self.kind == "choice":
            return " or ".join(self.choices or ())
        unit = f" {self.unit}" if self.unit else ""
        each = "" if self.rows == ("",) else f", for {', '.join(self.rows)}"
        return f"from {in_digits(self.low)} to {in_digits(self.high)}{unit}{each}"

    def as_data(self) -> dict[str, Any]:
        """Return the subject for the page's scripts, as plain values."""
        data: dict[str, Any] = {"name": self.name, "question": self.question, "kind": self.kind}
        if self.kind == "choice":
            return data | {"choices": {word: shown and shown.html for word, shown in (self.choices or {}).items()}}
        data |= {"rows": self.rows, "low": self.low, "high": self.high, "log": self.log, "unit": self.unit}
        return data | {"whole": _is_whole(self.low) and _is_whole(self.high), "across": self.across}

    def _expected(self) -> str:
        return "a number" if self.rows == ("",) else f"numbers for {', '.join(self.rows)}, in this order"


def in_digits(value: float) -> str:
    """Return a number as it is shown, here and in `kept.js`: whole from 100 on, below in three digits.

    >>> in_digits(98304), in_digits(7.0), in_digits(0.12345), in_digits(2.5e-5)
    ('98,304', '7', '0.123', '0.000025')
    """
    if float(value).is_integer() or abs(value) >= 100:
        return f"{math.floor(value + 0.5):,}"
    return f"{Decimal(f'{value:.3g}'):f}"


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value):
    return isinstance(value, int)


def _plain(value):
    """Return a number of NumPy or torch as one of Python's, and anything else unchanged."""
    return value.item() if hasattr(value, "item") else value
