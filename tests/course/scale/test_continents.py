"""A training over continents, simulated: what happens follows from what came before, and the clock agrees by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.scale.continents import DESIGNS, PLACES, SERVER, UPDATE, continents, one_way

PLACE = st.sampled_from(sorted(PLACES))
WORKERS = st.lists(PLACE, min_size=1, max_size=6)
COMPUTE, WIRE = st.integers(5_000, 300_000), st.integers(0, 50_000)


@given(WORKERS, PLACE, COMPUTE, WIRE)
def test_a_synchronous_round_takes_the_longest_way_there_and_back(workers, server, compute, wire):
    run = continents("synchronous", workers, server, compute, wire, 1_000_000)
    longest = max(compute + 2 * (one_way(place, server) + wire) for place in workers) + UPDATE
    times = [time for time, _, _ in run.updates]
    assert times == [longest * (1 + at // len(workers)) for at in range(len(times))]
    assert len(times) == len(workers) * ((run.horizon - 1) // longest)
    assert all(age == 0 for _, _, age in run.updates)


@given(st.integers(1, 6), PLACE, COMPUTE, WIRE)
def test_a_ring_in_one_place_takes_all_its_steps_one_after_another(size, place, compute, wire):
    run = continents("ring", [place] * size, place, compute, wire, 1_000_000)
    around = compute + 2 * (size - 1) * (one_way(place, place) + wire // size + UPDATE)
    assert sorted({time for time, _, _ in run.updates}) == list(range(around, run.horizon, around))


def test_a_ring_over_continents_goes_at_the_pace_of_its_slowest_chain():
    places = ["Virginia", "Frankfurt", "Tokyo"]
    legs = [one_way("Virginia", "Frankfurt"), one_way("Frankfurt", "Tokyo"), one_way("Tokyo", "Virginia")]
    first = min(time for time, _, _ in continents("ring", places, "Virginia", 100_000).updates)
    longest = max(sum(legs[(begin + step) % 3] for step in range(4)) for begin in range(3))
    assert longest <= max(time for time, _, _ in continents("ring", places, "Virginia", 100_000).updates[:3]) - 100_000
    assert first >= 100_000 + 4 * min(legs)


@given(WORKERS, PLACE, COMPUTE, WIRE)
def test_an_asynchronous_gradient_is_as_old_as_the_updates_since_its_parameters_were_sent(
    workers, server, compute, wire
):
    run = continents("asynchronous", workers, server, compute, wire, 1_000_000)
    sent = {who: [m.sent for m in run.messages if (m.source, m.target) == (SERVER, who)] for who in range(len(workers))}
    for order, (time, who, age) in enumerate(run.updates):
        pulled = max(moment for moment in sent[who] if moment < time)
        assert (
            age
            == sum(pulled < other <= time for other, _, _ in run.updates) - 1
            == order - sum(other <= pulled for other, _, _ in run.updates)
        )


@given(WORKERS, PLACE, COMPUTE, WIRE)
def test_an_asynchronous_worker_waits_for_its_own_way_and_for_the_servers_line_only(workers, server, compute, wire):
    run = continents("asynchronous", workers, server, compute, wire, 1_000_000)
    for who, place in enumerate(workers):
        begins = [one.begins for one in run.computing if one.worker == who]
        alone = compute + 2 * (one_way(place, server) + wire) + UPDATE
        for one, other in zip(begins, begins[1:], strict=False):
            assert alone <= other - one <= alone + (len(workers) - 1) * UPDATE


@given(st.sampled_from(DESIGNS), WORKERS, PLACE, COMPUTE, WIRE)
def test_messages_take_the_distance_and_workers_compute_one_gradient_at_a_time(design, workers, server, compute, wire):
    run = continents(design, workers, server, compute, wire, 1_000_000)
    place = {SERVER: server, **dict(enumerate(workers))}
    part = wire // len(workers) if design == "ring" else wire
    for one in run.messages:
        assert one.arrives - one.sent == one_way(place[one.source], place[one.target]) + part
    for who in range(len(workers)):
        mine = [one for one in run.computing if one.worker == who]
        assert all(one.ends - one.begins == compute for one in mine)
        assert all(one.ends <= other.begins for one, other in zip(mine, mine[1:], strict=False))
        assert 0 <= run.waits(who) <= 1


def test_far_apart_the_ring_is_slowest_and_with_long_messages_it_is_not():
    places = ["Virginia", "Frankfurt", "Tokyo"]
    quick = {design: continents(design, places, "Virginia", 100_000).rate for design in DESIGNS}
    assert quick["asynchronous"] > quick["synchronous"] > quick["ring"]
    near = ["Virginia"] * 3
    slow = {design: continents(design, near, "Virginia", 100_000, 400_000).rate for design in DESIGNS}
    assert slow["ring"] > slow["synchronous"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"design": "tree"}, "use one of"),
        ({"workers": ["Paris"]}, "'Paris'"),
        ({"server": "Mars"}, "'Mars'"),
        ({"workers": []}, "give a worker"),
        ({"compute": 0}, "compute=0"),
        ({"wire": -1}, "wire=-1"),
    ],
)
def test_nonsense_is_refused(wrong, said):
    given_all = {"design": "ring", "workers": ["Tokyo"], "server": "Tokyo", "compute": 1, "wire": 0} | wrong
    with pytest.raises(ValueError, match=said):
        continents(**given_all)
