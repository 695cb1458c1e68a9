"""Lab 04's exercises: pairs grouped by hand, means of slices, a mean that survives rounding, names of places.

No torch, and no cluster: where work runs is asked as a function of a spec or of a record.
"""

from functools import partial

from course.checks.exercise import Exercise, asking, by_name, strategy

from . import cases, oracles, place_cases
from .driver import drive_brackets, drive_kept, drive_once, drive_refused

_drawn = partial(strategy, f"{__package__}.strategies")

EXERCISES = by_name(
    Exercise(
        "map_and_reduce",
        asking(cases.lines),
        oracles.all_pairs_first,
        call=drive_brackets,
        adds=("by_initial", "bracket"),
        inputs=_drawn("lines"),
        oracle="all pairs written down; for each key, its values picked out and joined from the left",
        hint="a key that is new keeps its value as it is; one that is known gets join(what it has, the value).",
    ),
    Exercise(
        "rename_job",
        asking(place_cases.renamings),
        judge=oracles.judge_renamed,
        call=drive_kept,
        inputs=_drawn("renamings"),
        oracle="each place cut at its slashes, a piece renamed only when all of it is the job's; the input as it was",
        hint='"localhost" has "local" in it; place.split("/") gives pieces that can be compared whole.',
    ),
    Exercise(
        "mean_of_slices",
        asking(cases.sliced_means),
        oracles.exact_mean,
        inputs=_drawn("sliced_means"),
        oracle="the weighted mean in exact fractions, empty slices left out",
        hint="leave out slices of size 0 before you multiply: nan times 0 is nan.",
    ),
    Exercise(
        "spread_of_slices",
        cases.cuts,
        inputs=_drawn("cuts"),
        oracle="the numbers that the slices were cut from, all in one list, in exact fractions",
        hint="the mean of the squares is variance + mean²; that can be weighted, and taken apart again at the end.",
    ),
    Exercise(
        "steady_mean",
        asking(cases.streams),
        accepts=oracles.near_the_mean,
        call=drive_once,
        inputs=_drawn("streams"),
        oracle="`math.fsum`, which adds without rounding; 0.001 either way is right",
        hint="add every block up in float64, and keep two numbers from each: its total and its size.",
    ),
    Exercise(
        "locate",
        place_cases.pins,
        judge=oracles.judge_located,
        call=drive_refused,
        inputs=_drawn("places"),
        oracle="the names of all tasks written out, and the place looked for among them",
        hint="take job, task and device apart first; then ask the dictionary, and the list that it gives.",
    ),
    Exercise(
        "strays",
        asking(place_cases.records),
        oracles.away_from,
        inputs=_drawn("records"),
        oracle="each device's name compared with the place piece by piece, from the start",
        hint="/gpu:1 is how /gpu:10 begins: compare whole pieces between the slashes.",
    ),
)
