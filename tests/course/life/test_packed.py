"""The packed engine: words, bands, ghosts and tiles can't be seen in the cells."""

import pytest
import torch

from course import life
from course.life import packed
from course.life.sums import Scratch
from tests.course.life.test_life import reference


@pytest.mark.parametrize("engine", life.ENGINES)
def test_a_board_of_many_tiles_equals_a_board_of_one(engine, monkeypatch):
    board = life.random_board(96, 70, 0.4, torch.Generator().manual_seed(1))
    monkeypatch.setattr(packed, "TILE_COLUMNS", 9)  # so that tiles end within the board, in both directions
    monkeypatch.setattr(packed, "TILE_ROWS", 2)
    assert torch.equal(life.run(board, 9, engine), reference(board, 9))


# 63 bands leave one bit of each word unused, in one, two and three rows of words; 62 and 21 leave more
@pytest.mark.parametrize("height", [62, 63, 126, 189, 42])
@pytest.mark.parametrize("rule", ["B3/S23", "B0/S8", "B0134/S2"])
@pytest.mark.parametrize("wrap", [True, False])
def test_what_moves_into_a_words_unused_bits_never_comes_back(height, rule, wrap):
    board = life.random_board(height, 11, 0.4, torch.Generator().manual_seed(height))
    wanted = board
    for generation in range(1, 31):
        wanted = life.reference_step(wanted, rule, wrap)
        if generation in (9, 17, 30):
            assert torch.equal(life.run(board, generation, "packed", rule, wrap), wanted), generation
            assert torch.equal(life.run(board.T, generation, "packed", rule, wrap), wanted.T), generation


@pytest.mark.parametrize("tile", [(128, 1024), (13, 17), (1, 1000)])
@pytest.mark.parametrize("rule", ["B3/S23", "B36/S23"])
@pytest.mark.parametrize(
    "shape",
    [
        (64 * 130, 40),  # rows of words enough for eight generations a pass, and for two tiles as they are
        (63 * 32, 32),
        (64 * 20, 20),  # enough for five
        (64 * 12, 9),  # narrower than the ghosts of eight
        (64 * 40, 1),
        (2, 64 * 8),
    ],
)
def test_several_generations_in_one_look_at_the_edges_equal_one_at_a_time(shape, rule, tile, monkeypatch):
    monkeypatch.setattr(packed, "TILE_ROWS", tile[0])
    monkeypatch.setattr(packed, "TILE_COLUMNS", tile[1])
    board = life.random_board(*shape, 0.4, torch.Generator().manual_seed(5))
    for generations in (0, 1, 19):
        assert torch.equal(life.run(board, generations, "packed", rule), life.run(board, generations, "roll", rule)), (
            generations
        )


@pytest.mark.parametrize(("height", "width", "fits"), [(8, 1, True), (1, 8, True), (7, 7, False), (9, 67, True)])
def test_a_board_fits_where_one_side_is_cut_into_eight_bands_at_least(height, width, fits):
    assert packed.fits(life.empty(height, width)) is fits


def test_packing_and_unpacking_are_inverse_and_follow_the_stated_layout():
    for height in (64, 128, 50, 9, 65, 8):
        board = life.random_board(height, 5, 0.5, torch.Generator().manual_seed(height))
        count = packed.lanes(height)
        words, rows = packed.pack(board), height // count
        assert torch.equal(packed.unpack(words, count), board)
        for j, i, c in [(0, 0, 0), (count - 1, rows - 1, 4), (count // 2, 0, 2)]:
            assert (words[i, c].item() >> j) & 1 == board[j * rows + i, c]


def test_the_buffers_for_the_sums_are_made_for_the_largest_tile_and_used_again():
    scratch = Scratch()
    places = {size: [buffer.data_ptr() for buffer in scratch.take(size)] for size in (9, 4, 9)}
    assert places[4] == places[9] and len(set(places[4])) == 6
    assert [len(buffer) for buffer in scratch.take(4)] == [4] * 6
    assert [len(buffer) for buffer in scratch.take(10)] == [10] * 6
