"""course.traces: every file that comes with the course is valid, and what is wrong with another is said by field."""

import copy
import json
from importlib.resources import files

import pytest

from course.traces import DataSheet, MatmulTiming, Trace, load_trace, names, validate

GOOD = json.loads((files("course.traces") / "data" / "epyc-2-cores.json").read_text(encoding="utf-8"))
SHEET = json.loads((files("course.traces") / "data" / "h200-data-sheet.json").read_text(encoding="utf-8"))


def changed(document, path, value):
    """A copy of `document` with the field at `path` (keys and indices) set, or removed where `value` is `...`."""
    new = copy.deepcopy(document)
    at = new
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return new


@pytest.mark.parametrize("name", names())
def test_every_file_that_comes_with_the_course_loads_and_says_where_it_is_from(name):
    loaded = load_trace(name)
    assert loaded.name == name
    if isinstance(loaded, Trace):
        assert loaded.date in loaded.origin and loaded.hardware in loaded.origin
        assert all(t.kind == "recorded" and t.origin == loaded.origin for t in loaded.matmul)
        assert {1500, 3000, 4500} <= set(loaded.sizes())
    else:
        assert "not measured" in loaded.origin and loaded.sources and loaded.assumed
        assert loaded.matmul(10).kind == "modelled" and loaded.matmul(10).origin == loaded.origin


def test_a_trace_survives_a_round_trip():
    trace = load_trace("epyc-2-cores")
    assert Trace.from_document(trace.document()) == trace


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["hardware"], ..., "hardware is 'nothing'"),
        (["kind"], "measured", "kind is 'measured'"),
        (["schema"], 2, "a newer one needs a newer course"),
        (["schema"], True, "schema is True"),
        (["date"], "yesterday", "an ISO date"),
        (["matmul"], [], "one row a size"),
        (["matmul", 0], 7, r"matmul\[0\] is 7"),
        (["matmul", 1, "compute"], 0, r"matmul\[1\].compute is 0"),
        (["matmul", 1, "compute"], ..., r"matmul\[1\].compute is 'nothing'"),
        (["matmul", 2, "iqr"], -1.0, r"matmul\[2\].iqr is -1.0"),
        (["matmul", 0, "size"], "16", r"matmul\[0\].size is '16'; legal is int"),
        (["matmul", 0, "size"], 0, "1 or more"),
        (["matmul", 0, "speed"], 3, r"matmul\[0\].speed"),
    ],
)
def test_what_is_wrong_with_a_trace_is_named(path, value, words):
    with pytest.raises(ValueError, match=words):
        validate(changed(GOOD, path, value))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["peak", "float32"], 0, "peak.float32 is 0"),
        (["copy_bandwidth"], -1.0, "more than 0"),
        (["sources"], [], "rumour"),
        (["launch"], ..., "launch is 'nothing'"),
    ],
)
def test_what_is_wrong_with_a_data_sheet_is_named(path, value, words):
    with pytest.raises(ValueError, match=words):
        validate(changed(SHEET, path, value))


def test_a_trace_from_the_future_is_refused_when_the_day_is_given():
    validate(GOOD, today="2026-11-21")
    with pytest.raises(ValueError, match="in the future"):
        validate(GOOD, today="2026-11-20")


def test_a_file_that_is_missing_or_no_json_is_named(tmp_path):
    with pytest.raises(ValueError, match="There are .*h200-data-sheet"):
        load_trace("h100")
    (tmp_path / "torn.json").write_text('{"schema": 1,')
    with pytest.raises(ValueError, match="not JSON"):
        load_trace(tmp_path / "torn.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ValueError, match="a JSON object"):
        load_trace(tmp_path / "list.json")


def test_a_size_or_dtype_that_was_not_recorded_is_refused():
    with pytest.raises(ValueError, match="holds float32 sizes"):
        load_trace("epyc-2-cores").at(17)
    with pytest.raises(ValueError, match="lists float32, float16"):
        load_trace("t4-data-sheet").matmul(8, "float64")


def test_a_model_is_the_slowest_of_launch_arithmetic_and_memory_with_three_staged_copies():
    sheet = DataSheet(
        name="toy",
        hardware="toy",
        peak={"float32": 1000.0},
        memory=1,
        memory_bandwidth=120.0,
        copy_bandwidth=40.0,
        launch=3.0,
        copy_latency=0.5,
        assumed=(),
        sources=("none",),
    )
    tiny, small, large = sheet.matmul(1), sheet.matmul(8), sheet.matmul(100)
    assert tiny.compute == 3.0  # bound by the host, who launches the next
    assert small.compute == pytest.approx(3 * 64 * 4 / 120)  # bound by memory: 3 matrices of 4 bytes
    assert large.compute == pytest.approx(2e6 / 1000)  # bound by arithmetic
    copy = 0.5 + 4 / 40 + 4 / 12e9  # the host stages a pageable matrix at 12 GB/s
    assert (tiny.to_device, tiny.from_device) == pytest.approx((2 * copy, copy))


def test_a_figure_says_what_it_is():
    figure = MatmulTiming(2, "/job:worker/task:1/cpu:0", compute=2.0, to_device=1.0, from_device=0.5)
    assert figure.label == "measured" and figure.on_cpu and figure.total == 3.5 and figure.copies == 1.5
    assert not MatmulTiming(2, "/gpu:0", compute=1.0).on_cpu
