"""Lab 03's exercises: the rule cell by cell, films and repeats of another automaton, patterns written to files first.

Plain numpy: boards are arrays, and torch is not needed to say whether they are right.
"""

from functools import partial

import numpy as np

from course.checks.exercise import Exercise, asking, by_name, strategy

from . import cases, oracles
from .driver import drive_by_parity

_drawn = partial(strategy, f"{__package__}.strategies")

EXERCISES = by_name(
    Exercise(
        "next_generation",
        asking(cases.boards),
        oracles.one_generation,
        read=np.asarray,
        inputs=_drawn("boards"),
        oracle="every cell by itself, its eight neighbours looked up with indices modulo the size",
        hint="count eight neighbours, not nine; beyond the last column comes the first.",
    ),
    Exercise(
        "film",
        asking(cases.films),
        oracles.every_frame,
        call=drive_by_parity,
        adds=("step",),
        read=np.asarray,
        inputs=_drawn("films"),
        oracle="the frames one after another, by another rule than Life's",
        hint="frame 0 is the board itself, so there is one frame more than generations.",
    ),
    Exercise(
        "read_rle",
        cases.files,
        read=np.asarray,
        inputs=_drawn("files"),
        oracle="the board that the file was written from",
        hint="make an empty board of the head's size first; a count belongs to the sign after it, $ included.",
    ),
    Exercise(
        "run_until_repeat",
        asking(cases.repeats),
        oracles.first_repeat,
        call=drive_by_parity,
        adds=("step",),
        inputs=_drawn("repeats"),
        oracle="every board kept whole and compared with all before it, by another rule than Life's",
        hint="a dictionary from a board's bytes, board.tobytes(), to the generation that had them first.",
    ),
    Exercise(
        "rule_step",
        asking(cases.rules),
        oracles.by_rule,
        read=np.asarray,
        inputs=_drawn("rules"),
        oracle="every cell by itself, born and surviving by the digits",
        hint="a dead cell asks only the digits after B, a living one only those after S.",
    ),
    Exercise(
        "fast_step",
        cases.runs,
        oracles.after,
        read=np.asarray,
        inputs=_drawn("runs"),
        oracle="every cell by itself, generation after generation; the speed is a ratio to eight rolls, timed outside",
        hint="every generation, edges included, as in next_generation.",
    ),
)
