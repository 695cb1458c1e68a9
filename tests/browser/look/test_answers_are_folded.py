"""No chapter's page tells the answer of a bet that nobody has made, in words or in a picture's alternative."""

import re

import nbformat
import pytest

from course.widgets import Predict
from tests.browser.look.accessibility import measured
from tests.browser.look.notebook_page import CHAPTERS

pytestmark = [pytest.mark.browser, pytest.mark.long]


def in_sight(rendered, notebook):
    """Return what is seen of each cell; nothing of what differs from run to run, whose numbers may meet by chance."""
    seen = measured(rendered(notebook), "cellsInSight")
    differs = ["timing" in cell.metadata.get("tags", ()) for cell in notebook.cells]
    return [cell | {"words": "", "answers": []} if other else cell for cell, other in zip(seen, differs, strict=True)]


def told(cells):
    """Return a line for each number that answers a bet, and stands in sight of it, up to two cells after its answer."""
    found = []
    asked = {name: place for place, cell in enumerate(cells) for name in cell["bets"]}
    for place, cell in enumerate(cells):
        for answer in cell["answers"]:
            sight = cells[asked[answer["name"]] : place + 3]
            for words in (one for value in numbers(answer) for one in spoken(value, answer["unit"])):
                shown = re.compile(rf"(?<![\d.,·−-]){re.escape(words)}(?![\d·]|[.,]\d)")
                found += [f"{answer['name']}: {words} in: {line}" for one in sight for line in lines(one, shown)]
    return found


def numbers(answer):
    """Return the numbers that answer a bet, of a choice and of a drawn line none."""
    value = answer["value"] if answer["kind"] == "number" else []
    return [one for one in value if one is not None]


def spoken(value, unit):
    """Return a number as a text may have it: a small one with its unit, for there are many small numbers."""
    if abs(value) >= 100 or value != int(value):
        precise = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return {precise, f"{value:g}"} if len(precise.strip("0.,")) > 1 else {f"{precise} {unit}"}
    return {f"{value:g} {unit}"} if unit else set()


def lines(cell, shown):
    """Return what of a cell's words tells it; the question and the axis of a bet do not."""
    asked = ("Predict: ", "The answer, folded")
    return [line for line in cell["words"].splitlines() if shown.search(line) and not line.startswith(asked)]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_answer_stands_in_sight_of_a_bet_that_is_not_made(rendered, chapter):
    cells = in_sight(rendered, nbformat.read(chapter, as_version=4))
    assert sum(len(cell["answers"]) for cell in cells) > 0
    assert told(cells) == []


WRONG = {
    "a line of output": nbformat.v4.new_output("stream", text="98,304 bytes moved\n"),
    "what a picture is said to be": nbformat.v4.new_output(
        "display_data", {"text/html": "<svg role='img' aria-label='98304 bytes' width='9' height='9'></svg>"}
    ),
}


@pytest.mark.parametrize("wrong", [*WRONG, "none"])
def test_an_answer_that_is_told_below_its_fold_is_found(rendered, wrong):
    bet = Predict("How many bytes?", 1_000, 10**7, log=True, unit="bytes", name="01 planted")
    shown = [[bet], [bet.reveal(98_304, "So many.", shows="98,304 bytes")], []]
    outputs = [
        [nbformat.v4.new_output("display_data", {"text/html": one._repr_mimebundle_()["text/html"]}) for one in cell]
        for cell in shown
    ]
    outputs[2] += [WRONG[wrong]] if wrong in WRONG else []
    cells = [nbformat.v4.new_code_cell("show()", outputs=one) for one in outputs]
    found = told(in_sight(rendered, nbformat.v4.new_notebook(cells=cells)))
    assert bool(found) == (wrong in WRONG), found
