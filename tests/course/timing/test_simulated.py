"""course.timing under simulated_gpus: modelled seconds, the same everywhere, and never called measured."""

import pytest
import torch
from click.testing import CliRunner

import course.timing.matmul
from course import measure, measure_matmul, simulated_gpus
from course.__main__ import main
from course.timing.device_lookup import find_device
from course.traces import load_trace
from simgpu import active


def run(*words):
    said = CliRunner().invoke(main, ["matmul", *words])
    return said.exit_code, said.output.splitlines()


@pytest.mark.parametrize("model", ["H200", "T4"])
def test_the_stopwatch_reads_exactly_what_the_data_sheet_models(model):
    sheet = load_trace(f"{model.lower()}-data-sheet")
    with simulated_gpus(1, model):
        timings = measure_matmul([16, 192, 700], ["/gpu:0"])
    assert [t.size for t in timings] == [16, 192, 700]
    for timing in timings:
        expected = sheet.matmul(timing.size)
        assert timing.compute == pytest.approx(expected.compute)
        assert timing.to_device == pytest.approx(expected.to_device)
        assert timing.from_device == pytest.approx(expected.from_device)
        assert timing.first_call >= timing.compute * 0.999 and (timing.repeats, timing.iqr, timing.threads) == (1, 0, 0)
        assert timing.label == expected.label == f"modelled: {sheet.origin}"


def test_modelled_seconds_are_the_same_each_time_and_whatever_ran_before():
    seconds = []
    for before in range(3):
        with simulated_gpus(2, "T4"):
            a = torch.ones(600, 600, device="cuda:1")
            for _ in range(before):
                a @ a  # takes longer than handing it over, so it is in the queue still when the watch starts
            timing = measure(torch.mm, a, a)
            seconds.append((timing.median, timing.first_call))
    assert seconds[1] == pytest.approx(seconds[0]) and seconds[2] == pytest.approx(seconds[0])


def test_a_modelled_timing_says_so_and_a_measured_one_beside_it_does_not():
    a = torch.ones(8, 8)
    with simulated_gpus(1):
        there = measure(torch.mm, a.cuda(), a.cuda())
        here = measure(torch.mm, a, a, seconds=0.01)
    assert repr(there).endswith("(modelled: NVIDIA H200 SXM data sheet, not measured; /gpu:0)")
    assert "±" not in repr(there)
    assert (there.kind, here.kind) == ("modelled", "measured") and "modelled" not in repr(here)


def test_whoever_watches_a_modelled_measurement_hears_and_may_stop_it():
    def stop(fraction):
        raise InterruptedError(fraction)

    heard = []
    with simulated_gpus(1):
        a = torch.ones(4, 4, device="cuda")
        measure(torch.mm, a, a, watch=heard.append)
        with pytest.raises(InterruptedError):
            measure(torch.mm, a, a, watch=stop)
    assert heard == [0.0, 1.0]


def test_a_device_of_a_closed_simulation_is_gone():
    with simulated_gpus(2):
        place = find_device("cuda:1")
        assert (place.name, place.kind, place.hardware) == ("/gpu:1", "modelled", place.hardware)
        with pytest.raises(ValueError, match="it has /cpu:0, /gpu:0, /gpu:1"):
            find_device("/gpu:2")
    with pytest.raises(ValueError, match=r"/gpu:1.* not on this machine"):
        find_device("/gpu:1")
    assert find_device("/cpu:0").kind == "measured"


def test_real_seconds_and_not_modelled_ones_use_up_the_budget(monkeypatch):
    class Slow:
        """Every product takes 5 real seconds, and a modelled microsecond."""

        now = 0.0

        def perf_counter(self):
            return self.now

    clock, whole = Slow(), course.timing.matmul._timed

    def one(size, *more):
        clock.now += 5
        return whole(size, *more)

    monkeypatch.setattr(course.timing.matmul, "time", clock)
    monkeypatch.setattr(course.timing.matmul, "_timed", one)
    monkeypatch.setattr(course.timing.matmul, "_TELLING", 8)
    with simulated_gpus(1):
        assert [t.size for t in measure_matmul([8, 9, 100], ["/gpu:0"], budget=12)] == [8, 9]


def test_tf32_is_a_speed_of_its_own_and_torchs_setting_is_put_back():
    before = torch.get_float32_matmul_precision()
    with simulated_gpus(1):
        tf32, float32 = (measure_matmul([1024], ["/gpu:0"], dtype=dtype)[0] for dtype in ("tfloat32", torch.float32))
    assert (tf32.dtype, float32.dtype) == ("tfloat32", "float32") and tf32.compute < float32.compute / 2
    assert torch.get_float32_matmul_precision() == before
    with pytest.raises(ValueError, match="TF32 is for a GPU's tensor cores"):
        measure_matmul([8], dtype="tfloat32")


# The command


def test_the_command_measures_and_says_so_on_every_line():
    code, lines = run("cpu", "8", "16", "--budget", "3")
    figures = [line for line in lines if not line.startswith("  ")]
    assert code == 0 and [line.split(":")[1] for line in figures] == ["0 8", "0 16"]
    assert all("GFLOP/s" in line and "first call" in line and "measured: " in line for line in figures)


def test_the_command_tells_where_each_op_ran_and_the_products_sum():
    a = torch.rand(8, 8, generator=torch.Generator().manual_seed(8))
    result = f"  the product's numbers add up to {(a @ a.T).sum().item():.6g}"
    code, lines = run("cpu", "8", "--budget", "1")
    cpu = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert code == 0 and lines[1:] == [f"  {op}: ({op}): {cpu}" for op in ("permute", "mm", "sum")] + [result]
    code, lines = run("gpu", "8", "--simulate")
    gpu = "/job:localhost/replica:0/task:0/device:GPU:0 (simulated)"
    assert code == 0 and lines[-3:] == [f"  mm: (mm): {gpu}", f"  sum: (sum): {gpu}", result]
    assert f"256 bytes from {cpu}" in lines[2]


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA GPU is here, so the command measures it")
def test_the_command_says_in_words_that_a_gpu_is_absent_and_names_two_ways_that_work():
    code, lines = run("gpu", "64")
    assert code == 1 and "gpu is not on this machine; it has /cpu:0" in lines[0]
    ways = [line.split() for line in lines if "python -m course matmul gpu 64 --" in line]
    assert [way[6] for way in ways] == ["--simulate", "--trace"]
    assert "t4-data-sheet" in lines[2] and "epyc-2-cores" not in lines[2]  # that one has a CPU only
    for way in (["--simulate"], ["--simulate", "T4"], ["--trace", "h200-data-sheet"]):
        code, lines = run("gpu", "64", *way)
        assert code == 0 and lines[0].startswith("/gpu:0 64: 10") and "modelled: NVIDIA" in lines[0]


def test_the_command_shows_what_a_trace_has_and_names_what_it_has_not():
    code, lines = run("cpu", "1500", "17", "--trace", "epyc-2-cores")
    trace = load_trace("epyc-2-cores")
    assert code == 0 and lines[0].endswith(trace.at(1500).label) and "recorded" in lines[0] and trace.date in lines[0]
    assert lines[1].startswith("not recorded: 17; 'epyc-2-cores' has 16, 32")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/gpu:99", "8"], "/gpu:99 is not on this machine; it has /cpu:0"),
        (["gpu", "8", "--trace", "epyc-2-cores"], "recorded on /cpu:0"),
        (["gpu", "8", "--trace", "epyc"], "no such trace"),
        (["gpu", "8", "--simulate", "H2OO"], "no data sheet and no trace by that name"),
        (["cpu", "8", "--simulate"], "a GPU is simulated, not this"),
        (["gpu", "8", "--trace", "x", "--simulate"], "give one of them"),
        (["tpu", "8"], "grammar"),
    ],
)
def test_what_the_command_cannot_do_it_says_in_words(words, said):
    code, lines = run(*words)
    assert code == 1 and said in "\n".join(lines) and "Traceback" not in "\n".join(lines)


def test_the_command_leaves_no_simulation_behind():
    run("gpu", "16", "--simulate")
    assert active() is None
