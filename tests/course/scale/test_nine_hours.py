"""The nine hours: every way by plain arithmetic, and the numbers that chapters say of them in their prose."""

import re
from pathlib import Path

import pytest

from course.scale import recorded
from course.scale.nine_hours import HOURS, NBYTES, gpu_seconds, gradients, ways
from course.scale.prices import price

SOURCES = Path(__file__).parents[3] / "notebooks" / "source"


@pytest.fixture(scope="module")
def hours():
    return {way.what: way.hours for way in ways()}


def test_one_worker_and_its_server_take_the_nine_hours_that_the_others_are_compared_with(hours):
    assert hours["one worker and its server"] == pytest.approx(HOURS, rel=1e-9)
    costs, alone = recorded().costs["served"], recorded().compute["served"][NBYTES]
    # the gradient itself, two messages at each end, two wakings, and the server's work on each byte
    step = sum(alone) / len(alone) + 4 * costs.message + 2 * costs.wake + NBYTES * costs.byte
    assert gradients() == pytest.approx(3600 * HOURS / step, rel=0.02)


def test_a_server_alone_with_a_thousand_workers_makes_one_gradient_a_turn_of_its_own(hours):
    costs = recorded().costs["served"]
    turn = 2 * costs.message + NBYTES * costs.byte + costs.switch
    assert 3600 * hours["1,000 workers, one server"] / gradients() == pytest.approx(turn, rel=0.02)


def test_workers_that_do_not_wait_share_the_hours_and_those_that_wait_take_longer(hours):
    three, waiting = hours["three workers, nobody waits"], hours["three workers that wait for each other"]
    assert three == pytest.approx(HOURS / 3, rel=0.02) and three < waiting < HOURS / 2


def test_far_apart_a_round_takes_as_long_as_the_way_to_the_farthest_and_back(hours):
    alone = recorded().compute["served"][NBYTES]
    to_tokyo_and_back, update = 0.1453, 0.001
    rounds = sum(alone) / len(alone) + to_tokyo_and_back + update
    away = gradients() / 3 * rounds / 3600
    assert hours["three that wait, on three continents"] == pytest.approx(away, rel=0.02)


def test_on_a_gpu_only_the_batch_travels_unless_the_parameters_were_left_behind():
    there, left = gpu_seconds(), gpu_seconds("cpu")
    parameters_there_gradients_back = 2 * NBYTES / 16e9  # no quicker than the T4's bus
    assert left - there > parameters_there_gradients_back
    assert gpu_seconds(model="H200") < there < 1.2 * gpu_seconds(model="H200")  # both wait for launches


def test_dollars_are_machines_times_hours_and_the_bytes_between_regions(hours):
    for way in ways():
        sent = way.egress_gb * price(way.machine).egress
        assert way.dollars == pytest.approx(way.machines * way.hours * price(way.machine).hour + sent)
    far = ways()[-1]
    assert far.egress_gb == pytest.approx(gradients() * NBYTES / 1e9 * 2 * 2 / 3)  # two of three, there and back


def test_who_waits_makes_an_update_of_all_gradients_and_the_others_one_of_each():
    updates = {way.what: round(gradients() / way.updates) for way in ways() if way.updates < gradients()}
    waiting = "three workers that wait for each other", "three that wait, on three continents"
    assert updates == {**dict.fromkeys(waiting, 3), "1,000 workers, a tree": 1000}
    assert gradients() == pytest.approx(6e6, rel=0.03)  # "six million", and 09: "six thousand updates"


def test_the_prices_are_in_the_order_that_chapter_09_reads_from_them():
    dollars = {way.what: way.dollars for way in ways()}
    assert min(dollars, key=dollars.get) == "a GPU that has them"
    assert max(dollars, key=dollars.get) == "three that wait, on three continents"
    assert dollars["three workers, nobody waits"] < dollars["one worker and its server"]
    assert 80 < dollars["1,000 workers, one server"] / dollars["three workers, nobody waits"] < 140  # "a hundred times"
    far = ways()[-1]
    assert far.egress_gb * price(far.machine).egress > 0.9 * far.dollars  # "nearly all of the bill"


@pytest.mark.parametrize("path", sorted(SOURCES.glob("0*.py")), ids=lambda path: path.stem)
def test_the_story_counts_gradients_in_every_chapter(path):
    text = " ".join(path.read_text(encoding="utf-8").replace("\n#", " ").split())
    assert not re.search(r"million (steps|batches|updates)|(half|share) of (the images|every batch)", text)


def test_each_figure_says_that_nobody_measured_it():
    for way in ways():
        assert re.match("simulated; costs recorded: AMD|modelled: NVIDIA", way.label), way.label


#: chapter -> what its text says, and the hours that it means.
SAID = {
    "00_start_here": [("**nine hours**", "one worker and its server", 9)],
    "01_devices": [
        ("nine hours on one core", "one worker and its server", 9),
        ("would do it in half an hour", "a GPU that has them", 0.5),
        ("and it is two hours (modelled", "a GPU, the parameters left on the CPU", 2),
    ],
    "02_matmul_timing": [("it takes 28 (modelled", "H200", 28 / 60)],
    "03_game_of_life": [("in nine hours", "one worker and its server", 9)],
    "06_async_regression": [("could be three that learn for three", "three workers, nobody waits", 3)],
    "07_replicas_mnist": [
        ("made three hours of nine (simulated)", "three workers, nobody waits", 3),
        ("an hour and a half by one server", "1,000 workers, one server", 1.5),
        ("about four minutes by a tree", "1,000 workers, a tree", 4 / 60),
    ],
    "09_beyond_one_machine": [
        ("make the gradients of nine hours in four minutes", "1,000 workers, a tree", 4 / 60),
        ("The same GPU with the parameters somewhere else takes four times as long", "GPU, times", 4),
        ("for three and a half days", "three that wait, on three continents", 3.5 * 24),
        ("need nine hours", "one worker and its server", 9),
    ],
}
_SAYINGS = [(name, *one) for name, many in SAID.items() for one in many]


def close(said, found):
    return found == pytest.approx(said, rel=0.09)


@pytest.mark.parametrize(("name", "words", "way", "said"), _SAYINGS)
def test_what_a_chapter_says_of_the_nine_hours_is_what_comes_out(hours, name, words, way, said):
    text = " ".join((SOURCES / f"{name}.py").read_text(encoding="utf-8").replace("\n#", " ").split())
    assert words in text
    hours = {**hours, "H200": gradients() * gpu_seconds(model="H200") / 3600}
    hours["GPU, times"] = hours["a GPU, the parameters left on the CPU"] / hours["a GPU that has them"]
    assert close(said, hours[way])
    assert not close(1.25 * said, hours[way]) and not close(0.8 * said, hours[way])  # a number that has drifted


def test_two_weeks_of_trials_and_six_minutes_that_cannot_be_shared():
    assert 36 * HOURS / 24 == 13.5  # 08: "two weeks"
    assert 60 * HOURS * (0.01 + 0.99 / 1000) == pytest.approx(6, rel=0.03)  # 05: "six minutes"
    assert 3600 * HOURS / 1000 == pytest.approx(30, rel=0.09)  # 05, 07: "half a minute"
