"""The picture of chapter 07: several ways to train in one plot."""

import pytest

from course import draw
from course.draw.colours import METHODS

RISING = [draw.Seen(1000, 0.5, 0.5), draw.Seen(2000, 1.0, 0.91)]
FASTER = [draw.Seen(1000, 0.2, 0.5), draw.Seen(2000, 0.4, 0.875)]


def test_the_curves_are_named_and_told_in_words_with_their_ends():
    picture = draw.learning({"server": RISING, "ring": FASTER}, "One is quicker", aim=0.9)
    assert repr(picture) == "[picture] One is quicker. server: 91.0% after 1 s; ring: 87.5% after 0.4 s."
    for words in ("server", "ring", "thousand images seen", "seconds", "held-out"):
        assert words in picture.html


def test_curves_differ_in_colour_and_in_a_second_sign():
    picture = draw.learning({"a": RISING, "b": FASTER, "c": RISING}, "Three")
    assert all(colour.lower() in picture.html for colour, *_ in METHODS[:2])
    drawing = picture.html[picture.html.index("<svg") :]
    assert not any(role.colour.lower() in drawing for role in draw.ROLES.values())
    assert picture.html.count("stroke-dasharray") >= 4  # two of the three lines, in both panels


@pytest.mark.parametrize("runs", [{}, {name: RISING for name in "abcde"}])
def test_curves_that_can_not_be_told_apart_are_refused(runs):
    with pytest.raises(ValueError, match=f"{len(runs)} curves; 1 to 4 can be told apart"):
        draw.learning(runs, "title")
