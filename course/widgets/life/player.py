"""The Life player: draw cells, choose a pattern and a rule, step and play; and `animate`, a film that needs no kernel.

The page has an engine of its own, for when no kernel answers; where one does, its boards are asked for ahead of time.
"""

import time
from typing import Any, Self

import torch
import traitlets

from course import life
from course.draw import Picture, film, html
from course.widgets.exhibits.exhibit import Exhibit, headline
from course.widgets.life.boards import bits_of, board_of, checked, in_base64, in_the_middle, resized, still_of

_ENGINES = ("auto", *life.ENGINES, "page")
_BUSY = 0.05  # seconds that the kernel computes for one request at most, one generation apart: others want it too
_MOST_FRAMES = 16
_MOST_AT_ONCE = 100  # generations in a call that is measured
_TRIAL = 0.03  # seconds in which an engine's speed shows


class LifePlayer(Exhibit):
    """A board to play with, as controls above a picture and as Python: `step()`, `board`, `load`, `toggle`, `clear`.

    State (traits): `rule`, `wrap` (do the edges meet?), `speed` (generations a second), `playing`, and `engine_name`,
    what computes the boards: an engine of `course.life`, "auto", or "page". Setting one moves the page's control.
    `board`, `generation`, `population`, `height`, `width` and `pattern` say what is on it. While it plays, the page
    asks for the boards to come; nothing runs in the kernel between two requests, and nothing at all once the page is
    closed. Python's board is then the last that was asked for, and the one that is shown once it pauses. Messages may
    arrive in any thread.
    """

    module = "player.js"
    parts = ("engine.js", "world.js", "frames.js", "measures.js", "view.js", "hand.js")
    styles = ("player.css",)
    rule = traitlets.Unicode("B3/S23").tag(state=True)
    wrap = traitlets.Bool(True).tag(state=True)
    speed = traitlets.Float(8.0, min=0.5, max=6000.0).tag(state=True)
    playing = traitlets.Bool(False).tag(state=True)
    engine_name = traitlets.Enum(_ENGINES, "auto").tag(state=True)

    def __init__(
        self,
        board: torch.Tensor | None = None,
        pattern: str = "glider",
        height: int = 32,
        width: int = 48,
        controls: str = "all",
        **state: object,
    ) -> None:
        """Show `board` (uint8 (H, W)), or `pattern` in the middle of an empty board of `height` × `width`.

        `controls`: "all", or "few" for a fold over rule, edges, size and engine. `state`: see the class. Raises
        ValueError for what is no board, no pattern or too large, TraitError for a setting that is none.
        """
        if controls not in ("all", "few"):
            raise ValueError(f"LifePlayer(controls={controls!r}): give 'all' or 'few'.")
        self.controls = controls
        self._editions = 0
        self._board = checked(in_the_middle(pattern, height, width) if board is None else board)
        self._take(self._board, 0, "" if board is not None else pattern, "k-0", (self._board, 0))
        super().__init__(**state)

    @property
    def board(self) -> torch.Tensor:
        """The board as a `torch.uint8` tensor (H, W); set it to any board to start from there, at generation 0."""
        return self._board.clone()

    @board.setter
    def board(self, board: torch.Tensor) -> None:
        self._set(checked(board), generation=0)

    @property
    def height(self) -> int:
        """Rows of the board."""
        return self._board.shape[0]

    @property
    def width(self) -> int:
        """Columns of the board."""
        return self._board.shape[1]

    @property
    def population(self) -> int:
        """How many cells live."""
        return int(self._board.sum())

    def step(self, generations: int = 1) -> Self:
        """Advance by `generations`, computed by `course.life.run`; returns the player."""
        with self._lock:
            following = self._advance(self._board, generations, self.rule, self.wrap, self.engine_name)
            self._set(following, self.generation + generations, self.pattern, origin=self._origin)
        return self

    def restart(self) -> Self:
        """Go back to the board and the generation at which it was last loaded, drawn on or set; returns the player."""
        with self._lock:
            board, generation = self._origin
            self._set(board, generation, self.pattern)
        return self

    def play(self) -> Self:
        """Start playing, in every page that shows the player; returns it."""
        self.playing = True
        return self

    def pause(self) -> Self:
        """Stop playing; returns the player."""
        self.playing = False
        return self

    def load(self, name: str) -> Self:
        """Clear the board and put the pattern called `name` in its middle; returns the player.

        "random" lets each cell live with probability 0.35. ValueError for an unknown name, or one that doesn't fit.
        """
        with self._lock:
            self._set(in_the_middle(name, self.height, self.width), 0, name)
        return self

    def toggle(self, row: int, column: int) -> Self:
        """Let the cell at (`row`, `column`) live if it is dead, die if it lives; returns the player."""
        with self._lock:
            if not (0 <= row < self.height and 0 <= column < self.width):
                legal = f"rows are 0 to {self.height - 1}, columns 0 to {self.width - 1}"
                raise ValueError(f"toggle(row={row}, column={column}): {legal}.")
            board = self.board
            board[row, column] ^= 1
            self._set(board, self.generation)
        return self

    def clear(self) -> Self:
        """Let every cell die and start again at generation 0; returns the player."""
        with self._lock:
            self._set(life.empty(self.height, self.width), 0)
        return self

    def resize(self, height: int, width: int) -> Self:
        """Take a board of `height` × `width`, what fits of the old one in its middle; returns the player."""
        with self._lock:
            self._set(checked(resized(self._board, height, width)), 0, self.pattern)
        return self

    def measure(self, engine_name: str = "auto", generations: int = 1) -> float:
        """Return how many cells a second an engine of `course.life` decides on this board, with its rule and edges.

        It is called for `generations` at a time, as when that many are played in a frame, or for as many as it computes
        in 50 ms; what it does in its first call only, such as compiling, is left out.
        """

        def seconds(generations):
            began = time.perf_counter()
            self._advance(self._board, generations, self.rule, self.wrap, engine_name)
            return time.perf_counter() - began

        seconds(1)
        generations = min(generations, max(1, int(_BUSY / seconds(1))))
        calls, took = 0, 0.0
        while took < _TRIAL:
            calls, took = calls + 1, took + seconds(generations)
        return calls * generations * self._board.numel() / took

    def engine(self, **_: object) -> dict[str, int]:
        """Return the headline's numbers: settings change what comes next, not the board."""
        return {"generation": self.generation, "population": self.population}

    def data(self) -> dict[str, Any]:
        """Return the board, the patterns and the engines."""
        patterns = {name: _encoded(life.pattern(name)) for name in life.pattern_names()}
        own = {"board": self._description(), "cells": in_base64(bits_of(self._board))}
        return {**own, "patterns": patterns, "engines": list(life.ENGINES), "controls": self.controls}

    def draw(self, result: dict[str, int]) -> Picture:
        """Return the board as a picture."""
        state = f"generation {self.generation} of {self.rule}: {self.population} of {self._board.numel()} cells live"
        alt = f"A board of {self.height} × {self.width} cells, {state}."
        image = f'<img alt="{alt}" src="data:image/png;base64,{in_base64(still_of(self._board))}">'
        return html(headline(f"generation {self.generation}", f"{self.population} cells live") + image, alt)

    def _advance(self, board, generations, rule, wrap, engine_name):
        engine = "auto" if engine_name == "page" else engine_name
        return life.run(board, generations, engine, rule, wrap)

    def _set(self, board, generation, pattern="", origin=None):
        """Take `board`, and tell the page: it shows this one from now on."""
        with self._lock:
            self._editions += 1
            self._take(board, generation, pattern, f"k-{self._editions}", origin or (board, generation))
            self._tell_board()

    def _take(self, board, generation, pattern, edition, origin):
        self._board, self.generation, self.pattern = board, generation, pattern
        self._edition, self._origin = edition, origin

    def _description(self):
        size = {"height": self.height, "width": self.width, "generation": self.generation}
        return {**size, "population": self.population, "pattern": self.pattern, "edition": self._edition}

    def _tell_board(self):
        self._tell({"board": self._description()}, bits_of(self._board))

    def _heard(self, wire, content, buffers):
        """Do what the page asks; a message that is not the player's own is any exhibit's."""
        try:
            with self._lock:
                match content:
                    case {"frames": dict(wanted)}:
                        self._frames(**wanted)
                    case {"board": {"edition": str(edition), "edited": bool(edited), **description}}:
                        self._from_page(edition, edited, bytes(buffers[0]), **description)
                    case {"measure": str(name), "by": int(by)} if name in life.ENGINES:
                        rate = self.measure(name, max(1, min(by, _MOST_AT_ONCE)))
                        self._tell({"measured": {"engine": name, "rate": rate}})
                    case _:
                        super()._heard(wire, content, buffers)
                        if isinstance(content, dict) and "ping" in content:
                            self._tell_board()
        except (ValueError, TypeError, IndexError) as wrong:
            self._tell({"said": str(wrong)})

    def _from_page(self, edition, edited, bits, height, width, generation, pattern):
        board = checked(board_of(bits, height, width))
        generation = int(generation)
        self._take(board, generation, str(pattern), edition, (board, generation) if edited else self._origin)
        self._tell({"taken": edition})  # a page that is not answered takes the kernel for silent

    def _frames(self, edition, rule, wrap, engine_name, by, count):
        """Compute boards to come, `by` generations apart, and send them; fewer where they take long."""
        if edition != self._edition:  # the page has another board, and gets this one
            self._tell({"frames": {"edition": self._edition, "frames": []}})
            return self._tell_board()
        frames, cells = [], []
        for frame, board in self._ahead(rule, wrap, engine_name, by, count):
            frames.append(frame)
            cells.append(bits_of(board))
        return self._tell({"frames": {"edition": edition, "frames": frames}}, *cells)

    def _ahead(self, rule, wrap, engine_name, by, count):
        """Yield the description of each board to come, for the page, and the board."""
        generations, end = max(1, int(by)), time.perf_counter() + _BUSY
        for _ in range(min(int(count), _MOST_FRAMES)):
            done, began = 0, time.perf_counter()
            some = 1  # at first: how long it takes shows how many may follow at once
            while done < generations and (done == 0 or time.perf_counter() < end):
                self._board = self._advance(self._board, some, rule, wrap, engine_name)
                done += some
                some = min(generations - done, max(1, int(done * _BUSY / (time.perf_counter() - began))))
            seconds = time.perf_counter() - began
            self.generation += done
            name = "auto" if engine_name == "page" else engine_name
            description = {"generation": self.generation, "population": self.population, "engine": name}
            yield {**description, "cells": done * self._board.numel(), "seconds": seconds}, self._board
            if time.perf_counter() > end:
                return

    @traitlets.validate("rule")
    def _legal_rule(self, proposal):
        try:
            return str(life.Rule.parse(proposal["value"]))
        except ValueError as wrong:
            raise traitlets.TraitError(str(wrong)) from None

    def __repr__(self):
        where = f"{self.rule}, generation {self.generation}, {self.population} living cells"
        return f"LifePlayer({self.height} × {self.width}, {where})"


def _encoded(cells):
    return {"height": len(cells), "width": cells.shape[1], "cells": in_base64(bits_of(cells))}


def animate(
    board: torch.Tensor, generations: int, rule: str = "B3/S23", wrap: bool = True, seconds: float = 0.08
) -> Picture:
    """Return a `Picture` that plays `board` and the `generations` that follow it, `seconds` apart.

    `board` is `torch.uint8` (H, W) of 0 and 1; `rule` and `wrap` are as in `course.life.step`. It waits for Play, steps
    by button, slider or arrow key, and where the reader's system asks for less motion it only steps.
    """
    return film(list(life.frames(board, generations, rule, wrap)), seconds)
