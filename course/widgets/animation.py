"""`animate`: a board and what comes after it, as a film; the engine of `course.life` computes, `course.draw` shows."""

from typing import TYPE_CHECKING

from course import life
from course.draw.film import film
from course.draw.picture import Picture

if TYPE_CHECKING:
    from torch import Tensor


def animate(
    board: "Tensor", generations: int, rule: str = "B3/S23", wrap: bool = True, seconds: float = 0.08
) -> Picture:
    """Return a `Picture` that plays `board` and the `generations` that follow it, `seconds` apart.

    `board` is `torch.uint8` (H, W) of 0 and 1; `rule` and `wrap` are as in `course.life.step`. It waits for Play, steps
    by button, slider or arrow key, and where the reader's system asks for less motion it only steps.
    """
    return film(list(life.frames(board, generations, rule, wrap)), seconds)
