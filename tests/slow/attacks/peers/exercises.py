"""Three exercises of lab 03 as a teacher writes them for other graders: hidden tests, in the documentation's style.

The expected value is worked out in the test, the answer is called in the same Python and compared with it; a speed is
what `timeit` says, the best of five. Nothing in it is made to be fooled, or not to be.
"""

from grader.lab.source import load_lab

REFERENCE = """\
import numpy as np
def reference(board, born=(3,), stays=(2, 3)):
    around = sum(np.roll(board.astype(int), (d, r), axis=(0, 1)) for d in (-1, 0, 1) for r in (-1, 0, 1)) - board
    return (np.isin(around, born) & (board == 0) | np.isin(around, stays) & (board == 1)).astype(np.uint8)
def boards(*sizes):
    return [(np.random.default_rng(size[0]).random(size) < 0.4).astype(np.uint8) for size in sizes]
"""

#: test -> (the exercise it belongs to, its points, its text); in the order of the lab
TESTS = {
    "next_generation": (
        "next_generation",
        3,
        """\
for board in boards((5, 7), (6, 4), (9, 12)):
    expected = reference(board)
    assert np.array_equal(next_generation(board.copy()), expected)
""",
    ),
    "rule_step": (
        "rule_step",
        3,
        """\
for board in boards((5, 8), (7, 4), (10, 12)):
    expected = reference(board, (3, 6), (2, 3))
    assert np.array_equal(rule_step(board.copy(), "B36/S23"), expected)
""",
    ),
    "fast_step_right": (
        "fast_step",
        2,
        """\
for board in boards((5, 9), (8, 4)):
    expected = reference(reference(board))
    assert np.array_equal(fast_step(board.copy(), 2), expected)
""",
    ),
    "fast_step_quick": (
        "fast_step",
        2,
        """\
from timeit import repeat
board, = boards((300, 300))
expected = board
for _ in range(8):
    expected = reference(expected)
slow = min(repeat(lambda: eight_rolls(board, 8), number=1, repeat=5))
quick = min(repeat(lambda: fast_step(board, 8), number=1, repeat=5))
assert np.array_equal(fast_step(board, 8), expected)
assert slow / quick >= 3
""",
    ),
}
EXERCISES = ("next_generation", "rule_step", "fast_step")
#: From the lab: what everybody is given, less what only this course has.
GIVEN = "import numpy as np\n"


def assignment(lab_folder):
    """Return the assignment as plain data, for the programs that run where the other graders are installed."""
    source = load_lab(lab_folder).source
    rolls = next(cell.text for cell in source.cells if "def eight_rolls" in cell.text and cell.role != "exercise")
    solutions = {cell.exercise: cell.solution for cell in source.exercises() if cell.exercise in EXERCISES}
    tests = [[name, *about[:2], REFERENCE + about[2]] for name, about in TESTS.items()]
    return {"given": [GIVEN, rolls], "solutions": solutions, "tests": tests}


def handed_in(notebook, released):
    """Return a submission to lab 03 as [[exercise or "", code], …]: answers, and cells that `released` doesn't have."""
    known = {cell.get("id") for cell in released.cells}
    return [
        [cell["id"] if cell["id"] in EXERCISES else "", "".join(cell["source"])]
        for cell in notebook.cells
        if cell["cell_type"] == "code" and (cell["id"] in EXERCISES or cell.get("id") not in known)
    ]
