"""The exhibit of continents: its words are those of the simulation, and nonsense is refused."""

import pytest

from course.widgets import Continents


def test_it_says_what_the_simulation_finds_and_that_it_is_one():
    exhibit = Continents("synchronous")
    assert f"Simulated, synchronous: {exhibit.timeline.rate:.1f} gradients a second" in repr(exhibit)
    alt = exhibit.static().alt
    assert f"worker C, Tokyo: waits {exhibit.timeline.waits(2):.0%}" in alt and "Simulated" in alt


def test_a_ring_has_no_lane_for_a_server():
    assert "server" in Continents().static().html and "server" not in Continents("ring").static().html


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"compute": 33}, "compute=33"),
        ({"wire": -1}, "wire=-1"),
        ({"design": "tree"}, "tree"),
        ({"server": "Mars"}, "Mars"),
        ({"workers": ["Tokyo"] * 7}, "7 places"),
    ],
)
def test_nonsense_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        Continents(**wrong)
