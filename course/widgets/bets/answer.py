"""The result of a bet: folded until the guess is made, then open, with guess and measurement in one picture."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

from course.draw import Picture
from course.widgets.bets.guess import Subject
from course.widgets.bets.sheet import sheet, still


@dataclass(frozen=True, repr=False)
class Answer:
    """The result of the bet on `subject`: the measured `value`, and the one `stored` when the chapter was written.

    `why`: one sentence. `shows`: what lies in the fold with it; a text, a picture, an object that shows itself, or
    several. `guess`: one that was made in Python. The page opens the fold as soon as it knows a guess; a reader who
    won't bet opens it by a click.
    """

    subject: Subject
    value: Any
    why: str
    shows: Any = ()
    stored: Any = None
    guess: Any = None

    def static(self) -> Picture:
        """Return a picture of the result in words, for pages in which no script runs."""
        return still([f"It was: {self.subject.words(self.value)}", self.why])

    def __repr__(self) -> str:
        guess = "" if self.guess is None else f" You: {self.subject.words(self.guess)}."
        return f"{self.subject.question} It was: {self.subject.words(self.value)}.{guess} {self.why}"

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"value": self.value, "why": self.why, "guess": self.guess}
        drawn = sheet("answer.js", self.subject.as_data() | data, self.static())
        several = isinstance(self.shows, Iterable) and not isinstance(self.shows, str)
        plain = several and not hasattr(self.shows, "_repr_mimebundle_") and not hasattr(self.shows, "_repr_html_")
        folded = "".join(_html(shown) for shown in (self.shows if plain else [self.shows]) if str(shown))
        summary = f"The answer: {escape(self.subject.question)}"
        body = f'<details class="answer"><summary>{summary}</summary>{drawn.html}{folded}</details>'
        return {"text/plain": repr(self), "text/html": f'<div class="course">{body}</div>'}


def _html(shown):
    """Return `shown` as it would show itself in a cell of its own."""
    if hasattr(shown, "_repr_mimebundle_"):
        bundle = shown._repr_mimebundle_()
        inside = bundle.get("text/html") or f"<pre>{escape(bundle['text/plain'])}</pre>"
    elif hasattr(shown, "_repr_html_"):
        inside = shown._repr_html_()
    else:
        inside = f"<pre>{escape(str(shown))}</pre>"
    return f'<div class="shown">{inside}</div>'
