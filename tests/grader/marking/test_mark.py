"""Marks: what a submission gets is what its values say, whatever else it does; what goes wrong costs only itself."""

import json
import re
import time
from dataclasses import asdict, replace
from itertools import chain, repeat

import pytest

from grader.lab.secret_draw import draw_secret, drawing
from grader.lab.spec import Case, Exercise, Marking
from grader.marking.mark import mark_submission
from grader.marking.messages import Messages
from grader.marking.result_types import Json, Number
from grader.sandbox import Sandbox, SandboxUnavailable
from tests.helpers.small_lab import cells_of, code, notebook, write_small_lab

SECRET = b"s" * 32
FULL = {"double": 3, "total": 2, "shifted": 1, "words": 0}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return write_small_lab(tmp_path_factory.mktemp("labs"))


@pytest.fixture
def mark(box):
    """A function: the marks of the lab's solutions with these `answers` instead, and `before` them these cells."""

    def mark(lab, answers=None, before=(), sandbox=box):
        cells = [*cells_of(lab, answers)]
        for text in reversed(before):
            cells.insert(2, code(text))
        return mark_submission(lab, notebook(cells), SECRET, sandbox)

    return mark


@pytest.fixture
def hurried(monkeypatch):
    """The first sandbox has as long as the lab says, so that what hangs ends soon; those after it have plenty."""
    factors = chain([1.0], repeat(20.0))
    monkeypatch.setattr("grader.marking.questions.patience", lambda: next(factors))


def scores(marks):
    return {mark.name: mark.score for mark in marks.exercises}


def states(marks):
    return {mark.name: mark.state for mark in marks.exercises if mark.state != "graded"}


def test_the_solution_gets_everything_and_the_release_nothing(lab, mark, box):
    marks = mark(lab)
    assert scores(marks) == FULL
    assert not states(marks)
    assert marks.exercise("words").manual
    marks = mark_submission(lab, notebook(cells_of(lab, solved=False)), SECRET, box)
    assert marks.score == 0
    assert states(marks) == dict.fromkeys(FULL, "missing")


def test_marks_are_plain_data(lab, mark):
    told = json.loads(json.dumps(asdict(mark(lab))))
    assert told["lab"] == "small"
    assert told["exercises"][0]["cases"][0] == {"group": "", "edge": True, "right": True}


def test_a_wrong_answer_loses_its_own_points_and_gets_the_smallest_counterexample(lab, mark):
    marks = mark(lab, {"double": "def double(values):\n    return np.abs(2 * values)"})
    assert scores(marks) == {**FULL, "double": 0}
    assert "double([-" in marks.exercise("double").reason
    marks = mark(lab, {"double": "def double(values):\n    return 3 * values"})
    assert marks.exercise("double").reason == "double([1]) gave [3]; expected [2]."


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("def total(values):\n    raise KeyError(3)", r"total\(\[\]\) raised KeyError: 3 \(line 3: raise KeyError"),
        ("def total(values):\n    return 'many'", "gave a str, where a whole number is asked for"),
        ("def total(values):\n    import sys\n    sys.exit()", "raised SystemExit"),
        ("total = 3", "raised TypeError: 'int' object is not callable"),
    ],
)
def test_an_answer_that_gives_nothing_of_the_kind_is_told_so(lab, mark, answer, says):
    marks = mark(lab, {"total": answer, "shifted": "def shifted(number):\n    return number + 3"})
    assert scores(marks) == {**FULL, "total": 0}
    found = marks.exercise("total")
    assert found.state == "graded"
    assert re.search(says, found.reason), found.reason


def test_a_cell_that_fails_costs_what_depends_on_it_only(lab, mark):
    marks = mark(lab, {"double": "def double(values:\n    return 1"}, before=["1 / 0"])
    assert scores(marks) == {**FULL, "double": 0}
    assert marks.exercise("double").state == "crashed"
    assert "SyntaxError" in marks.exercise("double").reason


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("def double(values):\n    while True: pass", "timed_out"),
        ("def double(values):\n    import os\n    os._exit(0)", "crashed"),
        ("def double(values):\n    import os\n    os.kill(os.getpid(), 9)", "crashed"),
        ("while True: pass\ndef double(values): return 2 * values", "timed_out"),
        ("import os\nos._exit(1)", "crashed"),
    ],
)
def test_an_answer_that_hangs_or_ends_everything_costs_only_itself(lab, mark, answer, state, hurried):
    marks = mark(replace(lab, seconds=1.5), {"double": answer})
    assert states(marks) == {"double": state}
    assert scores(marks) == {**FULL, "double": 0}


def test_an_answer_too_slow_for_one_group_keeps_the_other(lab, mark, hurried):
    answer = (
        "import time\ndef total(values):\n    time.sleep(len(values) if len(values) > 5 else 0)\n    return sum(values)"
    )
    found = mark(lab, {"total": answer}).exercise("total")
    assert (found.state, found.score) == ("graded", 1)
    assert "did not come to an end in time" in found.reason


def test_bytes_that_the_student_writes_to_the_grader_are_not_believed(lab, mark):
    forged = """
import os
for number in range(3, 64):
    try:
        os.write(number, b"r" + bytes(4) + b"v" + bytes(4000))
    except OSError:
        pass
"""
    marks = mark(lab, {name: "pass" for name in ("double", "total", "shifted")}, before=[forged])
    assert marks.score == 0


def test_who_writes_to_the_grader_without_end_is_stopped_in_time(lab, mark, hurried):
    endless = """
import os, struct
while True:
    for number in range(4, 64):
        try:
            os.write(number, b"c" + struct.pack("<I", 1))
        except OSError:
            pass
"""
    started = time.monotonic()
    assert scores(mark(replace(lab, seconds=1.0), before=[endless])) == FULL  # it says itself which cell it is
    assert time.monotonic() - started < 60


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline",
        "%%time\nhelper = 3",
        "!true",
        "helper = !echo 1",
        "%load_ext there_is_no_such_extension\nhelper = 3",
        "%no_such_magic",
        "get_ipython().run_line_magic('matplotlib', 'inline')",
        "display(3)",
        "from IPython import get_ipython\nget_ipython().run_line_magic('matplotlib', 'inline')\nassert get_ipython()",
        "from IPython.display import display, HTML\ndisplay(HTML('x'))",
        "import asyncio\nawait asyncio.sleep(0)",
        "import warnings, sys\nwarnings.warn('careful')\nprint('noise', file=sys.stderr)\nprint('x' * 100000)",
        "import sys\nsys.stdout = sys.stderr = None",
        "import atexit, threading\natexit.register(lambda: 1 / 0)\nthreading.Thread(target=lambda: 1 / 0).start()",
        "input('name? ')",
        "exit()",
        "np.double?",
        "'text'\n_",
        "check(lambda: 3)\nassert check(double)",
        "import inspect\ndef f(): pass\nassert inspect.getsource(f)",
        "import pickle\ndef f(): pass\nassert pickle.loads(pickle.dumps(f)) is f",
    ],
)
def test_what_people_have_in_notebooks_costs_nothing(lab, mark, cell):
    marks = mark(lab, before=[cell])
    assert scores(marks) == FULL


@pytest.mark.parametrize("line", ["%matplotlib inline", "!no_such_command", "listing = !ls", "%no_such_magic"])
def test_lines_below_a_magic_run_whatever_the_magic_does(lab, mark, line):
    answer = "def double(values):\n    return factor * values"
    assert scores(mark(lab, {"double": answer}, before=[f"{line}\nfactor = 2"])) == FULL


@pytest.fixture
def real(box):
    """The real sandbox where this machine has it."""
    try:
        Sandbox().run("pass")
    except SandboxUnavailable:
        return box
    return Sandbox


def test_transformers_and_replaced_displays_do_not_reach_the_evidence(lab, mark):
    hostile = (
        "ip = get_ipython()\nip.input_transformers_post.append(lambda lines: ['1 / 0'])\n"
        "import ast\nclass T(ast.NodeTransformer):\n    def visit(self, node): raise RuntimeError\n"
        "ip.ast_transformers.append(T())\nip.run_cell = None"
    )
    assert scores(mark(lab, before=[hostile])) == FULL


def test_a_notebook_worked_on_in_another_order_than_it_stands_in_is_run(lab, box):
    cells = cells_of(lab, {"double": "def double(values):\n    return factor * values\nassert factor"})
    marks = mark_submission(lab, notebook([*cells, code("factor = 2")]), SECRET, box)
    assert scores(marks) == FULL


def test_answers_cannot_change_the_question_that_they_are_judged_by(lab, mark):
    marks = mark(lab, {"double": "def double(values):\n    values[:] = 0\n    return values"})
    assert scores(marks)["double"] == 0


def test_the_same_file_is_asked_the_same_and_any_other_anew(lab):
    data = notebook(cells_of(lab))
    one, same = (draw_secret(b"class", "ada", "small", data) for _ in range(2))
    others = {
        draw_secret(*parts)
        for parts in [
            (b"c", "ada", "small", data),
            (b"class", "bob", "small", data),
            (b"class", "ada", "large", data),
            (b"class", "ada", "small", data + b" "),
            (b"class", "adas", "mall", data),
        ]
    }
    assert one == same
    assert len(others | {one}) == 6
    assert drawing(one, "x").integers(1 << 60) == drawing(same, "x").integers(1 << 60)
    assert drawing(one, "x").integers(1 << 60) != drawing(one, "y").integers(1 << 60)


def test_marked_again_it_is_told_the_same(lab, mark, box, real):
    answer = "def total(values):\n    raise ValueError([object(), hash('a'), list({'a', 'b', 'c', 'd'})])"
    first, again, elsewhere = (mark(lab, {"total": answer}, sandbox=sandbox) for sandbox in (real, real, box))
    assert "<object object>" in first.exercise("total").reason
    assert first.exercises == again.exercises == elsewhere.exercises


@pytest.mark.parametrize("raised", [KeyError("missing"), SystemExit(3)])
def test_a_judge_that_raises_costs_its_exercise_no_mark_and_is_named(lab, mark, raised):
    def too_strict(case, got):
        raise raised

    stated = replace(lab.exercises[0].statement, expected=None, judge=too_strict)
    double = replace(lab.exercises[0], statement=stated)
    marks = mark(replace(lab, exercises=(double, *lab.exercises[1:])))
    assert states(marks) == {"double": "grader_failed"}
    assert f"its judge too_strict raised {type(raised).__name__}" in marks.exercise("double").reason


def test_a_cases_truth_never_goes_into_the_sandbox(lab, mark, monkeypatch):
    sent, send = [], Messages.send

    def record(self, message, deadline):
        sent.append(bytes(message))
        send(self, message, deadline)

    monkeypatch.setattr(Messages, "send", record)
    case = Case((["asked about"],), truth="what nobody in there may know")
    told = Marking(Exercise("total", lambda draw: [case]), Json(), points=2)
    lab = replace(lab, exercises=[told if one.name == "total" else one for one in lab.exercises])
    marks = mark(lab, {"total": "def total(values):\n    return 'what nobody in there may know'"})
    assert scores(marks)["total"] == 2, "the judge knows it"
    assert any(b"asked about" in message for message in sent)
    said = [message for message in sent if b"what nobody in there may know" in message]
    assert said == sent[:1], "only the cells, in which the student wrote it"


def test_no_notebook_no_marks_and_the_reason(lab, box):
    marks = mark_submission(lab, b"{", SECRET, box)
    assert set(states(marks).values()) == {"unreadable"}
    assert "not JSON" in marks.exercise("double").reason
    assert set(states(mark_submission(lab, bytes(10**8), SECRET, box)).values()) == {"refused"}
    assert [(mark.score, mark.max_score) for mark in marks.exercises] == [(0, 3), (0, 2), (0, 1), (0, 4)]


@pytest.mark.parametrize(("off", "score"), [(0.0, 2), (1e-8, 2), (1e-3, 0), (-1e-5, 0)])
def test_a_mark_forgives_a_float_s_rounding_and_not_a_thousandth(lab, mark, off, score):
    asked = Exercise("total", lambda: [([0.1, 0.2],), ([1e6],), ([-3.5],)], lambda values: float(sum(values)))
    exercises = [Marking(asked, Number()) if one.name == "total" else one for one in lab.exercises]
    floats = replace(lab, exercises=exercises)
    answer = f"def total(values):\n    return sum(values) * {1 + off!r}"
    found = mark(floats, {"total": answer}).exercise("total")
    assert found.score == score * (found.max_score / 2), found.reason
