"""The comparison with other graders: what it is made of, and that the page says what its rows say."""

import re

from tests.helpers.submissions import LABS, LIFE, Notebook, lab_called
from tests.slow.attacks.families.catalogue import ATTACKS
from tests.slow.attacks.peers.compare import CONTROLS, FOR_FILES, FOR_MARKS, PAGE, Row, _deserved, write_page
from tests.slow.attacks.peers.exercises import EXERCISES, TESTS, assignment, handed_in

NAMES = {attack.name for attack in ATTACKS}
FAMILIES = (
    "cached replay of the first answer",
    "a lazy tensor subclass",
    "patched timers and events",
    "a garbage-collector hunt for the expected value",
)


def test_every_attack_of_the_comparison_is_one_of_the_catalogue():
    assert {*FOR_MARKS, *FOR_FILES} <= NAMES
    assert FOR_MARKS[: len(FAMILIES)] == FAMILIES


def test_the_other_graders_tests_have_the_labs_points_and_take_its_solutions():
    lab, work = lab_called(LIFE), assignment(LABS / LIFE)
    for exercise in EXERCISES:
        assert sum(points for of, points, _ in TESTS.values() if of == exercise) == lab.exercise(exercise).points
    place: dict = {}
    for text in [*work["given"], *work["solutions"].values(), *(text for *_, text in work["tests"][:3])]:
        exec(text, place)  # the last is a race, which a busy machine may lose


def test_a_submission_is_carried_over_with_its_cells_in_their_order():
    notebook = Notebook(lab_called(LIFE)).answer("film", "film = 1").at_end("last = 1").add("first = 1")
    found = handed_in(notebook, Notebook(lab_called(LIFE)))
    assert found[0] == ["", "first = 1"] and found[-1] == ["", "last = 1"]
    assert [name for name, _ in found if name] == list(EXERCISES)


def test_the_page_calls_fooled_what_got_more_than_it_deserves(tmp_path):
    rows = [
        *(Row(one.name, _deserved(one), {"here": _deserved(one)}, frozenset()) for one in CONTROLS),
        Row("a replay", 2.0, {"here": 2.0, "nbgrader": 4.0, "otter-grader": 0.0}, frozenset()),
        Row("a reader of files", 0.0, {"here": 0.0, "nbgrader": 0.0}, frozenset({"nbgrader"})),
    ]
    write_page(rows, {"nbgrader": "0.9.6", "otter-grader": "7.0.0"}, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "| a replay | 2 | 2 | **fooled: 4** | 0 |" in text
    assert "| a reader of files | 0 | 0 | **reached** | – |" in text
    assert "this course: 0 of 2; nbgrader 0.9.6: 2 of 2; otter-grader 7.0.0: 0 of 1" in text


def test_the_published_page_has_every_row_and_nothing_that_fools_this_course():
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert [row[0] for row in rows] == [*(one.name for one in CONTROLS), *FOR_MARKS, *FOR_FILES]
    assert all(row[1] == row[2] for row in rows)
    assert rows[0][1:] == ("10", "10", "10", "10") and rows[1][1:] == ("0", "0", "0", "0")
