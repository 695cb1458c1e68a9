"""Which rooms are tried, and by which tests: those that mirror the room, and no others."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Room:
    """Code, a file or a folder of files below the checkout, and the tests that ought to see a bug in it."""

    code: str
    tests: tuple[str, ...]

    def files(self, root: Path) -> list[str]:
        """Return the room's files with code in them, as paths below `root`, in order."""
        place = root / self.code
        found = [place] if place.suffix == ".py" else sorted(place.glob("*.py"))
        return [file.relative_to(root).as_posix() for file in found if file.name != "__init__.py"]


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
}
