"""record_trace: every sort of row, valid and read back; a simulated GPU plays the path of a real one."""

import subprocess
from types import SimpleNamespace

import pytest
import torch

import course.timing.matmul
import course.timing.trace_recorder
from course import simulated_gpus
from course.timing import measure_copies, measure_life, measure_ops, record_trace
from course.timing.device_lookup import Place
from course.traces import load_trace, validate

SMALL = {"sizes": [8, 16], "copies": [1000], "numbers": [100], "sides": [8], "budget": 1}


@pytest.fixture(autouse=True)
def one_thread_and_time_for_everything(monkeypatch):
    monkeypatch.setattr(course.timing.matmul, "time", SimpleNamespace(perf_counter=lambda: 0.0))  # it stands still
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # threads that wait for each other make a busy machine slow
    yield
    torch.set_num_threads(before)


def test_a_recorded_trace_is_valid_and_reads_back_with_every_sort_of_row(tmp_path):
    trace = record_trace(tmp_path / "mine.json", dtypes=["float32", "float64"], notes="a test", **SMALL)
    again = load_trace(tmp_path / "mine.json")
    assert again.hardware == trace.hardware and again.sizes() == again.sizes("float64") == [8, 16]
    assert again.at(8).kind == "recorded" and again.date in again.at(8).label and again.driver == ""
    assert [(c.direction, c.memory, c.nbytes) for c in again.copies] == [("in memory", "pageable", 1000)]
    assert {(op.op, op.numbers) for op in again.ops} == {(name, 100) for name in ("add", "triad", "relu", "exp", "sum")}
    assert {(row.engine, row.height, row.width) for row in again.life} == {
        (engine, 8, 8) for engine in ("scipy", "conv", "roll", "packed-torch", "packed")
    }
    validate(again.document())
    text = (tmp_path / "mine.json").read_text()
    assert text.count("\n    {") == 4 + 1 + 5 + 5  # a row a line


def test_on_a_gpu_both_ways_both_memories_and_three_number_formats_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(Place, "kind", "measured")  # plays a real GPU; the seconds are the modelled clock's
    monkeypatch.setattr(Place, "origin", "a test")
    monkeypatch.setattr(course.timing.trace_recorder, "_driver", lambda: "NVIDIA 570.1, CUDA 12.8")
    precision = torch.get_float32_matmul_precision()
    with simulated_gpus(1):
        record_trace(tmp_path / "gpu.json", "/gpu:0", **SMALL)
    trace = load_trace(tmp_path / "gpu.json")
    assert {t.dtype for t in trace.matmul} == {"float32", "tfloat32", "bfloat16"}
    assert {(c.direction, c.memory) for c in trace.copies} == {
        (way, memory) for way in ("to device", "from device") for memory in ("pageable", "pinned")
    }
    assert {row.engine for row in trace.life} == {"scipy", "conv", "roll"} and trace.driver.startswith("NVIDIA")
    assert torch.get_float32_matmul_precision() == precision


def test_a_simulated_gpu_is_not_recorded(tmp_path):
    with simulated_gpus(1), pytest.raises(ValueError, match="simulated, and a trace says what real hardware took"):
        record_trace(tmp_path / "mine.json", "/gpu:0", **SMALL)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"dtypes": ["float31"]}, "no such numbers"),
        ({"dtypes": ["int32"]}, "no such numbers"),
        ({"dtypes": ["tfloat32"]}, "GPU's tensor cores"),
        ({"device": "/gpu:99"}, "not on this machine"),
        ({"copies": [0]}, "no number of bytes"),
        ({"sizes": []}, "one row a size"),
    ],
)
def test_what_cannot_be_recorded_is_refused_and_nothing_is_written(tmp_path, settings_, words):
    with pytest.raises(ValueError, match=words):
        record_trace(tmp_path / "mine.json", **{**SMALL, **settings_})
    with pytest.raises(ValueError, match=r"\.json"):
        record_trace(tmp_path / "mine.txt", **SMALL)
    assert not list(tmp_path.iterdir())


def test_what_would_fill_the_memory_is_left_out(tmp_path, monkeypatch):
    one = course.timing.trace_recorder.list_devices()[0]
    small = type(one)(one.name, one.kind, 6000, one.description)
    monkeypatch.setattr(course.timing.trace_recorder, "list_devices", lambda: [small])
    settings_ = {**SMALL, "copies": [1000, 1001, 10**12], "numbers": [250, 251, 10**12], "sides": []}
    trace = record_trace(tmp_path / "mine.json", **settings_)
    assert {c.nbytes for c in trace.copies} == {1000} and {op.numbers for op in trace.ops} == {250}


def test_the_driver_is_asked_for_and_its_absence_is_no_error(monkeypatch):
    def answers(*asked, **settings_):
        return subprocess.CompletedProcess(asked, 0, stdout="570.86.10\n570.86.10\n")

    def absent(*asked, **settings_):
        raise FileNotFoundError("nvidia-smi")

    monkeypatch.setattr(course.timing.trace_recorder.subprocess, "run", answers)
    assert course.timing.trace_recorder._driver() == f"NVIDIA 570.86.10, CUDA {torch.version.cuda}"
    monkeypatch.setattr(course.timing.trace_recorder.subprocess, "run", absent)
    assert course.timing.trace_recorder._driver() == f"CUDA {torch.version.cuda}"


def test_on_a_simulated_gpu_pinned_memory_is_faster_and_every_row_says_modelled():
    with simulated_gpus(1, "T4"):
        rows = measure_copies([10**6], "/gpu:0")
        ops = measure_ops([10**6], "cuda:0", ops=["add"])
        life = measure_life([16], "/gpu:0", engines=["roll"])
    at = {(row.direction, row.memory): row for row in rows}
    assert at["to device", "pinned"].seconds == pytest.approx(10**6 / 16e9)
    assert at["to device", "pageable"].seconds == pytest.approx(1e-5 + 10**6 * (1 / 16e9 + 1 / 12e9))
    assert ops[0].seconds == pytest.approx(12e6 / 320e9) and ops[0].intensity == pytest.approx(1 / 12)
    for row in (*rows, *ops, *life):
        assert row.label == "modelled: NVIDIA T4 data sheet, not measured"


def test_unknown_ops_and_engines_are_named():
    with pytest.raises(ValueError, match="'multiply' is none of add, triad"):
        measure_ops([4], ops=["multiply"])
    with pytest.raises(ValueError, match="Nearest: 'packed'"):
        measure_life([4], engines=["pakced"])
