"""Grading a class: one bad submission costs itself, marking again changes nothing, and what was marked is kept."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from grader.classroom import history
from grader.classroom.class_file import ClassFile, LabRules, Late
from grader.classroom.folders import ClassError, class_secret
from grader.cli import main
from grader.intake.attempts import IMPORTED, TEACHER, attempts_of, note_attempt
from grader.intake.roster import Person
from grader.runs import results
from tests.helpers.class_here import graded, hand_in, scores, stand_in, states

FULL = 6  # of the exercises that no person marks


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """How many submissions were marked so far."""
    file = tmp_path / "marked-by"
    file.touch()
    monkeypatch.setenv("MARKED_BY", str(file))
    return lambda: len(file.read_text().splitlines())


def test_everybody_gets_a_row_for_every_exercise(course, small):
    hand_in(course, "ada")
    hand_in(course, "bob", "HALF")
    hand_in(course, "cyd", "CRASH")
    (course.root / "submitted" / "dan").mkdir()
    grading = graded(course, small, roster=[Person("eve"), Person("ada")])
    assert len(grading.rows) == 5 * 4
    assert scores(grading) == {"ada": 10 - 4, "bob": 3, "cyd": 0, "dan": 0, "eve": 0}
    assert states(grading) == {
        "ada": {"graded"},
        "bob": {"graded"},
        "cyd": {"crashed"},
        "dan": {"missing"},
        "eve": {"missing"},
    }


def test_what_is_no_notebook_of_a_student_is_refused_and_never_followed(course, small, tmp_path):
    secret = tmp_path / "elsewhere.ipynb"
    secret.write_bytes(hand_in(course, "ada"))
    submitted = course.root / "submitted"
    for student in ("link", "pipe", "folder", "huge", "two"):
        (submitted / student / "small").mkdir(parents=True)
    (submitted / "link" / "small" / "small.ipynb").symlink_to(secret)
    os.mkfifo(submitted / "pipe" / "small" / "small.ipynb")
    (submitted / "folder" / "small" / "small.ipynb").mkdir()
    with (submitted / "huge" / "small" / "small.ipynb").open("wb") as file:
        file.truncate(100 * 1000 * 1000)
    for name in ("a.ipynb", "b.ipynb"):
        hand_in(course, "two", name=name)
    (submitted / "linked").symlink_to("ada")
    (submitted / "inner").mkdir()
    (submitted / "inner" / "small").symlink_to(submitted / "ada" / "small")
    (submitted / "new\nline").mkdir()
    (submitted / ".hidden").mkdir()
    odd = {"=cmd|' calc'!A1", "$(touch sandbox-was-here)", "<script>alert(1)"}
    for student in odd:
        hand_in(course, student)
    (submitted / "list.txt").write_text("not a student")
    grading = graded(course, small)
    assert scores(grading)["ada"] == FULL
    refused = {"link", "pipe", "folder", "huge", "two", "linked", "inner", "new\\x0aline"}
    assert {student for student, found in states(grading).items() if found == {"refused"}} == refused
    assert set(states(grading)) == refused | {"ada"} | odd
    assert {scores(grading)[student] for student in odd} == {FULL} and not list(tmp_path.rglob("sandbox-was-here"))
    reasons = {row.student: row.reason for row in grading.rows}
    assert "100 MB" in reasons["huge"]
    assert "a.ipynb, b.ipynb" in reasons["two"]


@pytest.mark.parametrize(
    "names",
    [["small (1).ipynb"], ["Copy of small.ipynb"], ["SMALL.IPYNB"], ["mine.ipynb", "notes.txt"], ["small.ipynb.txt"]],
)
def test_a_notebook_by_a_name_of_the_browser_s_is_found(course, small, names):
    for name in names:
        hand_in(course, "ada", name=name)
    assert scores(graded(course, small)) == {"ada": FULL}


def test_the_lab_s_own_name_is_taken_before_any_other(course, small):
    hand_in(course, "ada", "nothing", name="small-old.ipynb")
    hand_in(course, "ada")
    hand_in(course, "ada", "nothing", name="zzz.ipynb")
    assert scores(graded(course, small)) == {"ada": FULL}


def test_our_own_failures_are_no_marks_and_are_marked_again(course, small, counted):
    hand_in(course, "ada", "RAISE")
    hand_in(course, "bob")
    grading = graded(course, small)
    assert states(grading) == {"ada": {"grader_failed"}, "bob": {"graded"}}
    assert "ZeroDivisionError" in grading.rows[0].reason
    assert counted() == 2
    graded(course, small)
    assert counted() == 3


def test_marking_again_marks_nothing_twice_and_changes_nothing(course, small, counted):
    for student in ("ada", "bob", "cyd"):
        hand_in(course, student)
    first = graded(course, small)
    second = graded(course, small)
    assert counted() == 3
    assert first.rows == second.rows
    assert not second.changes
    third = graded(course, small, again=True)
    assert counted() == 6
    assert first.rows == third.rows
    assert len(history.changes_of(course, "small")) == 12


def test_what_was_marked_before_a_stop_is_kept_and_the_same_command_goes_on(course, small, counted):
    for number in range(4):
        hand_in(course, f"student{number}")

    def stop_at(done, of):
        if done == 2:
            raise KeyboardInterrupt

    with_two = graded(course, small, tell=stop_at)
    assert not with_two.finished
    assert scores(with_two) == {"student0": FULL, "student1": FULL}
    assert scores(graded(course, small)) == {f"student{number}": FULL for number in range(4)}
    assert counted() == 4


def test_marking_all_again_goes_on_after_a_stop_where_it_was(course, small, counted):
    for number in range(3):
        hand_in(course, f"student{number}")
    graded(course, small)

    def stop_at(done, of):
        if done == 1:
            raise KeyboardInterrupt

    assert not graded(course, small, again=True, tell=stop_at).finished
    assert counted() == 4
    assert graded(course, small).finished  # no --again: the interrupted one is finished
    assert counted() == 6
    graded(course, small)
    assert counted() == 6


def test_a_power_cut_leaves_no_half_result(course, small, monkeypatch):
    hand_in(course, "ada")
    hand_in(course, "bob")
    graded(course, small)
    hand_in(course, "ada", "HALF")
    real = os.replace

    def cut(source, target):
        if "results" in str(target):
            raise KeyboardInterrupt
        return real(source, target)

    monkeypatch.setattr(os, "replace", cut)
    assert scores(graded(course, small)) == {"bob": FULL}
    monkeypatch.undo()
    assert not [path for path in course.records.rglob("*.part")]
    assert scores(graded(course, small)) == {"ada": 3, "bob": FULL}


def test_a_changed_lab_is_marked_again_and_a_changed_class_file_is_not(course, small, counted):
    hand_in(course, "ada", "HALF")
    graded(course, small)
    strict = ClassFile(standard=LabRules(partial_credit=False))
    assert scores(graded(course, small, strict)) == {"ada": 0}
    assert counted() == 1
    (small.folder / "more.txt").write_text("changed")
    graded(course, small)
    (small.folder / "more.txt").unlink()
    assert counted() == 2


def test_a_mark_without_a_sandbox_says_so_and_counts_only_where_there_is_none(course, small, counted):
    hand_in(course, "ada")
    hand_in(course, "bob", b"")
    (course.root / "submitted" / "cyd").mkdir()
    grading = graded(course, small, safe=False)
    assert all("WITHOUT a sandbox" in row.reason for row in grading.rows)
    graded(course, small, safe=False)
    assert counted() == 2
    assert not any("WITHOUT" in row.reason for row in graded(course, small).rows)
    assert counted() == 4


def test_a_lost_copy_of_an_attempt_is_our_failure(course, small):
    hand_in(course, "ada", "HALF")
    first = ClassFile(standard=LabRules(attempts="first"))
    graded(course, small, first)
    hand_in(course, "ada", "FULL")
    for path in (course.records / "attempts").rglob("*.ipynb"):
        path.unlink()
    grading = graded(course, small, first, again=True)
    assert scores(grading) == {"ada": 3}  # the result is there still
    for path in (course.records / "results").rglob("*.json"):
        path.unlink()
    for path in (course.records / "attempts").rglob("*.ipynb"):
        path.unlink()
    assert states(graded(course, small, first)) == {"ada": {"grader_failed"}}


@pytest.mark.parametrize(
    ("rules", "score"),
    [
        (LabRules(attempts="last"), 0),
        (LabRules(attempts="first"), 3),
        (LabRules(attempts="best"), FULL),
        (LabRules(attempts="best", max_attempts=1), 3),
        (LabRules(attempts="last", max_attempts=2), FULL),
    ],
)
def test_which_attempt_counts_is_the_class_file_s_word(course, small, rules, score):
    for text in ("HALF", "FULL", "nothing"):
        hand_in(course, "ada", text)
        graded(course, small)
    assert [bool(one.sha) for one in attempts_of(course, "ada", "small")] == [True] * 3
    assert scores(graded(course, small, ClassFile(rules={"small": rules}))) == {"ada": score}


@pytest.mark.parametrize(
    ("handed_in", "counts", "worth"),
    [
        ([("HALF", 0), ("FULL", 4)], 0, 3),  # 3, and 6 less 60 %
        ([("HALF", 0), ("FULL", 2)], 1, 4.8),
        ([("FULL", 5), ("HALF", 0)], 0, 3),  # 6 less 50 %, and 3: worth the same, the earlier one
        ([("HALF", 0), ("FULL", 5)], 0, 3),
        ([("FULL", 0), ("FULL again", 0)], 0, 6),
        ([("nothing", 0), ("HALF", 1), ("HALF more", 0)], 2, 3),
        ([("FULL", 3), ("HALF", 0), ("FULL again", 1)], 2, 5.4),
    ],
)
def test_the_best_attempt_is_the_one_worth_most_with_its_lateness_and_of_two_alike_the_earlier(
    course, small, handed_in, counts, worth
):
    due = datetime.now(UTC)
    for text, days in handed_in:
        note_attempt(course, "ada", "small", hand_in(course, "ada", text), due + timedelta(days=days), TEACHER)
    late = Late(share=0.1 if ("FULL", 4) not in handed_in else 0.15, most=0.6)
    rules = ClassFile(late=late, rules={"small": LabRules(attempts="best", due=due)})
    (one,) = graded(course, small, rules).graded
    assert one.sha == attempts_of(course, "ada", "small")[counts].sha
    assert one.arrived == due + timedelta(days=handed_in[counts][1])
    assert sum(row.score for row in one.rows) * (1 - one.cost) == pytest.approx(worth)


def test_lateness_counts_from_the_noted_arrival_and_not_from_a_file_s_date(course, small):
    now = datetime.now(UTC)
    note_attempt(course, "ada", "small", hand_in(course, "ada"), now, TEACHER)
    os.utime(course.submitted("ada", "small") / "small.ipynb", (0, 0))
    rules = ClassFile(late=Late(share=0.1), rules={"small": LabRules(due=now - timedelta(days=2, hours=1))})
    grading = graded(course, small, rules)
    assert grading.graded[0].cost == pytest.approx(0.3)
    assert scores(grading) == {"ada": FULL}, "rows are without it"


def test_who_was_not_imported_is_told_once_and_the_teacher_s_word_on_the_time_counts(course, small):
    now = datetime.now(UTC)
    data = hand_in(course, "ada")
    note_attempt(course, "bob", "small", hand_in(course, "bob"), now, IMPORTED)
    assert graded(course, small).unknown == ("ada",)
    assert graded(course, small).unknown == ()
    note_attempt(course, "ada", "small", data, now, TEACHER)
    assert graded(course, small).graded[0].arrived == now
    hand_in(course, "ada", "HALF")
    assert graded(course, small).unknown == ("ada",)


def test_only_those_asked_for_are_marked(course, small, counted):
    hand_in(course, "ada")
    hand_in(course, "bob")
    assert scores(graded(course, small, students=["bob"])) == {"bob": FULL}
    assert counted() == 1
    with pytest.raises(ClassError, match="neither submitted/ nor roster.csv has that name"):
        graded(course, small, students=["zoe"])
    with pytest.raises(ClassError, match="it has a path in it"):
        graded(course, small, students=["ada/../bob"])


def test_a_class_of_nobody_is_told_what_to_do(course, small):
    with pytest.raises(ClassError, match="Import a download first"):
        graded(course, small)


def test_the_secret_is_rotated_by_a_command_and_the_old_one_kept(course, small):
    asked = []

    def ask(lab, data, secret, sandbox):
        asked.append(secret)
        return stand_in(lab, data, secret, sandbox)

    first = CliRunner().invoke(main, ["rotate-secret", str(course.root)])
    assert "The class has its first secret." in first.output
    hand_in(course, "ada")
    before = graded(course, small, mark=ask).rows
    old = class_secret(course)
    said = CliRunner().invoke(main, ["rotate-secret", str(course.root)])
    assert said.exit_code == 0 and "Marks that were made stay" in said.output
    (kept,) = course.records.glob("secret-until-*")
    assert kept.read_bytes() == old != class_secret(course)
    assert str(kept) in said.output and kept.stat().st_mode & 0o077 == 0
    assert graded(course, small, mark=ask).rows == before and len(asked) == 1
    assert graded(course, small, mark=ask, again=True).rows == before
    assert asked[0] != asked[1]


def test_results_are_plain_data_and_come_back_as_they_were(course, small):
    data = hand_in(course, "ada")
    graded(course, small)
    sha = attempts_of(course, "ada", "small")[0].sha
    assert results.read_result(course, "small", "ada", sha).marks == stand_in(small, data, b"", None)
