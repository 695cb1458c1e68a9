"""Which rooms are tried, and by which tests: those that mirror the room, and no others."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Room:
    """Code, a file or a folder of `files` below the checkout, and the tests that ought to see a bug in it."""

    code: str
    tests: tuple[str, ...]  # and options of pytest
    pattern: str = "*.py"

    def files(self, root: Path) -> list[str]:
        """Return the room's files with code in them, as paths below `root`, in order."""
        place = root / self.code
        files = [place] if place.suffix == ".py" else sorted(place.glob(self.pattern))
        return [file.relative_to(root).as_posix() for file in files if file.name != "__init__.py"]


_PAGES = ("exhibits", "bets", "training_exhibits", "life_player", "life_player_and_kernel", "map_and_placement")
#: Pages without a script, and the slowest test: of each placement's seconds.
_LEFT_OUT = (
    "tests/browser/test_exhibits_in_chromium.py::test_without_scripts_there_is_a_still",
    "tests/browser/test_map_and_placement_in_chromium.py::test_the_page_and_python_reckon_the_same_for_every",
)
_IN_CHROMIUM = (
    "tests/browser/pictures",
    *(f"tests/browser/test_{name}_in_chromium.py" for name in _PAGES),
    *(f"--deselect={test}" for test in _LEFT_OUT),
)

ROOMS = {
    "life": Room("course/life", ("tests/course/life",)),
    "mapreduce": Room("course/mapreduce", ("tests/course/mapreduce",)),
    "pi": Room("course/pi", ("tests/course/pi",)),
    "names": Room("course/devices/names.py", ("tests/course/devices/test_names.py",)),
    "spec": Room("course/cluster/spec.py", ("tests/course/cluster/test_spec.py",)),
    "server": Room("course/training/server", ("tests/course/training/server",)),
    "marking": Room("grader/marking", ("tests/grader/marking",)),
    "classroom": Room("grader/classroom", ("tests/grader/classroom",)),
    "ops": Room("simgpu/ops", ("tests/simgpu/ops",)),
    "widgets": Room("course/widgets", ("tests/course/widgets", *_IN_CHROMIUM), "**/*.[jp][sy]"),
    "javascript": Room("course/widgets", _IN_CHROMIUM, "**/*.js"),
}
