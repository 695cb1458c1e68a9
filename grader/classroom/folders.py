"""A class's folder, in nbgrader's conventions, and which of its names are students.

    COURSE/source/LAB/           the lab's sources (lab.py, marking.py), or the teacher's notebook
    COURSE/release/LAB/          what students get
    COURSE/submitted/STUDENT/LAB/LAB.ipynb
    COURSE/autograded/STUDENT/LAB/LAB.ipynb, COURSE/feedback/STUDENT/LAB/LAB.html
    COURSE/gradebook.db          nbgrader's
    COURSE/class.toml, COURSE/roster.csv, COURSE/marks.csv
    COURSE/grading/              what this package keeps: the secret, arrivals, results, history

Students choose many names of folders under submitted/, so a name is compared and shown, and never trusted.
"""

import os
import re
import secrets
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

#: Where labs are looked for last: beside the package, in a checkout.
CHECKOUT_LABS = Path(__file__).resolve().parents[2] / "labs"
LONGEST = 128  # characters: nbgrader's column for a student's id
SECRET_BYTES = 32


class ClassError(Exception):
    """Something of the class is wrong: the text says what, where, and how to go on."""


@dataclass(frozen=True)
class CourseFolder:
    """The folder of one class. `open_course` makes one."""

    root: Path

    def submitted(self, student: str, lab: str) -> Path:
        """Return the folder of what `student` handed in for `lab` (names)."""
        return self.root / "submitted" / student / lab

    def autograded(self, student: str, lab: str) -> Path:
        """Return the path of the notebook that formgrader shows of `student` and `lab` (names)."""
        return self.root / "autograded" / student / lab / f"{lab}.ipynb"

    def feedback(self, student: str, lab: str) -> Path:
        """Return the path of the page for `student` on `lab` (names)."""
        return self.root / "feedback" / student / lab / f"{lab}.html"

    def release(self, lab: str) -> Path:
        """Return the folder of what students get of the lab so called."""
        return self.root / "release" / lab

    def source(self, lab: str) -> Path:
        """Return the folder of the lab's sources in the class's own folder."""
        return self.root / "source" / lab

    @property
    def records(self) -> Path:
        """The folder of what this package keeps between its runs; only its user may read it."""
        return self.root / "grading"

    @property
    def gradebook(self) -> Path:
        """The path of nbgrader's gradebook."""
        return self.root / "gradebook.db"

    @property
    def marks(self) -> Path:
        """The path of marks.csv."""
        return self.root / "marks.csv"


def open_course(root: Path | str) -> CourseFolder:
    """Return the `CourseFolder` at `root`. Raises ClassError where that is no folder of a class."""
    root = Path(root)
    if not root.is_dir():
        raise ClassError(f"{root} is not a folder. Name the class's folder, the one with submitted/ in it.")
    signs = ("submitted", "source", "release", "class.toml", "roster.csv", "gradebook.db")
    if not any((root / sign).exists() for sign in signs):
        begin = f"Begin one with `python -m grader release {root} --lab LAB --new`, or name another folder."
        raise ClassError(f"{root} is not a class's folder: it has neither submitted/ nor class.toml. {begin}")
    return CourseFolder(root.resolve())


def students_of(course: CourseFolder) -> tuple[list[str], dict[str, str]]:
    """Return (students, odd): legal names of folders under submitted/, and {an illegal name, as `shown`: why}."""
    place = course.root / "submitted"
    if not place.is_dir():
        return [], {}
    students, odd = [], {}
    for entry in sorted(path for path in place.iterdir() if not path.name.startswith(".")):
        why = not_a_student(entry.name)
        if why is None and entry.is_symlink():
            why = "it is a symbolic link, which is not followed"
        if why is not None:
            odd[shown(entry.name)] = why
        elif entry.is_dir():  # else a file beside the students' folders: a download, a list
            students.append(entry.name)
    return students, odd


def not_a_student(name: str) -> str | None:
    """Return None when `name` can be a student's, else why not."""
    if not name or name in (".", "..") or name.startswith("."):
        return "a name begins with a letter or digit, not with a dot"
    if len(name) > LONGEST:
        return f"it has {len(name)} characters; {LONGEST} is the most"
    if re.search(r"[/\\\0]", name):
        return "it has a path in it"
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in name):
        return "it has characters that can't be seen"
    return None if name == name.strip() else "it begins or ends with a space"


def shown(name: str) -> str:
    """Return a name from the disk as text that can be printed and written anywhere."""
    printable = "".join(
        character if unicodedata.category(character)[0] != "C" else f"\\x{ord(character):02x}" for character in name
    )
    return printable if len(printable) <= LONGEST else printable[: LONGEST - 1] + "…"


def refuse_links(path: Path) -> None:
    """Raise ClassError where the file of a student's at `path`, or one of the two folders above, is a link."""
    if any(place.is_symlink() for place in (path, path.parent, path.parent.parent)):
        raise ClassError(f"{path} or a folder of it is a symbolic link. Remove it, then run the same command again.")


def find_lab(course: CourseFolder, name: str, private: str | None = None) -> Path:
    """Return the folder of the lab's sources: in COURSE/source, in `private` (the class file's), or the checkout's."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ClassError(f"--lab {shown(name)!r}: a lab is the name of its folder, such as lab03_game_of_life.")
    places = [course.root / "source", *([Path(private)] if private else []), CHECKOUT_LABS]
    for place in places:
        if (place / name / "lab.py").is_file():
            return place / name
    labs = sorted({path.parent.name for place in places for path in place.glob("*/lab.py")})
    raise ClassError(
        f"there is no lab {name!r} (no {name}/lab.py in {', '.join(map(str, places))}). "
        f'There are: {", ".join(labs) or "none"}. Labs elsewhere: `labs = "FOLDER"` in class.toml.'
    )


def class_secret(course: CourseFolder) -> bytes:
    """Return the class's secret, bytes, which the first call makes; only its owner may read it."""
    path = course.records / "secret"
    course.records.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError), open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(secrets.token_bytes(SECRET_BYTES))
        file.flush()
        os.fsync(file.fileno())
    if path.is_symlink() or path.stat().st_mode & 0o077:
        raise ClassError(f"{path} can be read by others, who could work out the questions. Run `chmod 600 {path}`.")
    secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        restore = "Restore it from a backup; or remove it, and everybody is asked anew at the next grading."
        raise ClassError(f"{path} holds {len(secret)} bytes where {SECRET_BYTES} are due. {restore}")
    return secret


def rotate_secret(course: CourseFolder, time: datetime) -> Path | None:
    """Give the class a new secret; return where the old one is kept, or None where there was none.

    Marks made with the old one stay; with the old one put back they can be made again.
    """
    path = course.records / "secret"
    old_secret = None
    if path.is_symlink() or path.exists():
        old_secret = path.with_name(f"secret-until-{time:%Y-%m-%dT%H-%M-%S}")
        if old_secret.exists():
            raise ClassError(f"{old_secret} is there already. Rotate again in a second.")
        os.rename(path, old_secret)  # stopped here, the next grading makes the new one
    class_secret(course)
    return old_secret
