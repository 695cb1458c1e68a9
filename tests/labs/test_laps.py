"""The races for fun of labs 03 and 05: a stub and wrong answers never get a ratio, a right one does."""

import numpy as np
import pytest

from grader.lab.source import load_lab

SHIFTED = "np.roll(fast_step(board, generations), 1, axis=0)"
NO_WRAP = "fast_step(np.pad(board, generations), generations)[generations:-generations, generations:-generations]"
RACES = {
    "lab03_game_of_life": {
        "right": ("fast_step(board, generations)", "passed"),
        "a stub": ("...", "not yet"),
        "one generation too few": ("fast_step(board, generations - 1)", "wrong"),
        "moved by a row": (SHIFTED, "wrong"),
        "dead beyond the edge": (NO_WRAP, "wrong"),
    },
    "lab05_distributed_pi": {
        "right": ("count_inside(seed, 0, darts)", "passed"),
        "a stub": ("...", "not yet"),
        "no darts, only pi": ("round(darts * math.pi / 4)", "wrong"),
        "one seed for all": ("count_inside(0, 0, darts)", "wrong"),
        "half of the darts, twice": ("2 * count_inside(seed, 0, darts // 2)", "wrong"),
        "another count each time": ("np.random.default_rng().binomial(darts, math.pi / 4)", "wrong"),
        "a disc too large": ("count_inside(seed, 0, darts) + darts // 64", "wrong"),
    },
}
TRIED = [(lab, label) for lab, answers in RACES.items() for label in answers]


@pytest.fixture(scope="module")
def cells():
    return {name: load_lab(f"labs/{name}").source.cells for name in RACES}


def run_race(cells, answer):
    """Return the verdict of the race, with `answer` in place of what its function returns, on small questions."""
    names = {"__name__": "__main__"}
    for cell in cells:
        if cell.type == "code" and cell.role in ("given", "exercise"):
            exec(cell.solution, names)
    (race,) = [cell.text for cell in cells if cell.type == "code" and "lap(" in cell.text]
    (given,) = [line for line in race.splitlines() if line.endswith("  # or anything faster")]
    race = race.replace(given, f"    return {answer}").replace("2**24", "2**16").replace("(1024, 1024)", "(96, 96)")
    *before, last = race.strip().splitlines()
    exec("import torch\n" + "\n".join(before), names)
    return eval(last, names)


@pytest.mark.parametrize(("lab", "label"), TRIED)
def test_a_race_is_for_right_answers_only(cells, lab, label):
    answer, state = RACES[lab][label]
    verdict = run_race(cells[lab], answer)
    assert verdict.state == state, verdict
    assert ("times as fast as the last rung" in verdict.message) == (state == "passed")


def test_the_judge_of_darts_lets_honest_seeds_pass():
    """What chance allows is wide enough: 4 standard errors of the mean, and 3.5 of the spread, of 100 seeds."""
    draw = np.random.default_rng(1)
    off = draw.normal(size=(2000, 100))
    outside = (np.abs(off.mean(1)) > 0.4) | (off.var(1) < 0.5) | (off.var(1) > 1.6)
    assert outside.mean() < 0.002
