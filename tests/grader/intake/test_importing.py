"""Import: a file goes to whom it belongs, or to nobody; a download can't reach outside, fill the disk or set a time."""

import os
import stat
import zipfile
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.classroom.folders import ClassError
from grader.intake import archive
from grader.intake.attempts import PLATFORM, attempts_of
from grader.intake.importing import import_download
from grader.intake.moodle import read_time, read_worksheet
from grader.intake.owners import CANVAS, MOODLE, readings
from grader.intake.roster import Person
from tests.helpers.class_here import hand_in

ADA = Person("ada", name="Lovelace, Ada", email="ada@school.edu", canvas_id="12", sis_id="s1")
BOB = Person("bob", first="Bob", last="O'Brien", email="bob@school.edu", canvas_id="13", sis_id="s2")
PEOPLE = [ADA, BOB]
WORKSHEET = """\
Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Last modified (submission),Last modified (grade)
Participant 701,Ada Lovelace,s1,ada@school.edu,Submitted,,10.00,"Friday, 20 November 2026, 3:04 PM",-
Participant 702,Bob O'Brien,s2,bob@school.edu,Submitted,,10.00,-,-
"""


def download(tmp_path, files):
    """Return a zip with these names and bytes."""
    path = tmp_path / "download.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return path


def there(course):
    """Return {student: bytes of the lab's notebook} of all that lies under submitted/."""
    found = {}
    for path in sorted((course.root / "submitted").rglob("*")):
        if path.is_file():
            assert path.name == "small.ipynb"
            found[path.parts[-3]] = path.read_bytes()
    return found


def actions(told):
    return {one.student: one.action for one in told}


@pytest.mark.parametrize(
    ("name", "who", "number", "file", "late"),
    [
        ("lovelaceada_12_9001_small.ipynb", "lovelaceada", "12", "small.ipynb", False),
        ("lovelaceada_LATE_12_9001_small-2.ipynb", "lovelaceada", "12", "small-2.ipynb", True),
        ("submissions/o'brienbob_13_9002_my_lab.ipynb", "o'brienbob", "13", "my_lab.ipynb", False),
        ("anon_x7Fq2_9003_small.ipynb", "", "anon_x7Fq2", "small.ipynb", False),
        ("Ada Lovelace_701_assignsubmission_file_/small.ipynb", "Ada Lovelace", "701", "small.ipynb", False),
        ("Ada Lovelace_701_assignsubmission_file/a/small.ipynb", "Ada Lovelace", "701", "small.ipynb", False),
        ("Ada Lovelace_701_assignsubmission_file_small.ipynb", "Ada Lovelace", "701", "small.ipynb", False),
        ("Lab 3/Ada Lovelace_701_assignsubmission_file_/x.ipynb", "Ada Lovelace", "701", "x.ipynb", False),
        ("ada/small.ipynb", "ada", "", "small.ipynb", False),
        ("ada/small/small.ipynb", "ada", "", "small.ipynb", False),
    ],
)
def test_the_names_of_canvas_and_moodle_are_read(name, who, number, file, late):
    (found,) = readings(name)
    assert (found.who, found.number, found.file, found.late) == (who, number, file, late)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd_12_13_x.ipynb",
        "a/../../b/small.ipynb",
        "__MACOSX/ada/._small.ipynb",
        "Ada Lovelace_701_assignsubmission_onlinetext_/onlinetext.html",
        "grades.csv",
        "",
    ],
)
def test_other_names_are_nobody_s(name):
    assert readings(name) == []


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_whatever_a_name_is_it_can_be_read_or_not(name):
    for one in readings(name):
        assert one.platform in (CANVAS, MOODLE, "folders")
        assert "/" not in one.who and "/" not in one.file


def test_a_canvas_download_lands_in_the_class_s_folders(course, tmp_path):
    path = download(
        tmp_path,
        {
            "lovelaceada_12_9001_small-1.ipynb": b"A",
            "obrienbob_LATE_13_9002_Copy of small.ipynb": b"B",
            "obrienbob_LATE_13_9003_picture.png": b"P",
            "nobody_14_9004_small.ipynb": b"N",
        },
    )
    told = import_download(course, "small", path, PEOPLE)
    assert actions(told) == {"ada": "new", "bob": "new", "nobody_14_9004_small.ipynb": "nobody's"}
    assert there(course) == {"ada": b"A", "bob": b"B"}
    assert "calls it late" in next(str(one) for one in told if one.student == "bob")
    assert actions(import_download(course, "small", path, PEOPLE))["ada"] == "same"


def test_a_moodle_download_is_told_apart_by_the_worksheet_and_has_its_times(course, tmp_path):
    path = download(
        tmp_path,
        {
            "Ada Lovelace_701_assignsubmission_file_/small.ipynb": b"A",
            "Bob O'Brien_702_assignsubmission_file_/sub/small.ipynb": b"B",
        },
    )
    (tmp_path / "worksheet.csv").write_text(WORKSHEET)
    worksheet = read_worksheet(tmp_path / "worksheet.csv")
    import_download(course, "small", path, PEOPLE, worksheet)
    assert there(course) == {"ada": b"A", "bob": b"B"}
    ada, bob = (attempts_of(course, student, "small")[0] for student in ("ada", "bob"))
    assert (ada.arrived, ada.by) == (datetime(2026, 11, 20, 15, 4, tzinfo=UTC), PLATFORM)
    assert abs(bob.arrived - datetime.now(UTC)).total_seconds() < 600


def test_without_a_roster_a_student_is_name_and_number(course, tmp_path):
    path = download(tmp_path, {"lovelaceada_12_9_s.ipynb": b"A", "Bob O'Brien_7_assignsubmission_file_/s.ipynb": b"B"})
    import_download(course, "small", path)
    assert there(course) == {"lovelaceada-12": b"A", "Bob-O-Brien-7": b"B"}


def test_two_students_of_one_name_are_nobody_s_until_the_worksheet_tells(course, tmp_path):
    twins = [Person("ada1", name="Ada Lovelace", sis_id="s1"), Person("ada2", name="Ada Lovelace", sis_id="s2")]
    path = download(tmp_path, {"Ada Lovelace_701_assignsubmission_file_/small.ipynb": b"A"})
    (told,) = import_download(course, "small", path, twins)
    assert told.action == "nobody's"
    assert "ada1 or ada2" in told.note
    (tmp_path / "worksheet.csv").write_text(WORKSHEET)
    import_download(course, "small", path, twins, read_worksheet(tmp_path / "worksheet.csv"))
    assert there(course) == {"ada1": b"A"}


def test_a_student_s_name_can_not_make_a_file_somebody_else_s(course, tmp_path):
    # bob is shown as "lovelaceada_12_1_b": Canvas's name for his file can be read as ada's
    path = download(tmp_path, {"lovelaceada_12_1_b_13_9002_small.ipynb": b"B", "lovelaceada_12_9001_small.ipynb": b"A"})
    told = import_download(course, "small", path, PEOPLE)
    assert there(course) == {"ada": b"A"}
    assert [one.action for one in told] == ["new", "nobody's"]
    nameless = [Person("ada", name="Lovelace, Ada"), Person("bob", name="lovelaceada_12_1_b")]
    told = import_download(course, "small", path, nameless)
    assert "canvas_id" in next(one.note for one in told if one.action == "nobody's")


def test_two_who_would_become_one_student_are_both_left_out(course, tmp_path):
    path = download(
        tmp_path, {"a b_1_assignsubmission_file_/s.ipynb": b"1", "a-b_1_assignsubmission_file_/s.ipynb": b"2"}
    )
    told = import_download(course, "small", path)
    assert [("two students" in one.note, one.action) for one in told] == [(True, "nobody's")] * 2
    assert not there(course)


def test_paths_in_a_zip_lead_nowhere(course, tmp_path):
    outside = set(tmp_path.rglob("*"))
    path = download(
        tmp_path,
        {
            "../../../ada/small.ipynb": b"X",
            "/ada/../../small.ipynb": b"X",
            "..\\..\\x_1_2_small.ipynb": b"X",
            "x/../../../../../../tmp/x_1_2_small.ipynb": b"X",
            "lovelaceada_12_9001_x%2f..%2fsmall.ipynb": b"A",
        },
    )
    import_download(course, "small", path, PEOPLE)
    assert there(course) == {"ada": b"A"}
    outside |= {path}
    assert {p for p in tmp_path.rglob("*") if not p.is_relative_to(course.records)} - outside <= {
        course.root / "submitted" / "ada",
        course.root / "submitted" / "ada" / "small",
        course.root / "submitted" / "ada" / "small" / "small.ipynb",
        course.records,
    }


def test_links_encrypted_and_double_entries_are_not_read(course, tmp_path):
    path = tmp_path / "download.zip"
    with zipfile.ZipFile(path, "w") as made:
        link = zipfile.ZipInfo("lovelaceada_12_9001_small.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
        with pytest.warns(UserWarning, match="Duplicate name"):
            for data in (b"1", b"2"):
                made.writestr("obrienbob_13_9002_small.ipynb", data)
    told = import_download(course, "small", path, PEOPLE)
    assert actions(told) == {"ada": "refused", "bob": "refused"}
    assert "symbolic link" in told[0].note
    assert not there(course)
    assert attempts_of(course, "ada", "small")[0].reason == told[0].note


def test_a_bomb_costs_itself_and_a_large_one_stops_the_import(course, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LIMIT", 1_000_000)
    files = {"lovelaceada_12_9001_small.ipynb": b"0" * 20_000_000, "obrienbob_13_9002_small.ipynb": b"B"}
    path = download(tmp_path, files)
    assert path.stat().st_size < 100_000
    told = import_download(course, "small", path, PEOPLE)
    assert actions(told) == {"ada": "refused", "bob": "new"}
    with archive.open_download(path) as opened:
        opened._budget = 10
        with pytest.raises(ClassError, match="unpacks to more than"):
            opened.read("lovelaceada_12_9001_small.ipynb")
    monkeypatch.setattr(archive, "FILES", 1)
    with pytest.raises(ClassError, match="more than 1 files"):
        import_download(course, "small", path, PEOPLE)


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04" + b"\0" * 50])
def test_what_is_no_zip_is_told(course, tmp_path, data):
    path = tmp_path / "download.zip"
    path.write_bytes(data)
    with pytest.raises(ClassError, match="neither a zip nor a folder"):
        import_download(course, "small", path)
    with pytest.raises(ClassError, match="there is no"):
        import_download(course, "small", tmp_path / "absent.zip")


def test_a_zip_with_nothing_of_a_class_in_it_is_told(course, tmp_path):
    with pytest.raises(ClassError, match="nothing in it has a name"):
        import_download(course, "small", download(tmp_path, {"readme.txt": b"x"}))


def test_a_folder_is_imported_without_following_what_lies_in_it(course, tmp_path):
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    (unpacked / "lovelaceada_12_9001_small.ipynb").write_bytes(b"A")
    (unpacked / "obrienbob_13_9002_small.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(unpacked / "x_14_9003_small.ipynb")
    told = import_download(course, "small", unpacked, [*PEOPLE, Person("x", name="x", canvas_id="14")])
    assert actions(told) == {"ada": "new", "bob": "refused", "x": "refused"}
    assert there(course) == {"ada": b"A"}


def test_a_second_download_replaces_the_first_and_both_are_kept(course, tmp_path):
    import_download(course, "small", download(tmp_path, {"lovelaceada_12_1_small.ipynb": b"1"}), PEOPLE)
    path = download(tmp_path, {"lovelaceada_12_2_small-1.ipynb": b"2"})
    assert actions(import_download(course, "small", path, PEOPLE)) == {"ada": "changed"}
    assert there(course) == {"ada": b"2"}
    assert len(attempts_of(course, "ada", "small")) == 2
    assert len(list((course.records / "attempts" / "small" / "ada").iterdir())) == 2


def test_one_who_hands_in_no_notebook_is_refused_and_the_earlier_one_no_longer_counts(course, tmp_path):
    hand_in(course, "ada", b"1")
    path = download(tmp_path, {"lovelaceada_12_2_small.zip": b"PK", "lovelaceada_12_3_x.pdf": b"x"})
    (told,) = import_download(course, "small", path, PEOPLE)
    assert told.action == "refused"
    assert "there is small.zip, x.pdf. An archive is not opened." in told.note
    assert "submitted/STUDENT/small/small.ipynb, then run `grade` again" in told.note
    assert not there(course)
    assert [bool(one.sha) for one in attempts_of(course, "ada", "small")] == [True, False]


def test_the_time_of_arrival_is_ours_or_the_teacher_s_and_never_the_zip_s(course, tmp_path):
    path = tmp_path / "download.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(zipfile.ZipInfo("lovelaceada_12_9001_small.ipynb", (1999, 1, 1, 0, 0, 0)), b"A")
        made.writestr("lovelaceada_12_9002_timestamp.txt", b"1999-01-01 00:00:00 UTC")
    import_download(course, "small", path, PEOPLE)
    assert attempts_of(course, "ada", "small")[0].arrived.year > 2000
    said = datetime(2026, 11, 1, 12, tzinfo=UTC)
    import_download(course, "small", path, PEOPLE, arrived=said)
    import_download(course, "small", path, PEOPLE)
    assert [one.arrived for one in attempts_of(course, "ada", "small")] == [said]


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Friday, 20 November 2026, 3:04 PM", 15),
        ("20 November 2026, 15:04", 15),
        ("Friday, 20 November 2026, 3:04\u202fAM", 3),
        ("-", None),
        ("yesterday", None),
    ],
)
def test_moodle_s_times_are_read(text, hour):
    assert getattr(read_time(text), "hour", None) == hour


def test_a_file_that_is_no_worksheet_is_told(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("name,grade\nada,1\n")
    with pytest.raises(ClassError, match="no Identifier"):
        read_worksheet(path)
    path.write_text(WORKSHEET + WORKSHEET.splitlines()[1] + "\n")
    with pytest.raises(ClassError, match="line 4: Participant 701 stands in it twice"):
        read_worksheet(path)
