"""Write docs/architecture/sizes.md: each room's lines, and the seconds of its tests; `make architecture` runs it.

The seconds are those of the last `make test` and `make long` here, which leave them in build/seconds; where neither has
run, the page keeps those that it has. They are summed over the tests, of which several run at a time.
"""

import json
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture" / "sizes.md"
PACKAGES = ("course", "modelserver", "simgpu", "grader")
COMMANDS = {"short": "make test", "long": "make long"}
HEAD = """# How large each room is, and how long its tests take

`make architecture` writes this page: lines of Python, and the seconds of the tests that the last `make test` and
`make long` took on the machine that wrote it, added up over tests of which four run at a time on two cores.

| room | lines | lines of its tests | `make test`, s | `make long`, s |
|---|---:|---:|---:|---:|
"""
ROW = re.compile(r"^\| `(.+?)` \| .*? \| .*? \| (.*?) \| (.*?) \|$", re.M)


def room_of(path):
    """Return the room that a file belongs to, or whose tests it has, and whether it is of the tests."""
    parts = path.parts
    tests = parts[0] == "tests" or parts[1:2] == ("tests",)
    if parts[0] == "tests" and parts[1] in PACKAGES:
        parts = parts[1:]
    elif tests and parts[0] in PACKAGES:
        parts = (parts[0], *parts[2:])
    room = "/".join(parts[:2]) if len(parts) > 2 or parts[0] == "tests" else parts[0]
    if not (ROOT / room).is_dir():  # a folder of tests that has no room of its own
        room = "tests" if parts[0] == "tests" else "/".join(path.parts[:3])
    return room, tests


def lines_of_rooms():
    """Return room -> [lines of code, lines of tests]."""
    lines = defaultdict(lambda: [0, 0])
    for top in (*PACKAGES, "tests"):
        for file in sorted((ROOT / top).rglob("*.py")):
            room, tests = room_of(file.relative_to(ROOT))
            lines[room][tests] += file.read_text(encoding="utf-8").count("\n")
    return lines


def seconds_of_rooms(page):
    """Return, for each command, room -> its tests' seconds: measured here, or those that `page` has."""
    columns = []
    for column, name in enumerate(COMMANDS):
        measured = ROOT / "build" / "seconds" / f"{name}.json"
        seconds = defaultdict(float)
        if measured.is_file():
            for file, took in json.loads(measured.read_text()).items():
                seconds[room_of(Path(file))[0]] += took
        else:
            for room, *figures in ROW.findall(page):
                seconds[room] = float(figures[column] or 0)
        columns.append(seconds)
    return columns


def table(page=""):
    """Return the whole page; `page`: what it says today."""
    lines, columns = lines_of_rooms(), seconds_of_rooms(page)
    text, total = HEAD, [0, 0, 0, 0]
    order = {top: at for at, top in enumerate((*PACKAGES, "tests"))}
    for room in sorted(lines, key=lambda room: (order[room.split("/")[0]], room)):
        figures = [*lines[room], *(round(seconds[room]) for seconds in columns)]
        total = [sum(pair) for pair in zip(total, figures, strict=True)]
        text += f"| `{room}` | " + " | ".join(str(figure or "") for figure in figures) + " |\n"
    for top in PACKAGES:
        of_code = sum(code for room, (code, _) in lines.items() if room.split("/")[0] == top)
        text += f"| **{top}** in all | {of_code} | | | |\n"
    return text + "| **all** | " + " | ".join(map(str, total)) + " |\n"


if __name__ == "__main__":
    PAGE.write_text(table(PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""), encoding="utf-8")
