"""What the monkey does, drawn from a seed: places are shares of what is there, so no page decides what is drawn."""

import random
from dataclasses import dataclass

#: kind -> how often, beside the others
IN_A_PAGE = {
    "click": 24,
    "press": 22,
    "drag": 12,
    "type": 10,
    "tab": 6,
    "touch": 5,
    "wheel": 5,
    "hover": 3,
    "wait": 3,
    "resize": 3,
    "scheme": 2,
    "motion": 1,
    "run": 3,
    "silence": 1,
    "restart": 1,
}
KEYS = (
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"),
    *("Enter", "Space", "Escape", "Delete", "Backspace", "p", "s", "+", "-", "0"),
)
GARBAGE = (
    *("", " ", "0", "-1", "1e999", "NaN", "-0", "3.7", "٣", "999999999999999999999", "0x10", "1,5"),
    *(
        "B3/S23",
        "B/S",
        "B9/S",
        "<img src=x onerror=alert(1)>",
        "'; DROP TABLE",
        "\\u0000",
        "null",
        "🐒" * 40,
        "a" * 3000,
    ),
)
WIDTHS = (320, 390, 700, 900, 1280)  # pixels of the page


@dataclass(frozen=True)
class Action:
    """One thing that is done: `exhibit` and `target` say to what, `x` and `y` where in it, each a share from 0 to 1."""

    number: int
    kind: str
    exhibit: float
    target: float
    x: float
    y: float
    keys: tuple[str, ...]
    text: str
    width: int

    def __str__(self) -> str:
        more = {"press": " ".join(self.keys), "type": repr(self.text[:40]), "resize": f"{self.width} px"}.get(
            self.kind, ""
        )
        place = f"exhibit {self.exhibit:.3f}, target {self.target:.3f}, at ({self.x:.2f}, {self.y:.2f})"
        return f"{self.number:>5} {self.kind:<8} {place} {more}".rstrip()


def draw(seed: int, count: int, kinds: dict[str, int] = IN_A_PAGE) -> list[Action]:
    """Return `count` actions; the same `seed` gives the same ones, and a smaller count the first of them."""
    random_ = random.Random(f"monkey {seed}")
    names, weights = list(kinds), list(kinds.values())
    return [
        Action(
            number,
            random_.choices(names, weights)[0],
            *(random_.random() for _ in range(4)),
            tuple(random_.choices(KEYS, k=random_.randint(1, 5))),
            random_.choice(GARBAGE),
            random_.choice(WIDTHS),
        )
        for number in range(1, count + 1)
    ]
