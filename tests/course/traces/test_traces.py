"""course.traces: every file that comes with the course is valid, and what is wrong with another is said by field."""

import copy
import json
from contextlib import nullcontext
from dataclasses import fields
from datetime import date, timedelta
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # comes with Jupyter; the course itself does without

from course.traces import DataSheet, MatmulTiming, Trace, load_trace, names, validate
from course.traces.trace import ROWS

SCHEMA_FILE = json.loads((files("course.traces") / "schema.json").read_text(encoding="utf-8"))
JSON_SCHEMA = Draft202012Validator(SCHEMA_FILE)
RECORDED = json.loads((files("course.traces") / "data" / "epyc-2-cores.json").read_text(encoding="utf-8"))
_SPREAD = {"device": "/cpu:0", "seconds": 1e-3, "iqr": 1e-5, "repeats": 3}
#: every sort of row, one of each at least
GOOD = {
    **RECORDED,
    "schema": 2,
    "matmul": RECORDED["matmul"][:3],
    "copies": [{"direction": "to device", "memory": "pinned", "nbytes": 1000, **_SPREAD}],
    "ops": [{"op": "add", "numbers": 10, "flops": 10, "nbytes": 120, "threads": 2, "dtype": "float32", **_SPREAD}],
    "life": [{"engine": "roll", "height": 8, "width": 8, "generations": 2, "threads": 2, **_SPREAD}],
}
FIRST = {k: v for k, v in GOOD.items() if k not in ("copies", "ops", "life")} | {"schema": 1}
SHEET = json.loads((files("simgpu.models") / "data" / "h200-data-sheet.json").read_text(encoding="utf-8"))


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
    for trace in (load_trace("epyc-2-cores"), Trace.from_document(GOOD)):
        assert Trace.from_document(trace.document()) == trace
    validate(trace.document())


def test_a_file_of_the_first_schema_is_read_still_and_has_products_only():
    validate(FIRST)
    first = Trace.from_document(FIRST)
    assert len(first.matmul) == 3 and (first.copies, first.ops, first.life) == ((), (), ())
    with pytest.raises(ValueError, match="copies is .*only the fields"):
        validate({**FIRST, "copies": []})


def test_every_row_of_a_trace_says_that_it_was_recorded_on_what_and_when():
    trace = Trace.from_document(GOOD)
    for row in (*trace.matmul, *trace.copies, *trace.ops, *trace.life):
        assert row.label == f"recorded: {GOOD['hardware']}, {GOOD['date']}"
    assert trace.copies[0].bandwidth == pytest.approx(1e6) and trace.life[0].cells_a_second == pytest.approx(128e3)
    op = trace.ops[0]
    assert (op.intensity, op.speed, op.bandwidth) == pytest.approx((10 / 120, 10e3, 120e3))


def places(document, path=()):
    """Yield the path of every value within `document`."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


_PLACES = [(document, path) for document in (GOOD, FIRST, SHEET) for path in places(document)]
_VALUES = st.sampled_from(
    [..., None, True, False, 0, 1, 2, 3, -1, 0.0, 1.0, 1.5, -0.5, "", "recorded", "data sheet", "pinned", "2026-11-21"]
) | st.sampled_from([[], {}, [1], ["a"], {"a": 1}, {"float32": 1}, 1e300, "x" * 5])


@settings(max_examples=400)
@given(st.sampled_from(_PLACES), _VALUES, st.none() | st.sampled_from(["extra", "notes", "copies"]))
def test_the_validator_and_the_json_schema_accept_and_refuse_the_same_documents(place, value, extra):
    document, path = place
    wrong = changed(document, path, value)
    if extra:
        wrong.setdefault(extra, "more")
    try:
        validate(wrong)
        accepted = True
    except ValueError as error:
        accepted = False
        assert "legal is" in str(error)
    assert JSON_SCHEMA.is_valid(wrong) == accepted


def test_the_schema_is_one_itself_and_knows_every_field_of_every_row():
    Draft202012Validator.check_schema(SCHEMA_FILE)
    for name, row in ROWS.items():
        in_file = {field.name for field in fields(row)} - {"kind", "origin"}
        assert set(SCHEMA_FILE["$defs"][name]["properties"]) == set(SCHEMA_FILE["$defs"][name]["required"]) == in_file


def test_a_file_of_ones_own_that_was_recorded_the_day_after_tomorrow_is_refused(tmp_path):
    for days, legal in ((1, True), (2, False)):
        day = (date.today() + timedelta(days=days)).isoformat()
        (tmp_path / "mine.json").write_text(json.dumps({**GOOD, "date": day}))
        with nullcontext() if legal else pytest.raises(ValueError, match="in the future"):
            load_trace(tmp_path / "mine.json")


@pytest.mark.parametrize(
    ("document", "path", "value", "words"),
    [
        (GOOD, ["hardware"], ..., "hardware is 'nothing'"),
        (GOOD, ["kind"], "measured", "kind is 'measured'"),
        (GOOD, ["schema"], 3, "a newer one needs a newer course"),
        (GOOD, ["date"], "yesterday", "an ISO date"),
        (GOOD, ["matmul"], [], "one row a size"),
        (GOOD, ["matmul", 0], 7, r"matmul\[0\] is 7"),
        (GOOD, ["matmul", 1, "compute"], ..., r"matmul\[1\].compute is 'nothing'"),
        (GOOD, ["matmul", 2, "iqr"], -1.0, r"matmul\[2\].iqr is -1.0"),
        (GOOD, ["matmul", 0, "size"], "16", r"matmul\[0\].size is '16'; legal is a whole number"),
        (GOOD, ["matmul", 0, "speed"], 3, r"matmul\[0\].speed is 3; legal is only the fields"),
        (GOOD, ["matmul", 0, "compute"], float("nan"), r"compute is nan; legal is seconds, more than 0"),
        (GOOD, ["matmul", 0, "compute"], float("inf"), r"compute is inf; legal is seconds, more than 0"),
        (GOOD, ["matmul", 0, "repeats"], True, r"repeats is True; legal is how often"),
        (GOOD, ["software", "torch"], 2.13, "software.torch is 2.13; legal is a version as text"),
        (GOOD, ["copies", 0, "direction"], "up", r"copies\[0\].direction is 'up'; legal is 'to device', 'from device'"),
        (GOOD, ["copies", 0, "seconds"], ..., r"copies\[0\].seconds is 'nothing'; .*: seconds, more than 0"),
        (SHEET, ["peak", "float32"], 0, "peak.float32 is 0"),
        (SHEET, ["sources"], [], "rumour"),
        (SHEET, ["launch"], ..., "launch is 'nothing'"),
    ],
)
def test_what_is_wrong_with_a_trace_or_a_data_sheet_is_named(document, path, value, words):
    with pytest.raises(ValueError, match=words):
        validate(changed(document, path, value))


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
