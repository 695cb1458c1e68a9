"""How Canvas and Moodle name the files of a download, and what can be believed of a name.

    Canvas          lovelaceada_LATE_1234_56789_lab03_game_of_life-1.ipynb    who, [LATE,] user, file, its name
    … anonymous     anon_x7Fq2_56789_lab03_game_of_life.ipynb
    Moodle          Ada Lovelace_1234_assignsubmission_file/lab03_game_of_life.ipynb    (before 4.1 with a last "_")
    … in one folder Ada Lovelace_1234_assignsubmission_file_lab03_game_of_life.ipynb
    folders         ada/lab03_game_of_life.ipynb, ada/lab03_game_of_life/lab03_game_of_life.ipynb

From canvas-lms `lib/content_zipper.rb` and Moodle's `mod/assign/classes/downloader.php` and `importziplib.php`. A
student chooses the last part, and often the name they are shown by: so a name that can be read in two ways is given in
both, and the roster decides.
"""

import re
from dataclasses import dataclass

CANVAS, MOODLE, FOLDERS = "canvas", "moodle", "folders"
_CANVAS = re.compile(r"_(\d+)_(\d+)_")
_ANONYMOUS = re.compile(r"(?:.*_)?(anon_[0-9A-Za-z]+)_(\d+)_(.+)", re.S)
_MOODLE = re.compile(r"(?P<who>[^_]+)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)_?(?P<rest>.*)", re.S)


@dataclass(frozen=True)
class Sent:
    """One way to read a name in a download: `file` of `who`, who has this `number`; `late`: the platform says so."""

    platform: str
    who: str
    number: str
    file: str
    late: bool = False


def readings(path: str) -> list[Sent]:
    """Return every way to read `path`, a name inside a download with "/" between its parts; [] for no one's."""
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    if any(part in (".", "..") or part.startswith((".", "__MACOSX")) for part in parts):
        return []
    for position, part in enumerate(parts):
        found = _MOODLE.fullmatch(part)
        if found:
            rest = [part for part in (found["rest"], *parts[position + 1 :]) if part]
            is_file = found["kind"] == "file" and rest
            return [Sent(MOODLE, found["who"], found["number"], rest[-1])] if is_file else []
    last = parts[-1] if parts else ""
    if len(parts) <= 2 and (canvas := _canvas(last)):
        return canvas
    return [Sent(FOLDERS, parts[0], "", last)] if len(parts) in (2, 3) else []


def _canvas(name):
    anonymous = _ANONYMOUS.fullmatch(name)
    if anonymous:
        return [Sent(CANVAS, "", anonymous[1], anonymous[3])]
    found, position = [], 0
    while match := _CANVAS.search(name, position):
        told, file = name[: match.start()], name[match.end() :]
        who = told.removesuffix("_LATE")
        if who and file:
            found.append(Sent(CANVAS, who, match[1], file, late=who != told))
        position = match.start() + 1
    return found
