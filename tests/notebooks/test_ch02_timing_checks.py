"""Chapter 02's exercises: right answers pass, plausible wrong ones meet a counterexample."""

import math
from statistics import median

import pytest
import torch

from course.checks import check
from course.devices import simulated_gpus
from simgpu import active
from tests.notebooks.answers import model_answers

ANSWERS = model_answers("02_matmul_timing", torch=torch)
EXPLAINED = ANSWERS["explanation"]


def right_stopwatch(work, now, repeats, warm=True, wait=True, middle=median):
    if warm:
        work()
        torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start = now()
        work()
        if wait:
            torch.cuda.synchronize()
        times.append(now() - start)
    return middle(times)


WRONG = {
    "never waits": lambda w, n, r: right_stopwatch(w, n, r, wait=False),
    "counts the set-up": lambda w, n, r: right_stopwatch(w, n, r, warm=False),
    "takes the mean": lambda w, n, r: right_stopwatch(w, n, r, middle=lambda times: sum(times) / len(times)),
    "takes the quickest": lambda w, n, r: right_stopwatch(w, n, r, middle=max),
    "leaves the handing over out": lambda w, n, r: w.seconds,
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_the_stopwatch_exercise_notices_each_wrong_stopwatch(wrong):
    verdict = check(wrong, "right_stopwatch")
    assert verdict.state == "wrong" and "modelled" in verdict.message


def test_a_right_stopwatch_passes_with_and_without_a_simulation_of_the_readers():
    assert check(right_stopwatch) and active() is None
    with simulated_gpus(2):
        assert check(right_stopwatch)


def test_flops_and_break_even_pass_right_answers_and_notice_wrong_ones():
    assert check(ANSWERS["matmul_flops"]) and check(ANSWERS["break_even"])
    assert not check(lambda r, i, c: r * i * c, "matmul_flops")
    assert not check(lambda r, i, c: 2 * r * c, "matmul_flops")
    assert not check(
        lambda cpu, copies, gpu: max(1, math.ceil(copies / (cpu - gpu))) if gpu < cpu else -1, "break_even"
    )
    assert not check(lambda cpu, copies, gpu: int(copies // (cpu - gpu)) + 1 if gpu != cpu else -1, "break_even")


def test_the_explained_crossover_passes_and_each_wrong_word_is_answered_with_the_size():
    assert check(EXPLAINED, "explain_crossover")
    for what, word in EXPLAINED.items():
        wrong = "earlier" if word == "stays" else "stays"
        verdict = check({**EXPLAINED, what: wrong}, "explain_crossover")
        assert verdict.state == "wrong" and f"with {what} the GPU wins from n = " in verdict.message


def test_a_dictionary_still_to_fill_is_not_yet_an_answer():
    assert check({**EXPLAINED, "bus eight times as fast": ...}, "explain_crossover").state == "not yet"
    assert check({"bus": "stays"}, "explain_crossover").state == "wrong"
