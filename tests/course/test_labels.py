"""Nothing simulated, modelled or recorded can be mistaken for measured: every renderer is run on tainted figures.

See `tainted.py`: whatever is printed of a trace, a data sheet or a simulation carries an invisible label here, through
all arithmetic. Where one shows up, the same element (line of a command, repr, table, picture) must say the kind of the
figure and where it comes from.
"""

import inspect
import json
import re
from pathlib import Path

import pytest

from course import crossover, draw, log_placement, measure, simulated_gpus, widgets
from course.devices.simulated import model_for
from course.timing import measure_matmul, roofline
from course.traces import load_trace
from tests.helpers.committed import unlabelled_outputs
from tests.helpers.rendered import texts_of, unlabelled
from tests.helpers.tainted import Figure, Mark, marks_in, tainted, tainted_files

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(autouse=True)
def taint(monkeypatch):
    with tainted_files(monkeypatch):
        yield


@pytest.fixture
def gpus():
    with simulated_gpus(2) as simulated:
        yield simulated


def clean(*things, silent=False):
    """Every form of every thing is labelled; and, unless `silent`, at least one shows a tainted figure at all."""
    seen = False
    for thing in things:
        for form, text in texts_of(thing).items():
            assert not unlabelled(text), f"{type(thing).__name__}, {form}"
            seen = seen or bool(marks_in(text))
    assert seen or silent, f"no tainted figure in {things!r}: the mark was lost on the way, so this test tests nothing"


def a_program(device="cuda:0"):
    import torch

    x = torch.ones(300, 300).to(device).requires_grad_()
    (x @ x).relu().sum().backward()
    return x.grad.cpu()


def test_models_and_data_sheets():
    sheet = load_trace("h200-data-sheet")
    model = model_for(sheet)
    clean(model, sheet.matmul(1500), model.matmul(1500))
    assert repr(sheet).startswith("DataSheet(")  # the peaks of a sheet, as such


def test_a_calibrated_model_and_its_errors():
    from simgpu import calibrate, errors

    trace = load_trace("epyc-2-cores")
    model = calibrate(trace)
    clean(model, errors(model, trace))


def test_a_trace_and_its_rows():
    trace = load_trace("epyc-2-cores")
    clean(*trace.matmul[:3], *trace.copies[:2], *trace.ops[:2], *trace.life[:2])


def test_crossover_of_recorded_and_modelled():
    trace, sheet = load_trace("epyc-2-cores"), load_trace("h200-data-sheet")
    timings = [trace.at(n) for n in trace.sizes()] + [sheet.matmul(n) for n in trace.sizes()]
    found = crossover(timings)
    picture = draw.crossover(timings, found)
    clean(found, picture, draw.copy_share([sheet.matmul(n) for n in (1500, 3000)]), silent=True)
    for text in texts_of(picture).values():  # the axes' numbers are matplotlib's: labels at least
        assert "recorded" in text and "modelled" in text
    for text in texts_of(found).values():
        assert trace.origin in text and sheet.origin in text


def test_roofline():
    trace = load_trace("epyc-2-cores")
    for source in (load_trace("h200-data-sheet"), *([trace] if trace.ops else [])):
        roof = roofline(source)
        clean(roof, draw.roofline(roof))


def test_measure_under_a_simulation(gpus):
    import torch

    x = torch.ones(400, 400, device="cuda")
    clean(measure(torch.mm, x, x), *measure_matmul([256], ["/gpu:0"]))


def test_log_of_a_simulation(gpus):
    with log_placement() as log:
        a_program()
    clean(log, str(log[0]), silent=True)
    for row in log.rows():
        if row.get("seconds"):
            assert row["seconds_kind"] == "modelled"


def test_the_modelled_clock(gpus):
    with gpus.clock.timed() as timed:
        a_program()
    clean(timed, gpus.clock)
    clean(gpus, *gpus.devices, silent=True)


def test_events_and_streams(gpus):
    import torch

    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    a_program()
    stop.record()
    stop.synchronize()
    for thing in (start, stop, torch.cuda.current_stream(), torch.cuda.get_device_properties(0)):
        clean(thing, silent=True)
        assert "modelled" in repr(thing) or "simulated" in repr(thing)


def test_pictures_of_the_clock(gpus):
    a_program()
    for text in texts_of(gpus.clock.picture()).values():
        assert "modelled" in text and gpus.model.origin in text


COMMANDS = [
    ["matmul", "gpu", "300", "--simulate"],
    ["matmul", "gpu", "64", "300", "--simulate", "T4"],
    ["matmul", "cpu", "1500", "--trace", "epyc-2-cores"],
    ["matmul", "gpu", "1500", "--trace", "h200-data-sheet"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_line_of_the_command(arguments):
    from click.testing import CliRunner

    from course.__main__ import main

    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert marks_in(result.output), result.output
    for line in result.output.splitlines():
        assert not unlabelled(line), line


def shows_unreal_figures(name):
    """Say if the widget's module speaks of traces, data sheets or simulations; the others have nothing to label."""
    source = inspect.getsource(inspect.getmodule(getattr(widgets, name)))
    return re.search("load_trace|simulat|model_for|DataSheet|modelled", source) is not None


TWINS = [name for name in dir(widgets) if name[0].isupper() and shows_unreal_figures(name)]


SLOW = {"MatmulSlider", "StopwatchComparison"}  # they measure; their own tests look at their labels, too


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] if n in SLOW else []) for n in TWINS])
def test_a_static_twin_of_a_widget(name):
    widget = getattr(widgets, name)()
    try:
        for form, text in texts_of(widget.static()).items():
            assert not unlabelled(text), form
    finally:
        if hasattr(widget, "close"):  # some open nothing
            widget.close()


def test_the_widgets_with_unreal_figures_are_found():
    assert {"MatmulSlider", "PlacementExplorer", "StopwatchComparison", "RooflineExplorer"} <= set(TWINS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_outputs(path):
    assert not unlabelled_outputs(json.loads(path.read_text(encoding="utf-8")))


def test_an_unlabelled_renderer_is_noticed():
    sheet = load_trace("h200-data-sheet")
    timing = sheet.matmul(1500)
    for planted in (
        f"{timing.compute * 1e6:.0f} µs",
        f"H200: {timing.gflops:.0f} GFLOP/s",
        f"the GPU is {round(1 / timing.compute)} times as fast",
        f"{timing.kind}: {timing.compute:.3g} s",  # the kind, but not whose
        f"{sheet.origin}: {timing.compute:.3g} s".replace("data sheet, not measured", ""),
    ):
        assert unlabelled(planted), planted
    assert not unlabelled(f"{timing.compute:.3g} s ({timing.label})")


def test_a_mark_survives_arithmetic():
    mark = Mark("modelled", "somebody")
    x = Figure(2.0, mark)
    operators = (x + 1, 1 - x, x * 3, 6 / x, -x, x**2, 2**x, x % 2)
    for y in (*operators, abs(x), max(x, 1.0), sum([x, x]), round(x), round(x, 1)):
        assert marks_in(f"{y}") == {mark}
        assert marks_in(f"{y:.3g}") == {mark}
    assert tainted(load_trace("h200-data-sheet")).matmul(64).total > 0


def cell(source, *outputs):
    outputs = [{"output_type": "stream", "name": "stdout", "text": text} for text in outputs]
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": outputs}


SHEET = cell("h200 = load_trace('h200-data-sheet')\nt = h200.matmul(3)")


@pytest.mark.parametrize(
    ("cells", "problems"),
    [
        ([SHEET, cell("print(t.compute)", "53 µs")], 1),
        ([SHEET, cell("u = t.compute\nv = [u]"), cell("print(v)", "took 0.1 ms")], 1),
        ([SHEET, cell("print(t.compute)", "53 µs (modelled: NVIDIA H200 data sheet, not measured)")], 0),
        ([SHEET, cell("print(t.compute)", "53 µs (modelled)")], 1),
        ([SHEET, cell("print(len(sizes))", "3 sizes")], 0),
        ([cell("print(timing)", "measured: 3 ms")], 0),
        ([cell("gpus = simulated_gpus(4)"), cell("print(seconds)", "0.4 s")], 0),
        ([cell("gpus = simulated_gpus(4)"), cell("print(measure(f, device='cuda'))", "0.4 s")], 1),
        ([cell("with simulated_gpus(4) as gpus:\n    print(gpus.clock.host)", "1.5 GB/s")], 1),
        ([cell("def f():\n    return load_trace('t4-data-sheet').launch"), cell("print(f())", "10 µs")], 1),
    ],
)
def test_a_planted_output_is_noticed(cells, problems):
    assert len(unlabelled_outputs({"cells": cells})) == problems
