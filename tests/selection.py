"""What `make test` runs and what `make long` does, read from the files themselves, before any of them is imported.

A test marked `long` runs in `make long` alone; a whole file says so by its `pytestmark`, a whole folder by standing in
`tests/slow`. Such a file is not even collected in `make test`: it may import libraries that only `make long` installs.
"""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("tests", "modelserver/tests")
SHORT, LONG = "not long", "long"  # as they are given to pytest's -m
SLOW = tuple(str(ROOT / room / "slow") for room in ROOMS)  # folders whose tests are long without a mark

_MARKED_FILE = re.compile(r"^pytestmark = (?:.|\n(?=[ \])]))*?mark\.long\b", re.M)
_MARKED_TEST = re.compile(r"mark\.long\b")


def is_long_file(path: Path) -> bool:
    """Tell whether all tests of a file are long."""
    return str(path).startswith(SLOW) or bool(_MARKED_FILE.search(path.read_text(encoding="utf-8")))


def is_left_out(path: Path, expression: str) -> bool:
    """Tell whether a run with `-m expression` has no test in this file."""
    if not (path.name.startswith("test_") and path.suffix == ".py"):
        return False
    if expression == SHORT:
        return is_long_file(path)
    return expression == LONG and not is_long_file(path) and not _MARKED_TEST.search(path.read_text(encoding="utf-8"))


def left_out(expression: str) -> str:
    """Return in a sentence what a run with `-m expression` leaves out; "" for any other run."""
    if expression not in (SHORT, LONG):
        return ""
    files = [path for room in ROOMS for path in sorted((ROOT / room).rglob("test_*.py"))]
    whole = [path.relative_to(ROOT) for path in files if is_left_out(path, expression)]
    if expression == LONG:
        return f"Left out: the {len(whole)} files of `make test`, and the full lengths of what `make help` lists."
    marks = sum(len(_MARKED_TEST.findall(path.read_text(encoding="utf-8"))) for path in files if not is_long_file(path))
    rooms = Counter("/".join(path.parts[:2]) for path in whole)
    rooms = ", ".join(f"{count} in {room}" for room, count in rooms.most_common())
    return f"Left out, for `make long`: {len(whole)} whole files ({rooms}), and {marks} marked tests of other files."
