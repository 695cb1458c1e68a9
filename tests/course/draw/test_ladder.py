"""A ladder: each step stands where its rates say, its gain beside it, the limit across."""

import pytest

from course import draw
from tests.helpers.drawn import axes_of, lines, near, ticks, uprights, words

CLIMBED = (
    draw.Ladder("darts").climb("slow", 1e6).climb("quick", 2e7).climb("back", 4e6, note="off by 0").climb("top", 4e8)
)


def drawn():
    return axes_of(draw.ladder, CLIMBED, 1.2e9, "all that it can")


def test_a_rung_says_its_rate_and_its_gain():
    quick = draw.Ladder("cells").climb("slow", 1e6).climb("quick", 37e6)
    assert repr(quick) == "quick: 37 million cells a second, 37 × the rung below"
    assert repr(quick.climb("last", 37e6)) == "last: 37 million cells a second, 1.0 × the rung below"
    assert "None" not in repr(CLIMBED) and CLIMBED.gains == pytest.approx((1, 20, 0.2, 100))


def test_a_step_goes_from_the_rate_below_to_its_own():
    steps = [line for line in lines(drawn()) if len(line) == 2 and line[0][1] == line[1][1]]
    assert steps[:3] == near([[(1e6, 1), (2e7, 1)], [(2e7, 2), (4e6, 2)], [(4e6, 3), (4e8, 3)]])
    assert steps[3] == near([(4e8, 3), (1.2e9, 3)]), "the way that is left"


def test_gains_stand_beside_their_steps():
    assert {"20 ×", "1/5.0 ×", "100 ×"} <= words(drawn()).keys()


def test_the_limit_is_named_and_everything_is_on_the_axis():
    axes = drawn()
    assert uprights(axes) == [1.2e9] and "all that it can" in words(axes)
    assert axes.get_xscale() == "log" and axes.get_xlim()[0] < 1e6 and axes.get_xlim()[1] > 1.2e9
    assert ticks(axes.yaxis) == {"slow": 0, "quick": 1, "back\noff by 0": 2, "top": 3, "the limit": 4}
    assert axes.get_title(loc="left") == "400 × the first rung, 3.0 × to the limit"


def test_the_picture_says_the_same_in_words():
    alt = draw.ladder(CLIMBED, 1.2e9, "all that it can").alt
    assert "top 400 million" in alt and "limit 1.2 billion (all that it can)" in alt


@pytest.mark.parametrize("rate", [0, -2, float("nan")])
def test_a_rung_without_a_pace_is_refused(rate):
    with pytest.raises(ValueError, match=f"rate={rate}.*above 0"):
        draw.Ladder("darts").climb("odd", rate)


def test_one_rung_is_no_ladder():
    with pytest.raises(ValueError, match="two rungs"):
        draw.ladder(draw.Ladder("darts").climb("slow", 1), 10, "all")
