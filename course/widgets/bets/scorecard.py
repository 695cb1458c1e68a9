"""`Scorecard`: a chapter's bets at its end, what was measured here and in writing it, and one more thing to try."""

from course.draw import Picture
from course.widgets.bets.predict import Predict
from course.widgets.bets.sheet import sheet, still


class Scorecard:
    """All guesses of a chapter beside this machine's numbers and the stored ones, a link to them, and a challenge.

    `bets`: those of one chapter; one that was not revealed has no number. `challenge`: a sentence or two. *Forget my
    guesses* forgets those of the chapter, in the browser. Raises ValueError without bets, or with two chapters' bets.
    """

    def __init__(self, *bets: Predict, challenge: str) -> None:
        chapters = sorted({bet.subject.chapter for bet in bets})
        if len(chapters) != 1:
            problem = f"bets of chapters {', '.join(chapters)}" if chapters else "no bets"
            raise ValueError(f"Scorecard: {problem}; give those of one chapter.")
        self.bets, self.challenge, self.chapter = bets, challenge, chapters[0]

    def static(self) -> Picture:
        """Return the card in words, for pages in which no script runs."""
        return still([f"Your guesses in chapter {self.chapter}", *map(self._line, self.bets), self.challenge])

    def _line(self, bet):
        measured = "not run" if bet.answer is None else f"it was {bet.subject.words(bet.answer.value)}"
        guess = "" if bet.guess is None else f"; you: {bet.subject.words(bet.guess)}"
        return f"{bet.subject.question} {measured}{guess}"

    def __repr__(self) -> str:
        return "\n".join([f"Your guesses in chapter {self.chapter}:", *map(self._line, self.bets), self.challenge])

    def _repr_mimebundle_(self, include=None, exclude=None):
        rows = []
        for bet in self.bets:
            answer = bet.answer
            measured = {"value": answer and answer.value, "stored": answer and answer.stored, "guess": bet.guess}
            rows.append(bet.subject.as_data() | measured)
        data = {"chapter": self.chapter, "bets": rows, "challenge": self.challenge}
        shown = sheet("scorecard.js", data, self.static(), "exhibits/reasons.js")
        return {"text/plain": repr(self), "text/html": shown.html}
