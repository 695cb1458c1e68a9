"""`course/__init__.py` is the map of the house; here it is compared with reality, and with what an import costs."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import course

NAMES = [(room, name) for room, names in course.ROOMS.items() for name in names]
#: Not loaded by `import course`, nor by the command line's help.
HEAVY = ("torch", "dask", "distributed", "scipy", "matplotlib", "numpy", "ipywidgets", "bokeh")


@pytest.mark.parametrize("room, name", NAMES, ids=lambda value: value)
def test_a_public_name_is_its_rooms(room, name):
    thing = getattr(course, name)
    assert thing is getattr(import_module(room), name)
    home = getattr(thing, "__module__", room)
    # course.traces is the leaf that both timing and recorded figures rest on; simulated GPUs are a package below.
    homes = (room, f"{room}.", "course.traces.", "simgpu.")
    assert home == room or home.startswith(homes[1:]), f"{name} is defined in {home}, not in {room}"
    assert thing.__doc__, f"{name} has no docstring"


@pytest.mark.parametrize("name", course.MODULES)
def test_a_public_room_is_a_module_with_a_docstring(name):
    room, home = getattr(course, name), "modelserver" if name == "serving" else f"course.{name}"
    assert room is import_module(home) and room.__doc__


def test_all_is_the_map_and_nothing_stands_in_it_twice():
    assert course.__all__ == [name for _, name in NAMES] + course.MODULES
    assert len(set(course.__all__)) == len(course.__all__)
    assert set(course.__all__) <= set(dir(course))


def test_the_rooms_are_those_of_the_architectures_page_in_its_order_and_words():
    page = Path(course.__file__).parents[1].joinpath("docs", "architecture", "course.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `course/(\w+)/` \| (.*?) \|", page, re.MULTILINE)
    assert re.findall(r"^- `(\w+)`: (.*)$", course.__doc__, re.MULTILINE) == rows
    order = [room for room, _ in rows]
    rooms = [room.removeprefix("course.") for room in course.ROOMS]
    assert rooms == sorted(rooms, key=order.index)


def test_a_name_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(AttributeError, match="no 'estimate_e'; its names are .*estimate_pi"):
        course.estimate_e  # noqa: B018


@pytest.mark.parametrize("statement", ["import course", "import course; dir(course)", "import course.__main__"])
def test_importing_the_course_loads_nothing_heavy(statement):
    program = f"import sys, json; {statement}; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == []
