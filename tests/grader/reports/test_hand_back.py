"""Feedback and comments go back the way the notebooks came: Canvas and Moodle find whose each file is by its name."""

import csv
import html
import re
import zipfile

import pytest

from grader.classroom.class_file import ClassFile
from grader.classroom.folders import ClassError
from grader.intake.importing import import_download
from grader.intake.moodle import read_worksheet
from grader.intake.roster import Person
from grader.reports.comments import comment
from grader.reports.export import write_exports
from grader.reports.feedback import write_feedback
from grader.reports.hand_back import canvas_zip, moodle_zip
from grader.reports.lab_totals import Total
from grader.runs.assignment import Assignment
from tests.grader.intake.test_importing import ADA, BOB, WORKSHEET, download
from tests.helpers.class_here import graded, hand_in
from tests.helpers.small_lab import code, notebook


def canvas_reads(name):
    """Whose file Canvas takes this for, as its `infer_comment_context_from_filename` does: (user, attachment)."""
    parts = name.rsplit("/", 1)[-1].split("_")
    numbers = [part for part in parts if re.fullmatch(r"\d+", part)][:2]
    return None if parts[-1].startswith("link") or name.startswith("._") or len(numbers) < 2 else tuple(numbers)


def moodle_reads(name):
    """Whose file Moodle takes this for, as its `is_valid_filename_for_import` does: (participant, plugin, file)."""
    for position, part in enumerate(parts := name.split("/")):
        found = part.split("_", 4)
        if len(found) >= 4 and found[1].isdigit():
            return found[1], "_".join(found[2:4]), "/".join([*found[4:], *parts[position + 1 :]])
    return None


def of(course, small, people=(ADA, BOB)):
    assignment = Assignment(course, small, ClassFile(), people)
    graded(course, small, roster=people)
    write_feedback(assignment)
    return assignment


def files(path):
    with zipfile.ZipFile(path) as made:
        assert made.testzip() is None
        return {name: made.read(name) for name in made.namelist()}


def full(text="FULL"):
    return notebook([code(text)])


def test_canvas_gets_each_page_under_the_numbers_that_its_notebook_came_by(course, small, tmp_path):
    names = {
        "lovelaceada_LATE_12_9001_small_link-1.ipynb": full(),
        "submissions/obrienbob_13_9002_Copy of small.ipynb": full("HALF"),
        "submissions/obrienbob_13_9003_picture.png": b"P",
    }
    import_download(course, "small", download(tmp_path, names), [ADA, BOB])
    hand_in(course, "eve")
    assignment = of(course, small, [ADA, BOB, Person("eve")])
    said = canvas_zip(assignment, tmp_path / "back.zip")
    made = files(tmp_path / "back.zip")
    assert {canvas_reads(name) for name in made} == {("12", "9001"), ("13", "9002")}
    ada = next(data for name, data in made.items() if "_12_" in name)
    assert ada == course.feedback("ada", "small").read_bytes()
    assert "1 did not come from Canvas, and can't go back there: eve" in said[-1]


def test_after_another_attempt_the_page_goes_back_by_the_newest_number(course, small, tmp_path):
    for attachment in (9001, 9005):  # the same notebook, handed in again
        import_download(course, "small", download(tmp_path, {f"lovelaceada_12_{attachment}_s.ipynb": full()}), [ADA])
    canvas_zip(of(course, small, [ADA]), tmp_path / "back.zip")
    assert [canvas_reads(name) for name in files(tmp_path / "back.zip")] == [("12", "9005")]


@pytest.mark.parametrize("by", ["the names of the files", "the worksheet"])
def test_moodle_gets_each_page_as_a_feedback_file_of_its_participant(course, small, tmp_path, by):
    (tmp_path / "w.csv").write_text(WORKSHEET)
    entries = None
    if by == "the worksheet":
        hand_in(course, "ada"), hand_in(course, "bob", "HALF")
        entries = read_worksheet(tmp_path / "w.csv")
    else:
        names = {
            "Ada Lovelace_701_assignsubmission_file_/small.ipynb": full(),
            "Bob O'Brien_702_assignsubmission_file/small.ipynb": full("HALF"),
        }
        import_download(course, "small", download(tmp_path, names), [ADA, BOB])
    moodle_zip(of(course, small), tmp_path / "back.zip", entries)
    found = {moodle_reads(name): data for name, data in files(tmp_path / "back.zip").items()}
    assert set(found) == {(number, "assignfeedback_file", "small.html") for number in ("701", "702")}
    assert found["702", "assignfeedback_file", "small.html"] == course.feedback("bob", "small").read_bytes()


def test_without_pages_there_is_nothing_to_give_back(course, small, tmp_path):
    import_download(course, "small", download(tmp_path, {"lovelaceada_12_1_s.ipynb": full()}), [ADA])
    assignment = of(course, small, [ADA])
    course.feedback("ada", "small").unlink()
    with pytest.raises(ClassError, match="none of the pages"):
        canvas_zip(assignment, tmp_path / "back.zip")


def test_moodles_worksheet_has_comments_and_keeps_those_that_a_person_wrote(course, small, tmp_path):
    text = WORKSHEET.replace("(grade)\n", "(grade),Feedback comments\n").replace('PM",-\n', 'PM",-,\n')
    (tmp_path / "w.csv").write_text(text.replace("-,-\n", "-,-,Well done.\n"))
    hand_in(course, "ada", "HALF <script>"), hand_in(course, "bob")
    assignment = of(course, small)

    def rows(worksheet):
        said = write_exports(assignment, moodle=tmp_path / "out.csv", worksheet=worksheet)
        with (tmp_path / "out.csv").open(newline="", encoding="utf-8-sig") as file:
            return {row["Full name"].lstrip("'"): row["Feedback comments"] for row in csv.DictReader(file)}, said

    found, said = rows(tmp_path / "w.csv")
    assert found["Ada Lovelace"] == ""  # a person's mark is due: no score yet, no comment
    assert found["Bob O'Brien"] == "Well done."
    assert any("1 comments of persons stay" in line for line in said)


def test_a_comment_is_html_in_which_nothing_of_a_students_is_html():
    total = Total("ada", 2.5, 10, "late: -10%", ("double: 2.5 of 3. <b>double(1)</b> gave & …",))
    told = comment("small", total)
    assert told.startswith("<p>small: 2.5 of 10 points (late: -10%).</p>")
    assert "<b>" not in told and "&lt;b&gt;double(1)" in told
    assert html.unescape(re.sub("<.*?>", "", told)).endswith("gave & …")


def test_comments_are_written_where_the_score_is_whole(course, small, tmp_path):
    from dataclasses import replace

    lab = replace(small, exercises=tuple(one for one in small.exercises if not one.manual))
    text = WORKSHEET.replace("(grade)\n", "(grade),Feedback comments\n").replace("-\n", "-,\n")
    text = text.replace("10.00", "6.00")
    (tmp_path / "w.csv").write_text(text)
    hand_in(course, "ada", "HALF")
    graded(course, lab, roster=[ADA, BOB])
    for _ in range(2):  # the second time ours are there already, and are replaced
        write_exports(Assignment(course, lab, ClassFile(), [ADA, BOB]), None, tmp_path / "w.csv", tmp_path / "w.csv")
    with (tmp_path / "w.csv").open(newline="", encoding="utf-8-sig") as file:
        found = {row["Identifier"]: row["Feedback comments"] for row in csv.DictReader(file)}
    assert "double: 1.5 of 3. share 0.5" in found["Participant 701"]
    assert found["Participant 702"].startswith("<p>small: 0 of 6 points")
