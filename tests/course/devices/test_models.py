"""The models that simulated GPUs run on: a data sheet's figures as they are, or speeds fitted to a recorded trace."""

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import simgpu
from course.devices.simulated import model_for, simulated_gpus
from course.traces import CopyTiming, MatmulTiming, OpTiming, Trace, load_trace
from simgpu import DeviceModel, ModelledClock, Work, calibrate, errors
from simgpu.recording.card_recorder import record, write


@pytest.mark.parametrize("name", ["H200", "T4", "h200-data-sheet"])
def test_a_data_sheet_and_its_model_give_the_same_product(name):
    model = model_for(name)
    sheet = load_trace(f"{name.lower().removesuffix('-data-sheet')}-data-sheet")
    assert "data sheet, not measured" in model.label
    for size in (16, 1000, 8192):
        modelled, expected = model.matmul(size), sheet.matmul(size)
        for seconds in ("compute", "to_device", "from_device"):
            assert getattr(modelled, seconds) == getattr(expected, seconds)
        assert modelled.label == expected.label
    assert model_for(sheet) == model and model_for(model) is model


def test_the_clock_agrees_with_the_model_on_products_in_a_row():
    model = model_for("T4")
    for size in (64, 2048):
        clock = ModelledClock(model)
        work = Work(2 * size**3, 12 * size**2)
        with clock.timed() as timed:
            for _ in range(1000):
                clock.run(0, work)
        assert timed.seconds / 1000 == pytest.approx(model.matmul(size).compute, rel=0.01)
        with clock.timed() as timed:
            clock.copy(None, 0, 4 * size**2)
        assert timed.seconds == pytest.approx(model.matmul(size).from_device)


def test_an_unknown_model_is_refused_with_the_legal_ones():
    with pytest.raises(ValueError, match=r"model='H999'.*Use A100, .*, T4 \(data sheets\), epyc-2-cores \(recorded\)"):
        model_for("H999")
    with pytest.raises(TypeError, match="give a name such as 'H200'"):
        model_for(7)


def test_the_recorded_cpu_is_modelled_within_a_quarter_from_256_on():
    trace = load_trace("epyc-2-cores")
    model = model_for("epyc-2-cores")
    fit = errors(model, trace)
    assert abs(fit.largest.relative) <= 0.25
    assert "fitted to a trace recorded on AMD EPYC" in model.label and trace.date in repr(fit)
    assert len(fit) == len(trace.matmul) + len(trace.copies) + len(trace.ops)
    assert re.search(
        r"Largest error of products from 256 on and of copies: [+-]\d+% \(product float\d\d \d+\)", repr(fit)
    )
    assert "recorded on" in fit._repr_mimebundle_()["text/html"]


SPEEDS = {"launch": (2e-6, 2e-5), "peak": (3e11, 1e15), "half": (1.0, 1500.0), "bandwidth": (1e11, 8e12)}
MACHINES = st.fixed_dictionaries(
    {
        **{name: st.floats(math.log(low), math.log(high)).map(math.exp) for name, (low, high) in SPEEDS.items()},
        "latency": st.floats(1e-6, 3e-5),
        "pinned": st.floats(5e9, 6e10),
        "staging": st.floats(0.2, 0.9),
        "noise": st.lists(st.floats(-0.08, 0.08), min_size=60, max_size=60),
    }
)


def recorded(machine):
    """The trace that a stopwatch would write of a made-up machine, each row off by its noise."""
    model = DeviceModel(
        name="made-up",
        hardware="a made-up GPU",
        memory=1,
        launch=machine["launch"],
        peak={"float32": machine["peak"], "bfloat16": 4 * machine["peak"]},
        half_size={"float32": machine["half"], "bfloat16": 2 * machine["half"]},
        memory_bandwidth=machine["bandwidth"],
        copy_bandwidth=machine["pinned"],
        copy_bandwidth_pageable=machine["pinned"] * machine["staging"],
        copy_latency=machine["latency"],
        origin="made up",
    )
    off = iter(machine["noise"])
    sizes = (256, 384, 512, 768, 1024, 1500, 2048, 3000, 4096, 8192)
    products = [
        MatmulTiming(n, "/gpu:0", model.matmul(n, dtype).compute * (1 + next(off)), dtype=dtype)
        for dtype in ("float32", "bfloat16")
        for n in sizes
    ]
    copies = [
        CopyTiming(way, memory, size, "/gpu:0", model.copy_seconds(size, memory == "pinned") * (1 + next(off)))
        for way in ("to device", "from device")
        for memory in ("pageable", "pinned")
        for size in (10**3, 10**5, 10**6, 10**7, 10**8, 10**9)
    ]
    ops = [
        OpTiming("add", n, "/gpu:0", max(model.launch, 12 * n / model.memory_bandwidth) * (1 + next(off)), n, 12 * n)
        for n in (10**3, 10**8, 2 * 10**8)
    ]
    return model, Trace(
        "made-up", "a made-up GPU", "1", {}, "2026-01-01", "", tuple(products), tuple(copies), tuple(ops)
    )


@settings(max_examples=25)
@given(MACHINES)
def test_a_machine_of_the_models_form_is_found_again_within_a_quarter(machine):
    true, trace = recorded(machine)
    fitted = calibrate(trace)
    assert abs(errors(fitted, trace).largest.relative) <= 0.25
    assert fitted.memory_bandwidth == pytest.approx(true.memory_bandwidth, rel=0.1)
    assert fitted.copy_bandwidth == pytest.approx(true.copy_bandwidth, rel=0.25)
    assert fitted.copy_seconds(10**7) == pytest.approx(true.copy_seconds(10**7), rel=0.25)


def test_a_half_size_of_zero_is_the_types_own_and_not_float32s():
    model = DeviceModel(
        "made-up", "a made-up GPU", 1, 0.0, {"float32": 1e12, "bfloat16": 4e12}, 1e15, 1e9, 1e9, 0.0, "made up",
        half_size={"float32": 1024.0, "bfloat16": 0.0},
    )  # fmt: skip
    assert model.matmul(1024).compute == pytest.approx(2 * 2 * 1024**3 / 1e12)
    assert model.matmul(1024, "bfloat16").compute == pytest.approx(2 * 1024**3 / 4e12)


def test_a_wrong_model_is_told_from_a_right_one():
    true, trace = recorded({
        "launch": 5e-6, "peak": 5e13, "half": 200.0, "bandwidth": 3e12, "latency": 8e-6, "pinned": 5e10,
        "staging": 0.3, "noise": [0.0] * 60,
    })  # fmt: skip
    assert abs(errors(true, trace).largest.relative) < 1e-9
    assert abs(errors(calibrate(trace), trace).largest.relative) < 0.05
    assert errors(model_for("T4"), trace).largest.relative > 1
    assert "made-up" in repr(errors(true, trace)) and "recorded on" in repr(errors(true, trace))


def test_a_trace_without_products_in_float32_cannot_be_fitted():
    trace = Trace("t", "h", "", {}, "2026-01-01", "", (MatmulTiming(8, "/cpu:0", 1.0, dtype="float64"),))
    with pytest.raises(ValueError, match="no float32 products"):
        calibrate(trace)


def test_what_a_trace_does_not_tell_is_listed_as_assumed():
    rows = tuple(MatmulTiming(n, "/cpu:0", 2 * n**3 / 1e11) for n in (256, 512, 1024))
    model = calibrate(Trace("t", "h", "", {}, "2026-01-01", "", rows))
    words = " ".join(model.assumed)
    assert "memory bandwidth" in words and "copies" in words and "launch" in words and "memory: 16 GiB" in words
    assert model.peak["float32"] == pytest.approx(1e11, rel=0.01)


def test_a_card_that_simgpu_wrote_is_a_model_for_the_course_too(tmp_path):
    path = tmp_path / "card.json"
    with simgpu.simulated_gpus(1, "L4"):
        write(path, record(torch.device("cuda", 0)))
    with simulated_gpus(1, str(path)) as gpus:
        assert gpus.model == simgpu.model_for(path) and gpus.devices[0].memory == 24_000_000_000
    path.write_text('{"kind": "other"}', encoding="utf-8")
    with pytest.raises(ValueError, match="trace: schema is 'nothing'"):
        model_for(str(path))
