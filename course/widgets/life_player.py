"""The Life player: draw cells, choose a pattern and a rule, step and play; and `animate`, a film that needs no kernel.

Python computes, the page only draws.
"""

import threading

import anywidget
import numpy as np
import torch
import traitlets

from course import life
from course.draw import css, film
from course.draw.picture import Picture, text_of

_NEXT = 60  # generations in the static twin
_LARGEST = 512  # rows or columns that can still be seen, and sent to the page as often as it asks


class LifePlayer(anywidget.AnyWidget):
    """A board to play with, as controls above a picture and as Python: `step()`, `board`, `load`, `toggle`, `clear`.

    State (traits): `height`, `width` and `cells` (the board, eight cells a byte), `generation`, `population`,
    `playing`, `speed` (generations a second), `pattern`, `rule`, `wrap`, `message`. While `playing`, the page asks for
    each next generation when it has drawn the last, so that nothing runs in the kernel meanwhile, and nothing at all
    once the page or the widget is closed. Messages may arrive in any thread.
    """

    _esm = text_of("course.widgets", "life_player.js")
    _css = css() + text_of("course.widgets", "life_player.css")

    height = traitlets.Int(32).tag(sync=True)
    width = traitlets.Int(48).tag(sync=True)
    cells = traitlets.Bytes(b"").tag(sync=True)
    generation = traitlets.Int(0).tag(sync=True)
    population = traitlets.Int(0).tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)
    speed = traitlets.Float(8.0, min=0.5, max=30.0).tag(sync=True)
    pattern = traitlets.Unicode("glider").tag(sync=True)
    patterns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rule = traitlets.Unicode("B3/S23").tag(sync=True)
    wrap = traitlets.Bool(True)
    message = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        board: torch.Tensor | None = None,
        pattern: str = "glider",
        height: int = 32,
        width: int = 48,
        rule: str = "B3/S23",
        wrap: bool = True,
        speed: float = 8.0,
    ) -> None:
        """Show `board` (uint8 (H, W)), or `pattern` in the middle of an empty board of `height` × `width`."""
        self._lock = threading.RLock()
        super().__init__(rule=str(life.Rule.parse(rule)), wrap=wrap, speed=speed, patterns=life.pattern_names())
        if board is None:
            self.board = life.empty(height, width)
            self.load(pattern)
        else:
            self.board = board
            self.pattern = ""
        self.on_msg(self._on_page)

    @property
    def board(self) -> torch.Tensor:
        """The board as a `torch.uint8` tensor (H, W); set it to any board to start from there, at generation 0."""
        bits = np.unpackbits(np.frombuffer(self.cells, dtype=np.uint8), count=self.height * self.width)
        return torch.from_numpy(bits.reshape(self.height, self.width))

    @board.setter
    def board(self, board: torch.Tensor) -> None:
        board = life.run(board, 0)  # names what is wrong with it
        if max(board.shape) > _LARGEST:
            raise ValueError(
                f"LifePlayer(board=…): {board.shape[0]} × {board.shape[1]} cells; it shows up to {_LARGEST} a side.\n"
                "Larger boards: course.life.run, and course.draw.animate for a part of them."
            )
        self._show(board, generation=0)

    def step(self, generations: int = 1) -> "LifePlayer":
        """Advance by `generations`, computed by `course.life.run`; returns the player."""
        with self._lock:
            following = life.run(self.board, generations, rule=self.rule, wrap=self.wrap)
            self._show(following, self.generation + generations)
        return self

    def play(self) -> "LifePlayer":
        """Start playing, in every page that shows the player; returns it."""
        self.playing = True
        return self

    def pause(self) -> "LifePlayer":
        """Stop playing; returns the player."""
        self.playing = False
        return self

    def load(self, name: str) -> "LifePlayer":
        """Clear the board and put the pattern called `name` in its middle; returns the player."""
        with self._lock:
            cells = life.pattern(name)
            rows, columns = cells.shape
            at = (self.height - rows) // 2, (self.width - columns) // 2
            self._show(life.put(life.empty(self.height, self.width), cells, *at), generation=0)
            self.pattern = name
        return self

    def toggle(self, row: int, column: int) -> "LifePlayer":
        """Let the cell at (`row`, `column`) live if it is dead, die if it lives; returns the player."""
        if not (0 <= row < self.height and 0 <= column < self.width):
            legal = f"rows are 0 to {self.height - 1}, columns 0 to {self.width - 1}"
            raise ValueError(f"toggle(row={row}, column={column}): {legal}.")
        with self._lock:
            board = self.board
            board[row, column] ^= 1
            self._show(board, self.generation)
        return self

    def clear(self) -> "LifePlayer":
        """Let every cell die and start again at generation 0; returns the player."""
        self.board = life.empty(self.height, self.width)
        return self

    def static(self) -> Picture:
        """Return the board, and the generations that follow, as a `Picture` that needs no kernel."""
        with self._lock:
            return film(list(life.frames(self.board, _NEXT, self.rule, self.wrap)), first=self.generation)

    def close(self) -> None:
        """Stop playing and remove the widget from its pages. Idempotent."""
        self.playing = False
        super().close()

    def _show(self, board, generation):
        height, width = board.shape
        with self._lock, self.hold_sync():  # one message, so that no page shows half a change
            self.height, self.width, self.generation = height, width, generation
            self.cells = np.packbits(board.numpy()).tobytes()
            self.population = int(board.sum())
            self.message = f"{self.population} of {height * width} cells live, generation {generation} of {self.rule}."

    @traitlets.validate("rule")
    def _legal_rule(self, proposal):
        return str(life.Rule.parse(proposal["value"]))

    def _on_page(self, _, content, buffers=None):
        """Do what the page asks; an error has nobody above it here, so it becomes the sentence below the board."""
        try:
            with self._lock:
                match content:
                    case {"do": "step", "from": int(seen)}:
                        if seen == self.generation:  # two views of one player may both ask
                            self.step()
                    case {"do": "toggle", "row": int(row), "column": int(column)}:
                        self.toggle(row, column)
                    case {"do": "load", "pattern": str(name)}:
                        self.load(name)
                    case {"do": "clear"}:
                        self.clear()
                    case {"do": "rule", "rule": str(rule)}:
                        self.rule = rule
                        self._show(self.board, self.generation)
        except ValueError as wrong:
            self.message = str(wrong)
            self.send({"again": True})  # the page shows what is, not what it asked for

    def __repr__(self):
        where = f"{self.rule}, generation {self.generation}, {self.population} living cells"
        return f"LifePlayer({self.height} × {self.width}, {where})"

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)
        if shown is None:
            return None
        data, metadata = shown
        return {**data, "text/plain": repr(self), "text/html": self.static().html}, metadata


def animate(
    board: torch.Tensor, generations: int, rule: str = "B3/S23", wrap: bool = True, seconds: float = 0.08
) -> Picture:
    """Return a `Picture` that plays `board` and the `generations` that follow it, `seconds` apart.

    `board` is `torch.uint8` (H, W) of 0 and 1; `rule` and `wrap` are as in `course.life.step`. It waits for Play, steps
    by button, slider or arrow key, and where the reader's system asks for less motion it only steps.
    """
    return film(list(life.frames(board, generations, rule, wrap)), seconds)
