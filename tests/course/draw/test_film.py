"""Films: the frames on the sheet are the frames given, the bytes are the same each time, nothing is fetched."""

import base64
import io
import re

import numpy as np
import pytest
import torch

from course import draw, life
from course.widgets import animate


def frames_on_the_sheet(picture, count, height, width):
    from matplotlib.image import imread

    png = base64.b64decode(re.search(r"base64,([^\"]+)", picture.html)[1])
    alive = imread(io.BytesIO(png), format="png")[:, :, 3] > 0
    columns = alive.shape[1] // (width + 1)
    corners = [(k // columns * (height + 1), k % columns * (width + 1)) for k in range(count)]
    return [alive[row : row + height, column : column + width] for row, column in corners]


def test_the_sheet_holds_every_generation():
    board = life.random_board(9, 14, 0.4, torch.Generator().manual_seed(1))
    shown = frames_on_the_sheet(animate(board, 11), 12, 9, 14)
    for frame, expected in zip(shown, life.frames(board, 11), strict=True):
        assert np.array_equal(frame, expected.numpy() == 1)


def test_a_film_is_the_same_bytes_each_time_and_has_an_id_of_its_own():
    first, again = (draw.film([life.pattern("glider")] * 3).html for _ in range(2))
    other = draw.film([life.pattern("r_pentomino")] * 3).html
    name = re.compile(r'id="(film-\w+)"')
    assert first == again and name.search(first)[1] != name.search(other)[1]


def test_a_hundred_and_twenty_frames_are_small_and_fetch_nothing():
    board = life.put(life.empty(48, 72), life.pattern("gosper_glider_gun"), 2, 2)
    picture = animate(board, 120)
    assert len(picture.html) < 60_000
    assert not re.search(r"(src|href)=.?(http|//)|https?:", picture.html)
    assert "prefers-reduced-motion" in picture.html and picture.alt in picture.html


def test_frames_are_numbered_from_the_first():
    html = draw.film([life.pattern("glider")] * 4, first=7).html
    assert 'min="7" max="10" value="7"' in html


def test_the_former_name_of_animate_still_works_for_one_version():
    with pytest.warns(DeprecationWarning, match="say widgets.animate"):
        assert draw.animate is animate
    with pytest.raises(AttributeError, match="no 'anime'; its names are"):
        _ = draw.anime
