"""Rebuilding: what runs is the lab's notebook with the student's code in it, whatever an editor did to the file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.submission.read import CELLS, LIMIT, TooLarge, Unreadable, read_submission
from grader.submission.rebuild import rebuild
from tests.helpers.small_lab import cells_of, code, markdown, notebook, write_small_lab

DOUBLE = "def double(values):\n    return np.asarray(values) + values"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return write_small_lab(tmp_path_factory.mktemp("labs"))


def texts(rebuilt):
    return [step.text for step in rebuilt.steps]


def at(cells, name):
    return next(i for i, cell in enumerate(cells) if cell["id"] == name)


def test_the_release_itself_is_answered_nowhere(lab):
    rebuilt = rebuild(lab, notebook(cells_of(lab, solved=False)))
    assert set(rebuilt.answered.values()) == {"as released"}
    assert len(rebuilt.steps) == 2 + 4  # given cells and stubs; no checks, nothing that is for the notebook only


def test_checks_and_unchanged_pictures_are_not_run_and_answers_are_known(lab):
    rebuilt = rebuild(lab, notebook(cells_of(lab)))
    assert not any("check(" in text or "picture" in text for text in texts(rebuilt) if "import" not in text)
    assert [step.exercise for step in rebuilt.steps] == [None, None, "double", "total", "shifted", "words"]


def without_ids(cells):
    return [{**cell, "id": f"new{i}", "metadata": {}} for i, cell in enumerate(cells)]


def without_metadata(cells):
    return [{key: value for key, value in cell.items() if key not in ("id", "metadata")} for cell in cells]


def without_markers(cells):
    return [
        {**cell, "source": cell["source"].split("\n", 1)[-1]} if "# exercise:" in cell["source"] else cell
        for cell in cells
    ]


def with_windows_line_ends(cells):
    return [{**cell, "source": cell["source"].replace("\n", "\r\n")} for cell in cells]


def with_lists_of_lines(cells):
    return [{**cell, "source": cell["source"].splitlines(True)} for cell in cells]


def as_colab_saves(cells):
    return [{**cell, "id": None, "metadata": {"id": cell["id"], "colab": {}}} for cell in cells]


@pytest.mark.parametrize(
    "saved",
    [
        without_ids,
        without_metadata,
        lambda cells: without_markers(without_ids(cells)),
        lambda cells: with_windows_line_ends(without_ids(cells)),
        with_lists_of_lines,
        as_colab_saves,
    ],
)
@pytest.mark.parametrize("solved", [True, False])
def test_whatever_an_editor_rewrites_the_same_cells_run(lab, saved, solved):
    plain = rebuild(lab, notebook(cells_of(lab, {"double": DOUBLE}, solved)))
    rewritten = rebuild(lab, notebook(saved(cells_of(lab, {"double": DOUBLE}, solved))))
    assert [s.exercise for s in rewritten.steps] == [s.exercise for s in plain.steps]
    assert rewritten.answered == plain.answered


def test_the_older_format_of_notebooks_is_read(lab):
    cells = [
        {"cell_type": c["cell_type"], "input": c["source"], "outputs": [], "language": "python", "metadata": {}}
        if c["cell_type"] == "code"
        else c
        for c in cells_of(lab)
    ]
    data = json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}).encode()
    assert texts(rebuild(lab, data)) == texts(rebuild(lab, notebook(cells_of(lab))))


def test_lost_given_cells_come_back_where_they_stood(lab):
    cells = [cell for cell in cells_of(lab) if "OFFSET = 3" != cell["source"] and "import" not in cell["source"]]
    assert texts(rebuild(lab, notebook(cells))) == texts(rebuild(lab, notebook(cells_of(lab))))


def test_an_edited_given_cell_runs_as_edited_and_an_emptied_one_as_released(lab):
    cells = cells_of(lab)
    offset = next(cell for cell in cells if cell["source"] == "OFFSET = 3")
    offset["source"] = "OFFSET = 3 + 0"
    assert "OFFSET = 3 + 0" in texts(rebuild(lab, notebook(cells)))
    offset["source"] = "\n"
    assert "OFFSET = 3" in texts(rebuild(lab, notebook(cells)))


def test_cells_that_were_added_run_in_their_place(lab):
    cells = cells_of(lab)
    cells.insert(at(cells, "double"), code("helper = 1", "mine"))
    found = texts(rebuild(lab, notebook(cells)))
    assert found.index("helper = 1") == 2


def test_an_edited_check_is_the_students_own_code_and_runs(lab):
    cells = cells_of(lab)
    cells[at(cells, "check_double")]["source"] = "helper = 1\ncheck(double)"
    assert "helper = 1\ncheck(double)" in texts(rebuild(lab, notebook(cells)))


def test_a_copy_of_the_stub_left_behind_does_not_undo_the_answer(lab):
    cells = cells_of(lab, {"double": DOUBLE})
    stub = cells_of(lab, solved=False)[at(cells, "double")]
    for place in (0, len(cells)):
        both = [*cells[:place], stub, *cells[place:]]
        rebuilt = rebuild(lab, notebook(both))
        assert sum(step.exercise == "double" for step in rebuilt.steps) == 1
        assert rebuilt.answered["double"] == "changed"


def test_a_cell_handed_in_twice_runs_twice_in_order(lab):
    cells = cells_of(lab)
    first, second = ({**cells[at(cells, "double")], "source": f"def double(values):\n    return {n}"} for n in (1, 2))
    place = at(cells, "double")
    found = texts(rebuild(lab, notebook([*cells[:place], first, second, *cells[place + 1 :]])))
    assert [text[-1] for text in found if "def double" in text] == ["1", "2"]


def test_an_answer_in_a_cell_of_its_own_beside_the_untouched_stub_counts(lab):
    for place in (0, 100):
        cells = cells_of(lab, solved=False)
        cells.insert(place, code(DOUBLE, "mine"))
        rebuilt = rebuild(lab, notebook(cells))
        assert rebuilt.answered["double"] == "changed"
        assert [step.text for step in rebuilt.steps if step.exercise == "double"] == [DOUBLE]


def test_a_split_cell_runs_in_both_parts(lab):
    cells = cells_of(lab)
    place = at(cells, "double")
    parts = [code("# exercise: double\nhalf = 2", "a"), code("def double(values):\n    return half * values", "b")]
    rebuilt = rebuild(lab, notebook([*cells[:place], *parts, *cells[place + 1 :]]))
    assert [step.text for step in rebuilt.steps if step.exercise == "double"] == [part["source"] for part in parts]


def test_a_deleted_answer_and_one_turned_into_text_are_absent(lab):
    cells = cells_of(lab)
    cells[at(cells, "total")] = markdown(cells[at(cells, "total")]["source"], "total")
    del cells[at(cells, "double")]
    rebuilt = rebuild(lab, notebook(cells))
    assert rebuilt.answered["double"] == rebuilt.answered["total"] == "absent"


def test_metadata_that_asks_for_anything_is_not_heard(lab):
    cells = cells_of(lab)
    for cell in cells:
        cell["metadata"] = {"tags": ["skip-execution", "notebook-only"], "nbgrader": {"grade_id": ["x"], "points": 99}}
    assert texts(rebuild(lab, notebook(cells))) == texts(rebuild(lab, notebook(cells_of(lab))))


def test_leaving_a_step_out_leaves_out_the_whole_answer(lab):
    cells = cells_of(lab)
    cells.insert(at(cells, "double"), code("# exercise: double\nhalf = 2", "a"))
    rebuilt = rebuild(lab, notebook(cells))
    rest = rebuilt.without(next(step for step in rebuilt.steps if step.exercise == "double"))
    assert [s.exercise for s in rest.steps] == [None, None, "total", "shifted", "words"]
    assert len(rebuilt.without(rebuilt.steps[0]).steps) == len(rebuilt.steps) - 1


def test_pictures_among_the_outputs_are_shown_as_they_came_and_given_cells_are_known(lab):
    cells = cells_of(lab)
    cells[at(cells, "double")]["outputs"] = [{"output_type": "display_data", "data": {"image/png": "AAAA"}}]
    shown = rebuild(lab, notebook(cells)).cells
    assert [cell.pictures for cell in shown if cell.pictures] == [("AAAA",)]
    assert [cell.given for cell in shown if "OFFSET = 3" == cell.text] == [True]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"{", "not JSON"),
        (b"[1, 2]", "no notebook"),
        (b"{}", "no list of cells"),
        (b'{"cells": {}}', "no list of cells"),
        (b'{"cells": [], "nbformat": 5}', "nbformat is 5"),
        (b"\x89PNG\xff", "not text in UTF-8"),
        (b"PK\x03\x04" + bytes(range(256)), "not text in UTF-8"),
        ('{"cells": ["é"]}'.encode("latin-1"), "not text in UTF-8"),
        (b"import os\nos.system('true')\n", "not JSON"),
        (b"<!doctype html><script>alert(1)</script>", "not JSON"),
        (b'{"cells": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"cells": ' + b"9" * 100_000 + b"}", "not JSON"),
    ],
)
def test_a_file_that_is_no_notebook_gets_a_sentence(data, says):
    with pytest.raises(Unreadable, match=says):
        read_submission(data)


def test_a_file_of_100_mb_or_of_too_many_cells_is_refused_with_what_to_do():
    with pytest.raises(TooLarge, match="it has 105 MB; 34 MB is the most that is read. Clear the outputs"):
        read_submission(bytes(105_000_000))
    assert LIMIT < 105_000_000
    with pytest.raises(TooLarge, match="cells"):
        read_submission(notebook([code("")] * (CELLS + 1)))


def test_a_file_that_would_fill_the_memory_is_refused():
    with pytest.raises(TooLarge, match="values"):
        read_submission(b'{"cells": [' + b"[]," * 2_000_000 + b"[]]}")


def test_odd_values_where_text_should_be_are_no_text():
    odd = [None, 1, {"cell_type": 7}, {"cell_type": "code", "source": [1, "a", None]}, {"source": {"x": 1}}, []]
    odd.append({"cell_type": "code", "source": "\ud800", "outputs": {"a": 1}, "metadata": ["x"]})
    cells = read_submission(notebook(odd))
    assert [cell.text for cell in cells] == ["", "a", "", "?"]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=9)
    | st.sampled_from(["code", "double", "check_double"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = {"cell_type", "id", "source", "input", "metadata", "outputs"}


@given(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, ANYTHING)), max_size=5), ANYTHING)
def test_whatever_a_notebook_holds_it_is_rebuilt_or_refused_in_a_sentence(lab, cells, format_):
    for data in (notebook(cells, nbformat=format_), notebook([{"cell_type": "code", **cell} for cell in cells])):
        try:
            rebuilt = rebuild(lab, data)
        except (Unreadable, TooLarge) as problem:
            assert str(problem).endswith(".")
        else:
            assert all(isinstance(step.text, str) for step in rebuilt.steps)
            assert len(rebuilt.cells) == len(cells)


def test_notebooks_with_a_byte_order_mark_are_read():
    for encoding in ("utf-8-sig", "utf-16"):
        assert [c.text for c in read_submission(notebook([code("é")]).decode().encode(encoding))] == ["é"]
