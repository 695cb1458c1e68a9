"""`Predict`: a guess that the reader commits to before a measurement, and the picture that has both afterwards."""

from collections.abc import Iterable, Mapping
from typing import Any

from course.draw import Picture
from course.widgets.bets.answer import Answer
from course.widgets.bets.guess import Subject
from course.widgets.bets.sheet import sheet, still


class Predict:
    """A question with something to set: a number, a place on a log axis, a choice, several numbers, a drawn line.

    - `Predict(question, 0, 6, name="01 six ops")`: a number from 0 to 6. `log=True`: on an axis of powers of ten.
    - `each=["rung 2", "rung 3"]`: one number for each; `over=[1, 8, 100]`: a line, drawn over these places, which are
      `across` ("workers"). `choices=["cpu", "gpu"]`, or word -> `Picture`: one of them, without `low` and `high`.
    - `name`: the chapter's two digits and some words; the browser keeps the guess under it. `unit`: what is counted.

    The last line of a cell shows it. *Commit* locks the guess, in the browser alone, and needs no kernel; `commit` does
    the same from Python. Raises ValueError for an axis, a name or choices that can't be.
    """

    def __init__(
        self,
        question: str,
        low: float | None = None,
        high: float | None = None,
        *,
        name: str,
        unit: str = "",
        log: bool = False,
        each: Iterable[object] | None = None,
        over: Iterable[object] | None = None,
        across: str = "",
        choices: Iterable[str] | Mapping[str, Picture] | None = None,
    ) -> None:
        settings: dict[str, Any] = {"question": question, "name": name, "unit": unit, "log": log, "across": across}
        if choices is not None:
            pictures = choices if isinstance(choices, Mapping) else dict.fromkeys(choices)
            self.subject = Subject(**settings, kind="choice", choices=pictures)
        else:
            rows = over if over is not None else each if each is not None else [""]
            settings |= {"low": low, "high": high, "rows": tuple(map(str, rows))}
            self.subject = Subject(**settings, kind="number" if over is None else "line")
        self.guess: Any = None
        self.answer: Answer | None = None

    def commit(self, guess: Any) -> "Predict":
        """Lock `guess` as *Commit* does, and return the bet, which the last line of a cell shows.

        A number; for several a sequence, or a mapping by place; for choices the word. A page in which another guess was
        committed to before keeps that one. Raises ValueError for what the page would not take, and for a second guess.
        """
        legal = self.subject.legal(guess)
        if self.guess not in (None, legal):
            first = self.subject.words(self.guess)
            raise ValueError(f"commit({guess!r}): you said {first}, and that is locked; `Predict(…)` asks anew.")
        self.guess = legal
        return self

    def reveal(self, value: Any, why: str, shows: Any = (), stored: Any = None) -> Answer:
        """Return the result, folded until a guess is made; then it opens with the guess in its picture.

        - `value`: what was measured, as `commit` takes it; of several, those that are known. `why`: one sentence.
        - `shows`: what belongs into the fold with it: words, pictures, logs; one, or a list of them.
        - `stored`: what was measured when the chapter was written, if that differs from machine to machine.
        """
        stored = None if stored is None else self.subject.measured(stored)
        self.answer = Answer(self.subject, self.subject.measured(value), why, shows, stored, self.guess)
        return self.answer

    def static(self) -> Picture:
        """Return a picture that asks the question, for pages in which no script runs."""
        return still([f"Predict: {self.subject.question}", self.subject.legal_in_words])

    def __repr__(self) -> str:
        guess = "no guess yet" if self.guess is None else f"you: {self.subject.words(self.guess)}"
        return f"Predict: {self.subject.question} ({guess})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        shown = sheet("bet.js", self.subject.as_data() | {"guess": self.guess}, self.static())
        return {"text/plain": repr(self), "text/html": shown.html}
