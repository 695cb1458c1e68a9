"""Chapter 09's checks notice a plausible wrong answer."""

from hypothesis import given
from hypothesis import strategies as st

from tests.notebooks.answers import model_answers
from tests.notebooks.checked import noticed, oracle

RIGHT = model_answers("09_beyond_one_machine")
gradients_a_second, worth_it, quicker, counted_out = RIGHT.values()
WRONG = [
    ("gradients_a_second", lambda compute, delays, rule: gradients_a_second(compute, delays, "async")),
    ("gradients_a_second", lambda compute, delays, rule: gradients_a_second(compute, delays, "sync")),
    ("gradients_a_second", lambda compute, delays, rule: sum(1000 / (compute + delay) for delay in delays)),
    ("gradients_a_second", lambda compute, delays, rule: gradients_a_second(compute, delays, rule) / 1000),
    ("gradients_a_second", lambda compute, delays, rule: gradients_a_second(compute, delays, rule) / len(delays)),
    ("worth_it", lambda compute, delay: worth_it(compute, delay) - 1),
    ("worth_it", lambda compute, delay: -(-(compute + 2 * delay) // compute)),  # as quick is not quicker
    ("worth_it", lambda compute, delay: (compute + delay) // compute + 1),
    ("worth_it", lambda compute, delay: 2),
    ("quicker", lambda ranks, delay, size, speed: "server"),
    ("quicker", lambda ranks, delay, size, speed: "ring"),
    ("quicker", lambda ranks, delay, size, speed: "ring" if size > 1000 else "server"),
    (
        "quicker",
        lambda ranks, delay, size, speed: (
            "ring" if (ranks - 1) * (delay + size / ranks / speed) < 2 * (delay + size / speed) else "server"
        ),
    ),
    ("counted_out", lambda heard, silence, until: heard[-1] + silence if heard[-1] + silence <= until else -1),
    ("counted_out", lambda heard, silence, until: counted_out(heard, silence - 1, until)),
    ("counted_out", lambda heard, silence, until: counted_out(heard, silence, until - 1)),
    ("counted_out", lambda heard, silence, until: counted_out(heard, silence, until + 1)),
    ("counted_out", lambda heard, silence, until: -1),
]


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)

ORACLES = {name: oracle(name) for name in ("counted_out", "gradients_a_second", "quicker", "worth_it")}


@given(st.integers(1, 40), st.lists(st.integers(0, 30), min_size=1, max_size=3), st.sampled_from(["async", "sync"]))
def test_gradients_are_those_that_a_clock_counts(compute, delays, rule):
    wanted = ORACLES["gradients_a_second"](compute, delays, rule)
    assert abs(gradients_a_second(compute, delays, rule) - wanted) <= 1e-9 * wanted


@given(st.integers(1, 50), st.integers(0, 200))
def test_the_least_number_is_the_first_that_is_quicker(compute, delay):
    assert worth_it(compute, delay) == ORACLES["worth_it"](compute, delay)


@given(st.integers(2, 8), st.integers(0, 50), st.integers(0, 500), st.integers(1, 50))
def test_server_or_ring_is_what_the_steps_add_up_to(ranks, delay, size, speed):
    assert quicker(ranks, delay, size, speed) == ORACLES["quicker"](ranks, delay, size, speed)


@given(st.sets(st.integers(1, 60), max_size=6), st.integers(1, 30), st.integers(1, 80))
def test_silence_counts_when_a_ticking_clock_says_so(beats, silence, until):
    heard = [0, *sorted(beat for beat in beats if beat <= until)]
    assert counted_out(heard, silence, until) == ORACLES["counted_out"](heard, silence, until)
