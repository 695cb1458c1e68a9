"""Asking all exercises of a submission, with a stand-in for the sandbox: what hangs costs itself; there is an end."""

from dataclasses import replace

import pytest

from grader.lab.spec import Case, Exercise, Lab, Marking, Race
from grader.marking import rounds
from grader.marking.questions import Answer, SetUpFailed, Stopped
from grader.marking.result_types import Integer
from grader.marking.rounds import Result, ask_all
from grader.sandbox import SandboxUnavailable
from grader.sandbox.errors import Ended
from grader.submission.rebuild import Rebuilt, Step

SECRET = b"s" * 32
ENDED = Ended(None, 0, "printed\n", "warned\n", 1.0, 1.0, 1)


class Scripted:
    """Stands for `SandboxedSubmission`: a cell that names a failure fails so; an answer is what `answers` says."""

    made: list
    answers: dict

    def __init__(self, lab, cells, sandbox, seconds):
        self.cells, self.seconds, self.errors, self.asked = list(cells), seconds, {}, []
        self.ended = ENDED
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run_cells(self):
        for number, text in enumerate(self.cells):
            if text.startswith("unset"):
                raise SetUpFailed("no torch")
            if text.startswith("far"):
                raise Stopped("crashed", "forged", len(self.cells))
            if text.startswith("lost"):
                raise Stopped("crashed", "wrote to its grader")
            if text.startswith("\n  hang"):
                raise Stopped("timed_out", "no end", number)
            if text.startswith("error"):
                self.errors[number] = f"KeyError: {number}"

    def ask(self, exercise, case):
        self.asked.append((exercise.name, case.arguments[0]))
        answer = self.answers.get((exercise.name, case.arguments[0]), case.arguments[0])
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, Answer) else Answer("value", answer)


@pytest.fixture
def scripted(monkeypatch):
    Scripted.made, Scripted.answers = [], {}
    monkeypatch.setattr(rounds, "SandboxedSubmission", Scripted)
    return Scripted


def exercise(name, race=None, **more):
    def cases(draw):
        return [Case((number,), group="small" if number < 2 else "large") for number in range(4)]

    stated = Exercise(name, cases, **(more or {"expected": lambda number: number}))
    return Marking(stated, Integer(), groups={"small": 0.5, "large": 0.5}, race=race, seconds=5.0)


def asked(*texts, exercises=None, lab=()):
    exercises = exercises or [exercise("one"), exercise("two")]
    names = [made.name for made in exercises]
    steps = [Step(text, text if text in names else None) for text in texts]
    made = Lab("lab", exercises, **dict(lab))
    return ask_all(made, Rebuilt(tuple(steps), (), dict.fromkeys(names, "changed")), SECRET, None)


def problems(found, name):
    return [result and result.problem for result in found.results[name]]


def test_all_is_asked_in_one_sandbox_that_lives_as_long_as_that_may_take(scripted):
    found = asked("one", "two")
    assert problems(found, "one") == problems(found, "two") == [None] * 4
    (only,) = scripted.made
    assert only.asked == [(name, number) for name in ("one", "two") for number in range(4)]
    assert only.seconds == 2 * 4 * 5.0
    assert found.log == "printed\nwarned\n" and not found.failed and not found.hung


def test_a_person_s_exercise_is_not_asked(scripted):
    found = asked("one", exercises=[Marking(Exercise("words"), manual=True), exercise("one")])
    assert list(found.results) == ["one"] and found.is_settled(Marking(Exercise("words"), manual=True))


def test_a_question_that_hangs_ends_its_group_and_the_rest_is_asked_in_the_next_sandbox(scripted):
    scripted.answers = {("one", 1): Stopped("timed_out", "no end")}
    found = asked("one", "two")
    assert found.results["one"] == [Result(), Result("one(1): no end", "timed_out"), Result(), Result()]
    assert problems(found, "two") == [None] * 4
    first, second = scripted.made
    assert first.asked[-1] == ("one", 1) and second.asked[0] == ("one", 2)


def test_what_follows_in_a_group_is_not_asked_after_one_that_hung(scripted):
    scripted.answers = {("one", 0): Stopped("crashed", "gone"), ("one", 3): 7}
    found = asked("one", exercises=[exercise("one")])
    assert found.results["one"][:2] == [Result("one(0): gone", "crashed"), Result("not asked", "crashed")]
    assert problems(found, "one")[2:] == [None, "one(3) gave 7; expected 3"]
    assert ("one", 1) not in [question for one in scripted.made for question in one.asked]


@pytest.mark.parametrize("asks_on", [True, False])
def test_after_a_wrong_answer_the_group_is_asked_on_for_a_shorter_counterexample_or_not(scripted, asks_on):
    scripted.answers = {("one", 0): 7}
    outcomes = asked("one", exercises=[replace(exercise("one"), asks_on=asks_on)])
    questions = [number for _, number in scripted.made[0].asked]
    assert questions == ([0, 1, 2, 3] if asks_on else [0, 2, 3])
    assert problems(outcomes, "one") == ["one(0) gave 7; expected 0", None if asks_on else "not asked", None, None]


def test_a_cell_that_hangs_is_left_out_and_named_by_its_first_line(scripted):
    found = asked("one", "\n  hang" + "x" * 99, "two")
    assert found.left_out == [f"the cell that begins with '  hang{'x' * 54}' was left out: no end"]
    assert [one.cells for one in scripted.made][1:] == [["one", "two"]]
    assert problems(found, "one") == problems(found, "two") == [None] * 4 and not found.hung


def test_a_cell_of_an_answer_that_hangs_costs_that_answer(scripted, monkeypatch):
    hanging = "\n  hang"
    exercises = [exercise("one"), exercise("two")]
    steps = (Step("one", "one"), Step(hanging, "two"))
    found = ask_all(Lab("lab", exercises), Rebuilt(steps, (), {}), SECRET, None)
    assert found.hung == {"two": ("timed_out", "its cell: no end")} and not found.left_out
    assert problems(found, "one") == [None] * 4


@pytest.mark.parametrize(("cell", "why"), [("far", "forged"), ("lost", "wrote to its grader")])
def test_an_end_in_no_cell_that_there_is_ends_all(scripted, cell, why):
    found = asked("one", cell)
    assert found.hung == dict.fromkeys(["one", "two"], ("crashed", why)) and len(scripted.made) == 1


def test_four_cells_may_be_left_out_beside_what_the_exercises_cost_and_not_any_number(scripted):
    found = asked(*[f"\n  hang {number}" for number in range(4)], "one", "two")
    assert len(found.left_out) == 4 and problems(found, "two") == [None] * 4
    found = asked(*[f"\n  hang {number}" for number in range(30)], "one", "two")
    assert found.hung == dict.fromkeys(["one", "two"], found.hung["one"])
    assert found.hung["one"][0] == "timed_out" and "too many cells of this notebook hang" in found.hung["one"][1]
    assert len(scripted.made) < 30


def test_every_exercise_may_hang_in_each_of_its_groups_beside_those(scripted):
    names = ["one", "two", "three"]
    scripted.answers = {(name, number): Stopped("timed_out", "no end") for name in names for number in (0, 2)}
    found = asked(*[f"\n  hang {number}" for number in range(4)], *names, exercises=list(map(exercise, names)))
    assert not found.hung and len(found.left_out) == 4
    for name in names:
        assert [result.stopped for result in found.results[name]] == ["timed_out"] * 4


def test_an_exercise_of_which_nothing_is_defined_is_absent_with_its_cells_last_error(scripted):
    scripted.answers = {(name, 0): Answer("absent") for name in ("one", "error")}
    exercises = [exercise("one"), exercise("error"), exercise("two")]
    steps = tuple(Step(text, text.split()[0]) for text in ("one", "error a", "error b", "error c", "two"))
    found = ask_all(Lab("lab", exercises), Rebuilt(steps, (), {}), SECRET, None)
    assert found.absent == {"one": "", "error": "KeyError: 3"}
    assert problems(found, "one") == [None] * 4 and found.results["one"] == [None] * 4
    assert scripted.made[0].asked[:2] == [("one", 0), ("error", 0)] and len(scripted.made) == 1


def test_a_sandbox_that_cannot_be_set_up_is_our_failure(scripted):
    found = asked("unset", "one")
    assert found.failed == dict.fromkeys(["one", "two"], "the sandbox could not be set up: no torch")
    assert len(scripted.made) == 1


@pytest.mark.parametrize("raised", [ValueError("odd"), OSError("odd")])
def test_a_sandbox_that_cannot_be_made_is_our_failure(monkeypatch, raised):
    def none(*_):
        raise raised

    monkeypatch.setattr(rounds, "SandboxedSubmission", none)
    assert asked("one").failed == dict.fromkeys(["one", "two"], "its sandbox could not be made: odd")


def test_a_machine_without_a_sandbox_marks_nothing(scripted):
    scripted.answers = {("one", 0): SandboxUnavailable("no namespaces")}
    with pytest.raises(SandboxUnavailable):
        asked("one")


def test_what_asking_raises_costs_that_exercise_no_mark(scripted):
    scripted.answers = {("one", 2): KeyError("plan")}
    found = asked("one", "two")
    assert found.failed == {"one": "asking it failed: KeyError: 'plan'"} and problems(found, "two") == [None] * 4


def the_judge(case, got):
    raise KeyError("mine")


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"judge": the_judge}, "its judge the_judge raised KeyError: 'mine'"),
        ({"accepts": lambda got, number: 1 / 0}, "its judge <lambda> raised ZeroDivisionError"),
        ({"expected": lambda number: 1 / 0}, "its oracle <lambda> raised ZeroDivisionError"),
    ],
)
def test_a_judge_that_fails_at_the_labs_own_solution_is_named(scripted, stated, words, monkeypatch):
    monkeypatch.setattr("grader.marking.judge.Judge._manages_the_solution", lambda *_: False)
    found = asked("one", "two", exercises=[exercise("one", **stated), exercise("two")])
    assert found.failed["one"].startswith(words) and problems(found, "two") == [None] * 4


def test_an_answer_at_which_a_sound_judge_fails_loses_its_group_without_another_question(scripted, monkeypatch):
    monkeypatch.setattr("grader.marking.judge.Judge._manages_the_solution", lambda *_: True)
    found = asked("one", exercises=[exercise("one", judge=the_judge)])
    says = "one({0}) gave {0}; judging it raised KeyError: 'mine'"
    wanted = [says.format(0), "not asked", says.format(2), "not asked"]
    assert [told.partition(" (")[0] for told in problems(found, "one")] == wanted
    assert [result.stopped for result in found.results["one"]] == [None] * 4


def test_questions_that_cannot_be_drawn_or_sent_are_our_failure(scripted):
    bad = [lambda draw: 1 / 0, lambda draw: [Case(({1},))], lambda draw: [Case((1,), files={"a": {2}})]]
    for cases in bad:
        one = exercise("one")
        broken = replace(one, statement=replace(one.statement, cases=cases))
        found = asked("two", exercises=[broken, exercise("two")])
        assert found.failed["one"].startswith("drawing its questions failed: ") and problems(found, "two") == [None] * 4


# --- races -----------------------------------------------------------------------------------------------------------

RACE = Race("reference", 4.0, lambda draw, answer: (answer,), group="large")


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (None, Result(None)),
        ("only twice as fast", Result("only twice as fast")),
        (Stopped("timed_out", "no end"), Result("in the race: no end", "timed_out")),
        (rounds.NotJudged("one(3) gave 9"), Result("in the race, one(3) gave 9", wrong=True)),
        (RuntimeError("no reference"), "the race failed: RuntimeError: no reference"),
    ],
)
def test_the_race_is_run_when_all_is_right_and_starts_from_the_last_question(scripted, monkeypatch, outcome, result):
    raced = []

    def race(lab, cells, exercise, case, *_):
        raced.append((exercise.name, cells, case.arguments))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(rounds, "race", race)
    found = asked("one", "two", exercises=[exercise("one", RACE), exercise("two", RACE)])
    assert raced == [(name, ["one", "two"], (3,)) for name in ("one", "two")]
    assert (found.failed if isinstance(result, str) else found.races) == {"one": result, "two": result}


def test_a_wrong_answer_runs_no_race(scripted, monkeypatch):
    monkeypatch.setattr(rounds, "race", lambda *_: 1 / 0)
    scripted.answers = {("one", 1): 7}
    found = asked("one", exercises=[exercise("one", RACE)])
    assert not found.races and not found.failed and problems(found, "one")[1] == "one(1) gave 7; expected 1"


def test_a_machine_without_a_sandbox_runs_no_race(scripted, monkeypatch):
    def race(*_):
        raise SandboxUnavailable("no namespaces")

    monkeypatch.setattr(rounds, "race", race)
    with pytest.raises(SandboxUnavailable):
        asked("one", exercises=[exercise("one", RACE)])


def test_the_log_keeps_the_end_of_what_was_printed(scripted, monkeypatch):
    monkeypatch.setattr(
        Scripted, "__exit__", lambda self, *_: setattr(self, "ended", replace(ENDED, stderr="e" * 30_000))
    )
    assert asked("one").log == "e" * 20_000
