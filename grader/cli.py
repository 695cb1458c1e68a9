"""The command line: `python -m grader COMMAND COURSE_DIR …`, for people who run a class."""

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from grader.classroom.folders import ClassError
from grader.lab.source import LabError
from grader.runs.assignment import open_assignment, open_class
from grader.sandbox import SandboxUnavailable

PATH = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Marks for a class, in nbgrader's folders: import, release, grade, feedback, export."""


def _on_a_lab(name=None):
    """Make a function a command on COURSE_DIR and --lab; a problem with the class becomes one sentence."""
    course = click.argument("course_dir", type=PATH)
    lab = click.option("--lab", required=True, metavar="LAB", help="The lab's name, that of its folder.")
    return lambda function: main.command(name)(course(lab(_sentences()(function))))


def _missing(function):
    explanation = "The score of who has handed in nothing: 0, an empty cell, or an empty cell until it is due for them."
    kinds = click.Choice(("zero", "empty", "when-due"))
    return click.option("--missing", type=kinds, default="zero", show_default=True, help=explanation)(function)


@contextmanager
def _sentences():
    try:
        yield
    except (ClassError, LabError) as error:
        raise click.ClickException(str(error)) from error
    except SandboxUnavailable as error:
        raise click.ClickException(f"no sandbox: {error} Marks that were made are kept.") from error
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise click.ClickException(
            f"{error.strerror}{where}. Marks that were made are kept: run the same command again when it is put right."
        ) from error


def _aside(line):
    click.echo(line, err=True)


@_on_a_lab("import")
@click.argument("download", type=PATH)
@click.option("--arrived", metavar="TIME", help="When all of it arrived, such as 2026-12-01T23:59; by default now.")
@click.option("--worksheet", type=PATH, help="Moodle's grading worksheet: who, and when.")
@click.option("--roster", type=PATH, help="By default roster.csv in the class's folder.")
@click.option(
    "--leave-out", multiple=True, metavar="NAME", help="A file that belongs to nobody in this class; may be repeated."
)
def import_(
    course_dir: Path,
    download: Path,
    lab: str,
    arrived: str | None,
    worksheet: Path | None,
    roster: Path | None,
    leave_out: tuple[str, ...],
) -> None:
    """Take a download of Canvas or Moodle, a zip or a folder, into submitted/STUDENT/LAB/."""
    from grader.classroom import atomic
    from grader.classroom.folders import find_lab
    from grader.intake.importing import import_download
    from grader.intake.moodle import read_worksheet

    course, rules, people = open_class(course_dir, roster, _aside)
    find_lab(course, lab, rules.labs)  # a misspelt name would become a folder that is never marked
    entries = read_worksheet(worksheet, rules.timezone) if worksheet else None
    with atomic.alone(course.records):
        imports = import_download(course, lab, download, people, entries, _time(arrived, rules), leave_out)
    for file in imports:
        click.echo(str(file))
    wrong = [file for file in imports if file.action in ("refused", "nobody's")]
    settled = sum(file.action == "left out" for file in imports)
    click.echo(f"{len(imports) - len(wrong) - settled} imported, {len(wrong)} not.")
    if any(file.action == "nobody's" for file in wrong):
        click.echo(
            "Until their owners are settled, students who may have handed these in get no mark instead of a zero. "
            "Correct each as its line says; for a file that belongs to nobody in this class, import again with "
            "--leave-out NAME."
        )
    sys.exit(1 if wrong else 0)


@_on_a_lab()
@click.option("--new", is_flag=True, help="Make the class's folder where there is none.")
def release(course_dir: Path, lab: str, new: bool) -> None:
    """Write what students get into release/LAB/."""
    from grader.lab.release import write_release
    from grader.reports.formgrader import write_config

    if new:
        (course_dir / "submitted").mkdir(parents=True, exist_ok=True)
    assignment = open_assignment(course_dir, lab, _aside)
    course = assignment.course
    click.echo(write_release(assignment.lab, course.release(lab)))
    course.source(lab).mkdir(parents=True, exist_ok=True)  # formgrader lists the labs that it finds there
    write_config(course)


@_on_a_lab()
@click.option("--student", "students", multiple=True, metavar="STUDENT", help="Only this one; may be repeated.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 256), help="Submissions at a time.")
@click.option("--marks", type=PATH, help="By default marks.csv in the class's folder.")
@click.option("--again", is_flag=True, help="Mark even what is marked already.")
@click.option("--no-gradebook", is_flag=True, help="Leave nbgrader's gradebook and autograded/ as they are.")
@click.option("--unsafe-no-sandbox", is_flag=True, help="Run students' code as yourself. Every row will say so.")
def grade(course_dir: Path, lab: str, **options: Any) -> None:
    """Mark a lab: marks.csv, nbgrader's gradebook, and autograded/ for its formgrader."""
    from grader.grade_command import run

    problems = run(open_assignment(course_dir, lab, _aside), click.echo, **options)
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    sys.exit(1 if problems else 0)


@_on_a_lab()
@click.option("--student", "students", multiple=True, metavar="STUDENT", help="Only this one; may be repeated.")
@click.option("--canvas", type=PATH, help="Write a zip with the pages, too, that Canvas gives back to students.")
@click.option("--moodle", type=PATH, help="Write a zip with the pages, too, that Moodle gives back to students.")
@click.option("--worksheet", type=PATH, help="Moodle's grading worksheet: who is which participant.")
def feedback(
    course_dir: Path,
    lab: str,
    students: tuple[str, ...],
    canvas: Path | None,
    moodle: Path | None,
    worksheet: Path | None,
) -> None:
    """Write a page for each student into feedback/STUDENT/LAB/LAB.html."""
    from grader.intake.moodle import read_worksheet
    from grader.reports.feedback import write_feedback
    from grader.reports.hand_back import canvas_zip, moodle_zip

    assignment = open_assignment(course_dir, lab, _aside)
    written, waiting = write_feedback(assignment, students)
    click.echo(f"{len(written)} pages in {assignment.course.root / 'feedback'}.")
    if canvas:
        click.echo("\n".join(canvas_zip(assignment, canvas)))
    if moodle:
        entries = read_worksheet(worksheet, assignment.rules.timezone) if worksheet else None
        click.echo("\n".join(moodle_zip(assignment, moodle, entries)))
    if waiting:
        click.echo(f"{len(waiting)} are not marked yet: {', '.join(waiting[:5])}. Run `grade` first.", err=True)
        sys.exit(1)


@_on_a_lab()
@click.option("--canvas", type=PATH, help="The file for Canvas (Gradebook, Import).")
@click.option("--moodle", type=PATH, help="The file for Moodle.")
@click.option("--worksheet", type=PATH, help="Moodle's grading worksheet, to be filled in.")
@_missing
def export(
    course_dir: Path, lab: str, canvas: Path | None, moodle: Path | None, worksheet: Path | None, missing: str
) -> None:
    """Write a lab's scores as files that Canvas and Moodle import; late penalties and manual marks are counted."""
    from grader.reports.export import write_exports

    if not (canvas or moodle):
        raise ClassError("say what to write: --canvas FILE, --moodle FILE, or both.")
    for line in write_exports(open_assignment(course_dir, lab, _aside), canvas, moodle, worksheet, missing):
        click.echo(line)


@_on_a_lab()
@click.option("--since", metavar="TIME", help="Since then; by default the last time that any mark changed.")
def difference(course_dir: Path, lab: str, since: str | None) -> None:
    """Tell which marks the last grading changed."""
    from grader.classroom.history import differences, report

    course, rules, _ = open_class(course_dir, None, _aside)
    time = _time(since, rules)
    for line in report(differences(course, lab, time.astimezone(UTC) if time else None)):
        click.echo(line)


@_on_a_lab()
@click.option("--least", default=0.5, show_default=True, type=click.FloatRange(0.05, 1), help="Share that is alike.")
def similarity(course_dir: Path, lab: str, least: float) -> None:
    """Tell whose answers are more alike than the task explains. Alike is not copied: read both.

    Twenty lines are printed; where there are more, all of them are written into grading/similarity.
    """
    from grader.reports.similarity import tell

    for line in tell(open_assignment(course_dir, lab, _aside), least):
        click.echo(line)


@main.command()
@click.argument("course_dir", type=PATH)
@click.argument("file", type=PATH)
@_missing
@_sentences()
def totals(course_dir: Path, file: Path, missing: str) -> None:
    """Write the scores of all labs that were graded, and their totals, into FILE."""
    from grader.classroom.folders import open_course
    from grader.reports.totals import write_totals

    for line in write_totals(open_course(course_dir), file, missing, _aside):
        click.echo(line)


@main.command("rotate-secret")
@click.argument("course_dir", type=PATH)
@_sentences()
def rotate(course_dir: Path) -> None:
    """Give the class a new secret: the old one doesn't tell the questions of what is handed in from now on."""
    from grader.classroom import atomic
    from grader.classroom.folders import open_course, rotate_secret

    course = open_course(course_dir)
    with atomic.alone(course.records):
        old_secret = rotate_secret(course, datetime.now(UTC))
    click.echo(
        f"The class has a new secret; the old one is {old_secret}." if old_secret else "The class has its first secret."
    )
    click.echo("Marks that were made stay. To ask everybody anew: `grade --again`, lab by lab.")


@main.command("new-lab")
@click.argument("folder", type=PATH)
def new_lab(folder: Path) -> None:
    """Make FOLDER a lab with one small exercise that works, to be edited: text, checks, marking, wrong answers."""
    from grader.lab.new_lab import make_lab

    try:
        notebook = make_lab(folder)
    except LabError as problem:
        raise click.ClickException(str(problem)) from problem
    click.echo(f"{notebook} is what students get, with the files of its checks.")
    click.echo("Next: edit lab.py, checks.py, marking.py and wrong.py. After each change:")
    click.echo(f"python -m grader.lab.release {folder} && python -m grader selftest {folder} --short")


@main.command()
@click.argument("labs", nargs=-1, required=True, metavar="LAB...")
@click.option("--short", is_flag=True, help="Three wrong answers an exercise, several in one submission, few repeats.")
def selftest(labs: tuple[str, ...], short: bool) -> None:
    """Test labs themselves, such as labs/lab03_game_of_life."""
    from grader.selftest.selftest import run

    sys.exit(run(labs, short))


@main.command()
@click.argument("course_dir", required=False, type=PATH)
def doctor(course_dir: Path | None) -> None:
    """Check what grading needs of this machine, and of a class's folder."""
    from grader.doctor import diagnose

    findings = list(diagnose(course_dir))
    click.echo("\n".join(map(str, findings)))
    sys.exit(1 if any(finding.state == "missing" for finding in findings) else 0)


def _time(text, rules):
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ClassError(f"{text!r} is no time. Write it as 2026-12-01T23:59, or with +01:00 at its end.") from None
    return time if time.tzinfo else time.replace(tzinfo=rules.timezone)
