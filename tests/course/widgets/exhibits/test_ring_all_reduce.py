"""The exhibit of the ring: its words are the simulation's, its still shows three moments, nonsense is refused."""

import pytest
import traitlets

from course.widgets import RingAllReduce


def test_it_says_what_the_simulation_finds_and_that_it_is_one():
    exhibit = RingAllReduce()
    assert exhibit.result.ring_seconds == pytest.approx(6 * (1e-4 + 318_040 / 4 / 1.25e8))
    alt = exhibit.static().alt
    assert "4 ranks in a ring 4.42 ms, with a server 20.6 ms" in alt and "Simulated" in alt
    assert "sends 477 kB in 6 steps: after 3 each has one finished piece" in alt and "carries 2.54 MB" in alt
    assert "Simulated" in repr(exhibit)


def test_fewer_ranks_have_fewer_steps_and_pieces():
    exhibit = RingAllReduce(ranks=12, step=22, follow=12)
    exhibit.ranks = 3
    assert (exhibit.step, exhibit.follow) == (4, 0)
    assert RingAllReduce(ranks=3, step=4, follow=3).update(ranks=5).follow == 3


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 12])
def test_the_fewest_and_the_most_ranks_can_be_drawn(ranks):
    assert f"{ranks} ranks" in RingAllReduce(ranks=ranks).static().alt


def test_the_sliders_have_the_present_values_among_their_stops():
    exhibit = RingAllReduce(size=12_345, latency=77)
    stops = exhibit.data()["stops"]
    assert 12_345 in stops["size"] and 77 in stops["latency"] and stops["size"] == sorted(stops["size"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"ranks": 13}, "ranks"), ({"step": 7}, "step=7.*give 0 to 6"), ({"follow": 5}, "follow=5.*give 0 to 4")],
)
def test_nonsense_is_refused(wrong, said):
    with pytest.raises(traitlets.TraitError, match=said):
        RingAllReduce(**wrong)
