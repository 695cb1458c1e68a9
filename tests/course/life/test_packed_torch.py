"""The packed engine: words, bands, ghosts and tiles can't be seen in the cells."""

import pytest
import torch

from course import life
from course.life import packed_torch as packed


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
            assert torch.equal(life.run(board, generation, "packed-torch", rule, wrap), wanted), generation
            assert torch.equal(life.run(board.T, generation, "packed-torch", rule, wrap), wanted.T), generation


@pytest.mark.parametrize(
    ("shape", "rule"),
    [
        ((64 * 130, 9), "B3/S23"),  # two tiles as they are
        ((63 * 32, 32), "B3/S23"),  # rows of words enough for eight generations a pass
        ((64 * 20, 20), "B36/S23"),  # enough for five
        ((64 * 12, 9), "B3/S23"),  # for three, and columns for two
        ((64 * 40, 1), "B3/S23"),
        ((2, 64 * 8), "B3/S23"),
        ((96, 70), "B3/S23"),  # two rows of words
    ],
)
@pytest.mark.parametrize("wrap", [True, False])
def test_several_generations_in_one_look_at_the_edges_equal_one_at_a_time(shape, rule, wrap, monkeypatch):
    board = life.random_board(*shape, 0.4, torch.Generator().manual_seed(5))
    wanted = life.run(board, 19, "roll", rule, wrap)
    for rows, columns in ((128, 1024), (13, 17), (7, 1000)):
        monkeypatch.setattr(packed, "TILE_ROWS", rows)
        monkeypatch.setattr(packed, "TILE_COLUMNS", columns)
        assert torch.equal(life.run(board, 19, "packed-torch", rule, wrap), wanted), (rows, columns)


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


def test_the_side_that_divides_better_is_cut_into_bands_and_a_board_that_does_not_fit_is_not_packed(monkeypatch):
    packs, packed_boards = packed.pack, []
    monkeypatch.setattr(packed, "pack", lambda board: packed_boards.append(tuple(board.shape)) or packs(board))
    for shape in ((64, 67), (67, 64), (7, 67)):
        assert life.run(life.empty(*shape), 1, "packed-torch").shape == shape
    assert packed_boards == [(64, 67), (64, 67)]
