"""course.timing: the stopwatch, products with their copies apart, the crossover; seconds decide no test."""

import math
import os
import random
import subprocess
import sys
import time
from statistics import median

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import course.timing.matmul
from course.devices import simulated_gpus
from course.timing import MatmulTiming, Timing, crossover, measure, measure_matmul
from course.timing.clock import EventClock, clock_for
from course.traces import load_trace
from simgpu import Work

seconds = st.floats(1e-6, 1e3)


# The stopwatch


def test_measure_gives_a_median_with_its_spread_and_says_what_it_waited_for():
    timing = measure(torch.mm, torch.ones(8, 8), torch.ones(8, 8), seconds=0.01)
    assert timing.repeats >= 3 and timing.device == "/cpu:0" and timing.threads == torch.get_num_threads()
    assert timing.times[0] <= timing.median <= timing.times[-1] and timing.iqr >= 0
    assert "median of" in repr(timing) and "/cpu:0" in repr(timing)


def test_calls_that_become_slower_are_still_repeated_as_often_as_asked():
    naps = iter([0.0, 0.0] + [0.05] * 100)
    assert measure(lambda: time.sleep(next(naps)), seconds=0.01, at_least=4).repeats >= 4


def test_the_first_call_is_not_among_the_repeats():
    calls = []

    def slow_at_first():
        calls.append(1)
        if len(calls) == 1:
            time.sleep(0.2)

    timing = measure(slow_at_first, seconds=0.01, at_least=5)
    assert timing.first_call >= 0.2 and timing.median < 0.2


def test_threads_are_used_and_put_back_even_after_an_error():
    before = torch.get_num_threads()
    seen = []

    def fails():
        seen.append(torch.get_num_threads())
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        measure(fails, threads=1)
    assert seen == [1] and torch.get_num_threads() == before
    assert measure(torch.mm, torch.ones(2, 2), torch.ones(2, 2), threads=1, seconds=0.01).threads == 1


def test_whoever_watches_hears_fractions_and_may_stop_it():
    heard = []
    measure(sum, [1, 2], seconds=0.01, watch=heard.append)
    assert heard[0] == 0.0 and heard == sorted(heard) and heard[-1] == 1.0

    def stop(fraction):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError):
        measure(sum, [1, 2], watch=stop)


@given(st.lists(seconds, min_size=1, max_size=30))
def test_median_and_iqr_equal_numpys(times):
    timing = Timing(tuple(sorted(times)), first_call=0.0, threads=1, device="/cpu:0")
    assert math.isclose(timing.median, median(times), rel_tol=1e-12)
    assert math.isclose(timing.iqr, np.subtract(*np.percentile(times, [75, 25])), rel_tol=1e-9, abs_tol=1e-12)


def test_gflops_counts_operations_over_the_median():
    assert Timing((1.0, 2.0, 9.0), 0.0, 1, "/cpu:0").gflops(4e9) == 2.0


@pytest.mark.parametrize("device", ["/gpu:99", "cuda:99", "/cpu:7"])
def test_a_device_that_is_not_here_is_named_with_those_that_are(device):
    with pytest.raises(ValueError, match=r"not on this machine; it has /cpu:0"):
        measure(torch.ones, 2, device=device)


def test_a_malformed_device_or_limit_is_refused():
    with pytest.raises(ValueError, match="grammar"):
        measure(torch.ones, 2, device="gpu number one")
    with pytest.raises(ValueError, match="at_least"):
        measure(torch.ones, 2, at_least=0)


# Clocks


def test_the_event_clock_reads_only_when_the_queue_is_empty():
    with simulated_gpus(2) as gpus:
        clock = EventClock("cuda:1")
        before = clock()
        for seconds in (2.0, 3.0):
            gpus.clock.run(1, Work(bytes=seconds * gpus.model.memory_bandwidth))
        assert clock() - before == pytest.approx(5.0, rel=1e-3)


def test_the_clock_of_the_cpu_is_the_hosts():
    assert clock_for(torch.device("cpu")) is time.perf_counter


# Products


def test_a_product_on_the_cpu_moves_nothing_and_carries_its_hardware():
    (timing,) = measure_matmul([16])
    assert (timing.to_device, timing.from_device, timing.total) == (0.0, 0.0, timing.compute)
    assert timing.kind == "measured" and timing.origin and timing.repeats >= 1 and timing.on_cpu
    assert timing.first_call > 0 and timing.gflops == timing.flops / timing.compute / 1e9 and timing.flops == 8192


def test_what_does_not_fit_in_the_budget_is_left_out(monkeypatch):
    def one(size, place, share, expected, dtype, generator, watch):
        return MatmulTiming(size, place.name, compute=size**3 * 1e-3)

    monkeypatch.setattr(course.timing.matmul, "_timed", one)
    # 10 takes 1 s a call; 100 would take 1000 s; 11 still fits
    assert [t.size for t in measure_matmul([10, 100, 11], budget=5)] == [10, 11]


def test_sizes_and_budgets_that_mean_nothing_are_refused():
    for sizes in ([0], [-1], [1.5], [True]):
        with pytest.raises(ValueError, match="is no size"):
            measure_matmul(sizes)
    with pytest.raises(ValueError, match="budget"):
        measure_matmul([2], budget=0)


# The crossover


def slowly(cpu, gpu, with_copies):
    """The reference: look at every size from the smallest."""
    for n in range(1, 1000):
        pair = [[t for t in side if t.size == n] for side in (cpu, gpu)]
        if all(pair):
            c, g = pair[0][0], pair[1][0]
            if (g.to_device + g.compute + g.from_device if with_copies else g.compute) < c.compute:
                return n
    return None


timings = st.dictionaries(st.integers(1, 40), st.tuples(seconds, seconds, seconds), max_size=8)


@given(timings, timings, st.randoms())
@example({n: (float(n),) * 3 for n in (1, 2, 3, 4)}, {n: (1.0,) * 3 for n in (1, 2, 3, 4)}, random.Random(1))
def test_the_crossover_equals_the_reference(cpu, gpu, order):
    cpus = [MatmulTiming(n, "/cpu:0", compute=c) for n, (c, _, _) in cpu.items()]
    gpus = [MatmulTiming(n, "/gpu:0", compute=c, to_device=i, from_device=o) for n, (c, i, o) in gpu.items()]
    shuffled = cpus + gpus
    order.shuffle(shuffled)
    if not cpus or not gpus:
        with pytest.raises(ValueError, match="one CPU with one GPU"):
            crossover(shuffled)
        return
    found, between = crossover(shuffled), crossover(shuffled, between_sizes=True)
    assert found.without_transfers == slowly(cpus, gpus, with_copies=False)
    assert found.with_transfers == slowly(cpus, gpus, with_copies=True)
    both = sorted(cpu.keys() & gpu.keys())
    for won, crossed in zip((found.without_transfers, found.with_transfers), between_of(between), strict=True):
        assert crossed == won or max(n for n in both if n < won) < crossed < won


def between_of(found):
    return found.without_transfers, found.with_transfers


def test_between_two_sizes_the_lines_of_a_plot_on_logarithmic_axes_cross():
    cpu = [MatmulTiming(n, "/cpu:0", compute=n**3 * 1e-6) for n in (1, 16, 256)]
    gpu = [MatmulTiming(n, "/gpu:0", compute=60e-6, to_device=930e-6) for n in (1, 16, 256)]
    assert between_of(crossover(cpu + gpu)) == (16, 16)
    assert between_of(crossover(cpu + gpu, between_sizes=True)) == (4, 10)  # n³ is 64, and 1000
    recorded = load_trace("epyc-2-cores")
    sizes = recorded.sizes()
    for name, size in (("h200", 162), ("t4", 181)):
        modelled = [load_trace(f"{name}-data-sheet").matmul(n) for n in sizes]
        assert crossover([*map(recorded.at, sizes), *modelled], between_sizes=True).with_transfers == size


def test_a_crossover_of_two_dtypes_two_gpus_or_a_size_twice_is_refused():
    cpu, gpu = MatmulTiming(1, "/cpu:0", compute=1.0), MatmulTiming(1, "/gpu:0", compute=1.0)
    with pytest.raises(ValueError, match="one dtype"):
        crossover([cpu, MatmulTiming(1, "/gpu:0", compute=1.0, dtype="float64")])
    with pytest.raises(ValueError, match="one CPU with one GPU"):
        crossover([cpu, gpu, MatmulTiming(2, "/gpu:1", compute=1.0)])
    with pytest.raises(ValueError, match="size 1 stands twice"):
        crossover([cpu, gpu, gpu])


@settings(max_examples=20)
@given(st.integers(1, 12), st.sampled_from(["h200-data-sheet", "t4-data-sheet"]))
def test_more_work_never_takes_a_modelled_gpu_less_time(n, name):
    sheet = load_trace(name)
    small, large = sheet.matmul(n * 100), sheet.matmul(n * 100 + 1)
    assert small.compute <= large.compute and small.to_device < large.to_device
    assert small.to_device == pytest.approx(2 * small.from_device)


@pytest.mark.long
def test_a_machine_with_cuda_s_compiler_and_no_gpu_is_no_reason_for_a_word():
    program = """
import torch
# such a build says what it finds in CUDA_HOME when its Timer is imported
torch.cuda._is_compiled, torch.cuda.is_available, torch.version.cuda = lambda: True, lambda: False, "13"
from course.timing import measure
measure(len, [], seconds=0.001)
"""
    where = os.environ | {"CUDA_HOME": sys.prefix}
    ran = subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and "CUDA" not in ran.stderr, ran.stderr
