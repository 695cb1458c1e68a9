"""The rules of the ring's exhibit: its sums are those of the real ring, its times those of the chapter's simulation."""

import pytest
import torch

from course.scale import Costs, simulate
from course.scale.all_reduce import AllReduce
from tests.course.replicas.test_replicas import around

SIZES = [2, 3, 4, 7, 12]


def really_held(ranks):
    """Run the real ring: rank r puts 2**r into each piece, so that a sum tells whose it is of; return it by step."""
    values = [torch.full((ranks,), 1 << rank) for rank in range(ranks)]
    held = [[] for _ in values]
    around(values, lambda rank: held[rank].append(values[rank].tolist()))
    return [*map(list, zip(*held, strict=True)), [value.tolist() for value in values]]


@pytest.mark.parametrize("ranks", SIZES)
def test_after_each_step_a_piece_holds_the_gradients_that_it_holds_in_the_real_ring(ranks):
    run = AllReduce(ranks, 1000, 1e6, 0)
    assert [run.pieces(step) for step in range(run.steps + 1)] == really_held(ranks)
    assert all(sum(piece == 2**ranks - 1 for piece in held) == 1 for held in run.pieces(ranks - 1))
    assert run.pieces(run.steps) == [[2**ranks - 1] * ranks] * ranks


@pytest.mark.parametrize("ranks", SIZES)
def test_each_rank_sends_less_than_twice_its_bytes_and_the_servers_link_carries_all_twice(ranks):
    run = AllReduce(ranks, 318_040, 1.25e8, 1e-4)
    assert run.sent == pytest.approx(2 * (ranks - 1) / ranks * 318_040) and run.sent < 2 * 318_040
    assert run.through_server == 2 * ranks * 318_040


@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("latency", [0.0, 1e-4, 0.1])
def test_the_ring_takes_as_long_as_the_chapters_simulation_of_a_ring(ranks, latency):
    run = AllReduce(ranks, 318_040, 1.25e8, latency)
    costs = Costs(message=latency / 2, byte=1 / (2 * 1.25e8))  # there, both ends of a message pay half of it
    assert run.ring_seconds == pytest.approx(ranks * simulate("ring", ranks, costs, [0.0], 318_040))


@pytest.mark.parametrize("ranks", SIZES)
def test_the_server_takes_as_long_as_the_chapters_simulation_but_for_latency(ranks):
    """There a message costs a core's time, and a server's go in turn; here the latency of all passes at once."""
    costs = Costs(message=0.0, byte=2 / 1.25e8)  # there, a byte is paid for once, for its way in and out
    alone = AllReduce(ranks, 318_040, 1.25e8, 0.0).server_seconds
    assert alone == pytest.approx(ranks * simulate("synchronous", ranks, costs, [0.0], 318_040))
    assert AllReduce(ranks, 318_040, 1.25e8, 0.05).server_seconds == pytest.approx(alone + 0.1)


@pytest.mark.parametrize("ranks", SIZES)
def test_at_the_even_size_both_take_as_long_and_below_it_the_server_is_quicker(ranks):
    even = AllReduce(ranks, 1, 1.25e8, 1e-3).even
    if ranks == 2:
        assert even == 0
        return
    for factor, server_wins in ((0.99, True), (1.01, False)):
        run = AllReduce(ranks, factor * even, 1.25e8, 1e-3)
        assert (run.server_seconds < run.ring_seconds) is server_wins


@pytest.mark.parametrize("wrong", [(1, 10, 1, 0), (2, 0, 1, 0), (2, 10, 0, 0), (2, 10, 1, -1)])
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError, match="give 2 ranks or more"):
        AllReduce(*wrong)
    with pytest.raises(ValueError, match="give 0 to 2"):
        AllReduce(2, 10, 1, 0).pieces(3)
