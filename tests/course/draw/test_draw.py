"""Pictures: the same figure is the same bytes, text takes the page's colour, what a reader typed is escaped."""

import re

import matplotlib
import pytest

from course import draw


def one_line():
    with draw.figure() as (figure, axes):
        axes.plot([1, 2, 3], color=draw.ROLES["cpu"].colour)
        axes.set_title("Three points rise")
    return draw.picture(figure, "A line through three <points>")


def test_the_same_figure_is_the_same_bytes():
    assert one_line().html == one_line().html


def test_two_pictures_of_a_page_share_no_id_and_each_finds_its_own():
    def hatched(height):
        with draw.figure() as (figure, axes):
            axes.bar(["a"], [height], hatch="..")
        return draw.picture(figure, "A bar").html

    one, two = hatched(1), hatched(2)
    ids = [set(re.findall(r' id="([^"]+)"', html)) for html in (one, two)]
    assert not ids[0] & ids[1]
    for html, own in zip((one, two), ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", html)) | set(re.findall(r'href="#([^"]+)"', html)) <= own
        assert "url(#" in html


def test_text_takes_the_colour_of_the_page_and_the_alt_text_is_escaped():
    html = one_line().html
    assert "currentColor" in html and "#0a0b0c" not in html
    assert 'aria-label="A line through three &lt;points&gt;"' in html
    assert repr(one_line()) == "[picture] A line through three <points>"


def test_drawing_leaves_matplotlib_as_it_was():
    before = dict(matplotlib.rcParams)
    one_line()
    assert dict(matplotlib.rcParams) == before


def test_drawing_that_fails_leaves_matplotlib_as_it_was():
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError), draw.figure():
        raise ZeroDivisionError
    assert dict(matplotlib.rcParams) == before


def test_no_picture_points_at_another_host():
    html = one_line().html
    allowed = ("http://www.w3.org/",)  # XML name spaces, never fetched
    links = [word for word in html.split('"') if word.startswith(("http://", "https://", "//"))]
    assert all(link.startswith(allowed) for link in links)


def test_a_table_escapes_text_and_keeps_pictures():
    html = draw.table(["what"], [["<b>"], [one_line()], [3]], alt="rows", caption="<caption>").html
    assert "&lt;b&gt;" in html and "<svg" in html and "&lt;caption&gt;" in html and 'class="number">3<' in html
