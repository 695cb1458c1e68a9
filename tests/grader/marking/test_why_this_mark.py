"""From what was asked to a mark: points, the state, and the reason in words."""

from dataclasses import replace

import pytest

from grader.lab.spec import Case, Exercise, Marking, Race
from grader.marking.result_types import Integer
from grader.marking.rounds import Outcomes, Result
from grader.marking.why_this_mark import ExerciseMark, verdict
from grader.submission.rebuild import Rebuilt

SMALL, LARGE = Case((1,), group="small", edge=True), Case((22,), group="large")
RIGHT, SLOW = Result(), Result("too slow", "timed_out")
RACE = Race("reference", 4.0, lambda draw, answer: (answer,), group="large")


def exercise(race=None, points=4, **more):
    groups = {"small": 0.25, "large": 0.75}
    return Marking(Exercise("fast", list), Integer(), groups=groups, race=race, points=points, **more)


def mark(results, marking=None, answered="changed", **asked):
    marking, cases = marking or exercise(), [SMALL, LARGE][: len(results)]
    told = Outcomes(cases={"fast": cases}, results={"fast": list(results)}, **asked)
    return verdict(marking, told, Rebuilt((), (), {"fast": answered}))


def test_all_right_is_all_points_and_each_question_is_told():
    found = mark([RIGHT, RIGHT])
    assert (found.state, found.score, found.max_score, found.manual) == ("graded", 4, 4, False)
    assert found.reason == "2 questions, all right."
    assert ExerciseMark("fast", "graded", 4, 4) == replace(found, reason="", cases=())
    assert found.cases == (
        {"group": "small", "edge": True, "right": True},
        {"group": "large", "edge": False, "right": True},
    )


@pytest.mark.parametrize(
    ("results", "answered", "state", "score", "reason"),
    [
        ([Result("wrong"), RIGHT], "changed", "graded", 3, "wrong."),
        ([Result("wrong"), Result("long and wrong")], "changed", "graded", 0, "wrong."),
        ([Result("wronger"), Result("wrongly")], "changed", "graded", 0, "wronger."),
        ([RIGHT, SLOW], "changed", "graded", 1, "too slow."),
        ([Result("wrong"), SLOW], "changed", "timed_out", 0, "wrong."),
        ([Result("ended", "crashed"), SLOW], "changed", "crashed", 0, "ended."),
        ([Result("not asked", "timed_out"), SLOW], "changed", "timed_out", 0, "too slow."),
        (
            [Result("wrong"), Result("wrong, too")],
            "as released",
            "missing",
            0,
            "The cell is as released: not answered.",
        ),
        ([Result("wrong"), RIGHT], "as released", "graded", 3, "wrong."),
    ],
)
def test_a_wrong_answer_loses_its_group_and_the_shortest_counterexample_is_told(
    results, answered, state, score, reason
):
    found = mark(results, answered=answered)
    assert (found.state, found.score, found.reason) == (state, score, reason)
    assert [case["right"] for case in found.cases] == [result.problem is None for result in results]


def test_of_two_reasons_of_one_length_that_of_the_smaller_question_is_told():
    told = Outcomes(cases={"fast": [LARGE, SMALL]}, results={"fast": [Result("aaaa"), Result("bbbb")]})
    assert verdict(exercise(), told, Rebuilt((), (), {"fast": "changed"})).reason == "bbbb."


@pytest.mark.parametrize(
    ("results", "raced", "state", "score", "reason"),
    [
        ([RIGHT, RIGHT], Result(), "graded", 4, "2 questions, all right."),
        ([RIGHT, RIGHT], Result("only twice as fast"), "graded", 1, "only twice as fast."),
        ([RIGHT, RIGHT], Result("in the race, wrong", wrong=True), "graded", 0, "in the race, wrong."),
        ([RIGHT, SLOW], None, "graded", 1, "too slow."),
        ([RIGHT, Result("wrong")], None, "graded", 0, "wrong."),
        ([Result("wrong"), RIGHT], None, "graded", 0, "wrong."),
    ],
)
def test_a_race_that_is_lost_or_not_run_loses_its_group_and_a_wrong_answer_there_everything(
    results, raced, state, score, reason
):
    found = mark(results, exercise(RACE), races={} if raced is None else {"fast": raced})
    assert (found.state, found.score, found.reason) == (state, score, reason)


def test_a_race_without_a_group_of_its_own_loses_everything():
    alone = Marking(Exercise("fast", list), Integer(), race=RACE, points=2)
    assert alone.share([SMALL], [True], race_lost=True) == 0


def test_a_race_that_hangs_is_the_state_where_nothing_is_left():
    alone = Marking(Exercise("fast", list), Integer(), groups={"large": 1.0}, race=RACE, points=2)
    told = Outcomes(
        cases={"fast": [LARGE]}, results={"fast": [RIGHT]}, races={"fast": Result("in the race: slow", "timed_out")}
    )
    found = verdict(alone, told, Rebuilt((), (), {"fast": "changed"}))
    assert (found.state, found.score, found.reason) == ("timed_out", 0, "in the race: slow.")


@pytest.mark.parametrize(
    ("asked", "state", "reason"),
    [
        ({"failed": {"fast": "no judge"}}, "grader_failed", "Our side failed, mark it again: no judge."),
        ({"hung": {"fast": ("timed_out", "its cell hung")}}, "timed_out", "fast: its cell hung. Note: a cell went."),
        ({"absent": {"fast": "KeyError: 3"}}, "crashed", "Its cell failed: KeyError: 3. Note: a cell went."),
        ({"absent": {"fast": ""}}, "missing", "The notebook defines no fast. Note: a cell went."),
    ],
)
def test_an_exercise_that_was_not_answered_has_no_points_and_says_why(asked, state, reason):
    found = mark([Result("wrong")], left_out=["a cell went"], **asked)
    assert (found.state, found.score, found.max_score, found.cases, found.reason) == (state, 0, 4, (), reason)


@pytest.mark.parametrize(
    ("answered", "state"), [("changed", "graded"), ("as released", "missing"), ("absent", "missing")]
)
def test_a_person_marks_what_is_theirs_to_mark(answered, state):
    manual = Marking(Exercise("fast"), manual=True, points=3)
    found = verdict(manual, Outcomes(), Rebuilt((), (), {"fast": answered}))
    assert (found.state, found.score, found.max_score, found.manual) == (state, 0, 3, True)


def test_points_are_rounded_to_four_places_and_none_are_none():
    thirds = Marking(Exercise("fast", list), Integer(), groups={"small": 1 / 3, "large": 2 / 3}, points=1)
    assert mark([RIGHT, Result("wrong")], thirds).score == 0.3333
    free = mark([RIGHT, RIGHT], exercise(points=None))
    assert (free.score, free.max_score) == (0, 0)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"hung": {"one": ("timed_out", "")}}, "one"),
        ({"absent": {"two": ""}}, "two"),
        ({"absent": {"two": ""}, "hung": {"one": ("crashed", "")}}, "one and two"),
    ],
)
def test_what_it_builds_on_is_named_where_that_is_not_right(asked, named):
    found = mark([Result("wrong")], exercise(needs=("one", "two")), **asked)
    assert found.reason == f"wrong. It builds on {named}, not right yet."


@pytest.mark.parametrize(("others", "named"), [([RIGHT, Result("no")], True), ([RIGHT, RIGHT], False), ([None], False)])
def test_what_it_builds_on_is_not_right_when_one_of_its_questions_is_not(others, named):
    asked = Outcomes(cases={"fast": [SMALL]}, results={"fast": [Result("wrong")], "one": others})
    found = verdict(exercise(needs=("one", "none such")), asked, Rebuilt((), (), {"fast": "changed"}))
    assert ("builds on one," in found.reason) is named


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("<Board at 0x7f00deadbeef>", "<Board>"),
        ("at 0x1f", "at 0x1f"),
        ("\x1b[2J\u202e red\nline", "?[2J? red\nline"),
        ("x" * 1999, "x" * 1999 + "."),
        ("x" * 2000, "x" * 1998 + " …"),
    ],
)
def test_a_reason_has_an_end_no_addresses_and_nothing_that_a_terminal_obeys(said, told):
    assert mark([Result(said)]).reason.removesuffix(".") == told.removesuffix(".")
    assert len(mark([Result(said)]).reason) <= 2000
