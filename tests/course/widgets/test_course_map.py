"""CourseMap: its stations are the chapters' sources, its bars the outlook's formula; and the outlook itself."""

import ast
import re
from pathlib import Path

import pytest

from course import list_devices
from course.chapter_times import CHAPTERS, LIMIT, outlook, usable_cores
from course.checks import check
from course.widgets import CourseMap
from course.widgets.stations import STATIONS

SOURCES = sorted((Path(__file__).parents[3] / "notebooks" / "source").glob("[0-9]*.py"))


def calls(source, name):
    """Return the calls of `name` in a chapter's source, in their order."""
    lines = [line for line in source.splitlines() if not line.startswith(("%", "!"))]
    found = [node for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Call)]
    return sorted((call for call in found if getattr(call.func, "id", "") == name), key=lambda call: call.lineno)


@pytest.mark.parametrize(("path", "station"), list(zip(SOURCES, STATIONS, strict=True)), ids=[p.stem for p in SOURCES])
def test_a_station_is_its_chapters_source(path, station):
    source = path.read_text(encoding="utf-8")
    assert station.name == path.stem
    assert f"# # {station.title}\n" in source
    assert f"**{station.question}**" in source[:900].replace("\n# ", " ")
    names = [word.value.value for call in calls(source, "Predict") for word in call.keywords if word.arg == "name"]
    assert [f"{path.stem[:2]} {bet}" for bet in station.bets] == names
    asked = [call.args[-1] for call in calls(source, "check")]
    exercises = [one.value if isinstance(one, ast.Constant) else one.id for one in asked]
    assert list(station.exercises) == list(dict.fromkeys(exercises))


def test_an_exercises_name_belongs_to_one_chapter():
    every = [name for station in STATIONS for name in station.exercises]
    assert len(set(every)) == len(every)


def test_the_map_shows_what_the_formula_says_and_links_every_chapter():
    course_map = CourseMap(cores=2, memory=8)
    assert f"0 of {len(CHAPTERS)} slow here" in repr(course_map.static())
    course_map.cores = 1
    slow = [o for o in outlook(1, 8) if o.why]
    shown = course_map.static()
    assert slow and f"{len(slow)} of {len(CHAPTERS)} slow here" in repr(shown)
    assert all(f"{o.chapter.name}: {o.why}" in shown.alt for o in slow)
    assert re.findall(r'href="(\w+)\.ipynb"', shown.html) == [path.stem for path in SOURCES]
    course_map.close()


def test_the_devices_that_are_given_lie_in_the_page():
    course_map = CourseMap(devices=list_devices())
    assert course_map.data()["devices"][0][0] == "/cpu:0"
    assert list_devices()[0].description in course_map._repr_mimebundle_()["text/html"]
    course_map.close()


@pytest.mark.parametrize(("setting", "value"), [("cores", 0), ("memory", -1), ("slower", 0.0), ("starts", 0)])
def test_a_map_for_no_machine_is_refused_and_the_last_one_stays(setting, value):
    course_map = CourseMap(cores=3)
    before = course_map.state()
    with pytest.raises(ValueError, match=setting):
        setattr(course_map, setting, value)
    assert course_map.state() == before
    course_map.close()
    with pytest.raises(ValueError, match=setting):
        outlook(**{**before, setting: value})


def test_a_passed_exercise_is_noted_by_the_browser_and_a_wrong_one_is_not():
    passed = check(lambda rows, columns: 4 * rows * columns, "matrix_bytes")
    assert passed.done == ("00", "matrix_bytes")
    html = passed._repr_mimebundle_()["text/html"]
    assert 'const name = "00 matrix_bytes"' in html and "course.done." in html
    wrong = check(lambda rows, columns: rows * columns, "matrix_bytes")
    assert wrong.done is None and "<script" not in wrong._repr_mimebundle_()["text/html"]
    assert check(lambda rows, columns: ..., "matrix_bytes").done is None


# The outlook


def test_the_outlook_knows_every_chapter_and_the_minutes_it_states():
    stated = {}
    for source in SOURCES:
        head = source.read_text(encoding="utf-8")[:2000]
        found = re.search(r"\| (?:Minutes|Time) \| (\d+)", head)
        stated[source.stem] = int(found[1]) if found else None
    assert {c.name: c.minutes for c in CHAPTERS} == stated


def test_on_the_machine_it_was_seen_on_every_chapter_keeps_its_promise():
    seen = outlook(cores=2, memory=2)
    assert [o.seconds for o in seen] == [c.seconds for c in CHAPTERS]
    assert not any(o.why for o in seen) and max(o.seconds for o in seen) <= LIMIT


#: Runs on two cores, 2026-11-22: (times as long a product, a start), as chapter 00 measured them, and seconds.
RUNS = {
    "to itself": ((0.8, 1.0), (7.2, 5.6, 26.4, 9.0, 21.6, 10.9, 39.1, 20.0)),
    "half a core of two, by a control group": ((6.9, 2.27), (13.7, 12.0, 52.3, 16.1, 39.0, 23.1, 68.2, 47.2)),
    "nine other programs": ((7.3, 2.6), (16.1, 15.1, 76.1, 24.9, 32.1, 18.1, 103.0)),
    "twenty, and products without AVX": ((12.0, 5.33), (30.9, 25.5, 138.2, 76.2, 122.0, 39.6)),
}


@pytest.mark.parametrize("run", RUNS)
def test_the_forecast_is_within_a_factor_of_two_of_what_was_seen(run):
    (slower, starts), seen = RUNS[run]
    for o, seconds in zip(outlook(2, 8, slower, starts), seen, strict=False):
        assert 0.5 < o.seconds / seconds < 2, (o.chapter.name, o.seconds, seconds)


def test_starting_a_process_does_not_take_longer_where_only_products_do():
    usual, slow_products = outlook(2, 8), outlook(2, 8, slower=4)
    for before, after in zip(usual, slow_products, strict=True):
        assert after.seconds - before.seconds == pytest.approx(3 * before.chapter.products)
    assert [o.chapter.name for o in slow_products if o.why] == ["02_matmul_timing"]


@pytest.mark.parametrize("chapter", range(len(CHAPTERS)))
def test_more_cores_never_slow_a_chapter_down_and_less_memory_is_said(chapter):
    times = [outlook(cores, 8)[chapter].seconds for cores in (1, 2, 4, 8, 64)]
    assert times == sorted(times, reverse=True)
    assert "GiB" in outlook(2, 0.1)[chapter].why


@pytest.mark.parametrize(
    ("text", "cores"), [("100000 100000\n", 1), ("50000 100000\n", 1), ("max 100000\n", None), ("nonsense\n", None)]
)
def test_a_containers_quota_counts(tmp_path, text, cores):
    (tmp_path / "cpu.max").write_text(text)
    assert usable_cores(tmp_path) == (cores or usable_cores(tmp_path / "nowhere"))
