"""A rule: how many living neighbours give birth to a cell, and how many keep one alive. `B3/S23` is Conway's."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Rule:
    """`birth` and `survive` are the counts of living neighbours (0 to 8) after which a dead or living cell lives.

    >>> Rule.parse("B36/S23").birth
    (3, 6)
    >>> str(Rule.parse("s32b3"))
    'B3/S23'
    """

    birth: tuple[int, ...]
    survive: tuple[int, ...]

    @staticmethod
    def parse(text: "str | Rule") -> "Rule":
        """Return the rule that `text` names, such as `B3/S23`; a `Rule` is returned as it is."""
        return text if isinstance(text, Rule) else _parse(text)

    def __str__(self):
        return f"B{''.join(map(str, self.birth))}/S{''.join(map(str, self.survive))}"

    def apply(self, alive: Any, counts: Callable[[int], Any]) -> Any:
        """Return the next state from `alive` and `counts[k]`, "has k living neighbours", for each k the rule needs.

        Both are booleans or bits: anything with `&`, `|` and `^`, one cell or 64 in a word.
        """
        next_state = alive ^ alive  # all dead
        for k in sorted({*self.birth, *self.survive}):
            lives = counts(k)
            if k not in self.survive:
                lives = lives ^ (lives & alive)
            elif k not in self.birth:
                lives = lives & alive
            next_state = next_state | lives
        return next_state


@cache
def _parse(text):
    if isinstance(text, str):
        squeezed = text.upper().replace(" ", "")
        for form in (
            r"B(?P<b>[0-8]*)/?S(?P<s>[0-8]*)",
            r"S(?P<s>[0-8]*)/?B(?P<b>[0-8]*)",
            r"(?P<s>[0-8]*)/(?P<b>[0-8]*)",
        ):
            match = re.fullmatch(form, squeezed)
            if match:
                return Rule(*(tuple(sorted({int(k) for k in match[side]})) for side in "bs"))
    raise ValueError(
        f"rule={text!r}: a rule is B, the counts that give birth, /S, the counts that survive, each digit 0 to 8.\n"
        "Conway's Game of Life is 'B3/S23', HighLife 'B36/S23', Seeds 'B2/S'."
    )
