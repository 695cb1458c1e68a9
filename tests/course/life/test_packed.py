"""The compiled engine: lanes, ghosts, tiles and threads can't be seen in the cells, and nothing makes it hang."""

import sys
import threading

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course import compiled, life
from course.life import packed, packed_gpu
from course.life.rule import Rule

# Each is compiled once, for these files together; between them they tell every count of neighbours from its fellows.
RULES = ["B3/S23", "B36/S23", "B0347/S148"]
HEIGHTS = [1, 2, 3, 50, 63, 64, 65, 127, 128, 129, 200]


def board_of(height, width, seed=0):
    return life.random_board(height, width, 0.4, torch.Generator().manual_seed(seed))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(HEIGHTS) | st.integers(1, 300), st.integers(1, 70), st.sampled_from(RULES), st.booleans(),
    st.integers(1, 40), st.integers(1, 3), st.data(),
)  # fmt: skip
def test_any_board_in_any_tiles_by_any_number_of_threads_equals_the_reference(
    height, width, rule, wrap, generations, threads, data
):
    cells, rows = board_of(height, width, generations).numpy(), -(-height // 64)
    tile = data.draw(st.integers(1, rows)), data.draw(st.integers(1, width))
    limits = [size for size, cut in zip((rows, width), tile, strict=True) if cut < size]
    k = data.draw(st.integers(1, min([generations, *limits])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "tiling", lambda *_: (k, *tile))
        words = packed.run_words(
            packed.pack(cells, wrap, threads), height, generations, Rule.parse(rule), wrap, threads
        )
    wanted = life.run(torch.from_numpy(cells), generations, "roll", rule, wrap)
    assert np.array_equal(packed.unpack(words, height, threads), wanted)


@pytest.mark.parametrize(("height", "wrap"), [(320, True), (318, True), (318, False), (257, False)])
def test_ghosts_of_every_depth_are_what_lies_there(height, wrap):
    cells, rule = board_of(height, 7, height).numpy(), Rule.parse("B3/S23")
    wanted = [life.run(torch.from_numpy(cells), generations, "roll", rule, wrap) for generations in range(12)]
    for k in range(1, 6):
        for tile_rows in range(1, 5):
            for tile_columns in (3, 7):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(packed, "tiling", lambda *_, tile=(k, tile_rows, tile_columns): tile)
                    words = packed.run_words(packed.pack(cells, wrap), height, 2 * k + 1, rule, wrap)
                assert np.array_equal(packed.unpack(words, height), wanted[2 * k + 1]), (k, tile_rows, tile_columns)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 140), st.integers(1, 140), st.sampled_from(RULES), st.booleans(), st.integers(1, 9))
@example(height=1, width=300, rule="B3/S23", wrap=True, generations=9)
def test_the_engines_with_64_cells_a_word_agree_with_the_three_lines(height, width, rule, wrap, generations):
    board = board_of(height, width, width)
    wanted = life.run(board, generations, "roll", rule, wrap)
    for engine in ("packed", "packed-torch"):
        assert torch.equal(life.run(board, generations, engine, rule, wrap), wanted), engine
    assert torch.equal(packed_gpu.run_words(board, generations, Rule.parse(rule), wrap), wanted)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 20_000), st.integers(1, 200_000), st.integers(1, 10**6), st.integers(1, 64))
def test_a_tiling_fits_its_ghosts_and_what_is_stated_of_the_cache(rows, columns, generations, threads):
    k, tile_rows, tile_columns = packed.tiling(rows, columns, generations, threads)
    assert 1 <= k <= generations and 1 <= tile_rows <= rows and 1 <= tile_columns <= columns
    assert tile_rows == rows or k <= rows  # ghosts of one side are cells of the board once
    assert tile_columns == columns or k <= columns
    ghosts = 2 * k * (tile_rows < rows), 2 * k * (tile_columns < columns)
    if rows * columns > 64 * 64:
        assert 16 * (tile_rows + ghosts[0]) * (tile_columns + ghosts[1]) <= 1.5 * packed.CACHE


@settings(max_examples=200, deadline=None)
@given(st.integers(3, 20_000))
def test_a_pass_is_as_long_as_ghosts_and_copies_together_take_least(length):
    def seconds(k):
        return (length + 2 * k) * (1 + packed.COPIED / k)

    assert seconds(packed._pass(length)) <= 1.05 * min(seconds(k) for k in range(1, 33))


def test_a_board_whose_halves_would_be_mostly_ghosts_is_advanced_by_one_thread(monkeypatch):
    monkeypatch.setattr(compiled, "threads", lambda: 2)
    shapes = [(5000, 129), (5000, 191), (5000, 100), (5000, 192), (64 * 192, 100), (64 * 1000, 129)]
    assert [packed.workers(shape, 10_000) for shape in shapes] == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(("rule", "generations"), [("B3/S23", 77), ("B0347/S148", 1), ("B36/S23", 77)])
def test_a_board_worth_several_threads_equals_the_torch_form(rule, generations):
    board = board_of(768, 700)
    assert packed.workers((768, 700), 10_000) == compiled.threads()
    for wrap in (True, False):
        wanted = life.run(board, generations, "packed-torch", rule, wrap)
        assert torch.equal(life.run(board, generations, "packed", rule, wrap), wanted)


@pytest.mark.parametrize(
    ("cells", "size", "generations", "living"),
    [
        # M. Gardner, Scientific American 223 (4), 1970; conwaylife.com/wiki, under each name
        ("r_pentomino", 600, 1103, 116),
        ("r_pentomino", 601, 1104, 116),
        pytest.param("acorn", 2800, 5206, 633, marks=pytest.mark.long),
        ("diehard", 120, 129, 2),
        ("diehard", 121, 130, 0),
        ("O.OO OOO. .O..", 200, 148, 28),  # B-heptomino
        ("OOO O.O O.O", 197, 173, 55),  # pi-heptomino
        ("O.. O.O OOO ..O", 193, 128, 24),  # Herschel
        ("..OO OOO. .O..", 129, 103, 15),  # century
    ],
)
def test_methuselahs_end_with_as_many_cells_as_others_have_counted(cells, size, generations, living):
    pattern = life.pattern(cells) if cells.islower() else life.from_text("\n".join(cells.split()))
    board = life.put(life.empty(size, size), pattern, size // 2, size // 2)
    assert int(life.run(board, generations, "packed", wrap=False).sum()) == living
    assert int(life.run(board.T, generations, "packed", wrap=False).sum()) == living


SIZES = [(70, 90), (64, 64), (50, 50), (3, 200), (129, 127), (193, 40)]


@pytest.mark.long  # four rules more, which are compiled for it
@pytest.mark.parametrize("size", SIZES)
def test_rules_of_which_a_theorem_is_known_keep_it(size):
    """On a torus: rules that are alike for the living and the dead, and one that is a sum modulo 2."""
    board = board_of(*size)
    day_and_night = life.run(board, 21, "packed", "B3678/S34678")
    assert torch.equal(life.run(1 - board, 21, "packed", "B3678/S34678"), 1 - day_and_night)
    # what Life does to the living, this one does to the dead: dead space is born at once
    assert torch.equal(life.run(1 - board, 21, "packed", "B0123478/S01234678"), 1 - life.run(board, 21, "packed"))
    # after 2ⁿ generations each cell is the sum of the eight that lie 2ⁿ away
    moves = [(down, right) for down in (-16, 0, 16) for right in (-16, 0, 16) if (down, right) != (0, 0)]
    eight = sum(board.roll(move, (0, 1)) for move in moves) % 2
    assert torch.equal(life.run(board, 16, "packed", "B1357/S1357"), eight)


@pytest.mark.parametrize(("generations", "copies"), [(12, 2), (24, 2), (36, 4), (48, 2), (84, 8)])
def test_highlifes_replicator_copies_itself_as_pascals_triangle_modulo_two(generations, copies):
    # N. Thompson's HighLife, 1994; conwaylife.com/wiki/Replicator: 12 cells, every 12 generations along a diagonal
    replicator = life.pattern("replicator")
    for height in (200, 190):
        board = life.put(life.empty(height, 200), replicator, 90, 90)
        assert int(life.run(board, generations, "packed", "B36/S23").sum()) == copies * int(replicator.sum())


def test_the_glider_gun_sends_a_glider_every_thirty_generations():
    board = life.put(life.empty(250, 250), life.pattern("gosper_glider_gun"), 5, 5)
    counts = [int(life.run(board, generations, "packed", wrap=False).sum()) for generations in (0, 30, 60, 300)]
    assert counts == [36, 41, 46, 86]


def test_the_layout_is_the_one_that_is_stated_and_dead_edges_leave_surplus_lanes_empty():
    for height in HEIGHTS:
        board = board_of(height, 5)
        rows = -(-height // 64)
        for wrap in (True, False):
            words = packed.pack(board.numpy(), wrap)
            for lane, i in [(0, 0), (63, rows - 1), (31, rows // 2)]:
                row, bit = lane * rows + i, (int(words[i, 4]) >> lane) & 1
                assert bit == (board[row % height, 4] if wrap or row < height else 0)
            assert np.array_equal(packed.unpack(words, height), board)


def test_the_constants_that_stand_in_two_files_of_kernels_are_the_same():
    from course.life import kernels, row_kernels  # not above: they need numba

    for name in ("BORDER", "ONE", "LAST"):
        assert getattr(kernels, name) == getattr(row_kernels, name), name


def test_the_orientation_that_clearly_takes_less_time_is_taken():
    assert not packed.turned(64, 64) and not packed.turned(8192, 8193) and not packed.turned(8193, 8192)
    assert packed.turned(30, 100_000) and not packed.turned(100_000, 30) and packed.turned(65, 64)
    assert packed.turned(97, 401) and not packed.turned(401, 97)  # two rows take as long as four
    assert not packed.turned(1, 100_000)  # a row of one word takes as long as one of sixteen


def test_a_cell_above_one_is_named_wherever_it_is():
    for shape in ((50, 50), (3, 500), (700, 700)):
        board = life.empty(*shape)
        board[shape[0] - 1, 1] = 2
        with pytest.raises(ValueError, match=r"cell \(\d+, 1\) is 2"):
            life.run(board, 3, "packed")


def test_two_threads_at_once_get_what_each_asked_for():
    boards = [board_of(700, 650, seed) for seed in (1, 2)]
    wanted = [life.run(board, 200, "packed-torch") for board in boards]
    found = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: life.run(boards[n], 200, "packed")})) for n in (0, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(torch.equal(found[n], wanted[n]) for n in (0, 1))


def test_no_thread_to_be_had_and_no_memory_in_one_are_no_matter(monkeypatch):
    def none(self):
        raise RuntimeError("can't start new thread")

    calls = []
    monkeypatch.setattr(threading.Thread, "start", none)
    compiled.together(3, calls.append, 1)
    assert calls == [1]


def test_where_numba_or_its_compiler_fails_the_torch_form_is_taken_and_that_is_said(monkeypatch):
    def full():
        raise OSError("disk full")

    with pytest.warns(UserWarning, match=r"Life's kernels can't be compiled here \(OSError: disk full\)"):
        assert not compiled.usable("Life's", full)
    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="numba can't be used"):
        patch.setitem(sys.modules, "numba", None)
        assert not compiled.available.__wrapped__()
    monkeypatch.setattr(packed, "ready", lambda *_: False)
    board = board_of(64, 70)
    assert torch.equal(life.run(board, 9, "packed"), life.run(board, 9, "roll"))


def test_a_board_for_which_there_is_no_memory_is_refused_before_anything_is_allocated(monkeypatch):
    monkeypatch.setattr(packed, "pack", None)
    board = torch.zeros(1, dtype=torch.uint8).expand(1 << 30, 1 << 20)
    with pytest.raises(MemoryError, match="GB are free"):
        life.run(board, 1, "packed")


def test_a_gpu_for_which_nothing_compiles_is_told_once_and_rolls(monkeypatch):
    def none(*_):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(packed_gpu, "_compiled", none)
    packed_gpu._compiles.cache_clear()
    board, rule = board_of(40, 30), Rule.parse("B3/S23")
    with pytest.warns(UserWarning, match="roll is taken") as said:
        for _ in range(2):
            assert torch.equal(packed_gpu.packed_gpu(board, 3, rule, True), life.run(board, 3, "roll"))
    assert len(said) == 1
    packed_gpu._compiles.cache_clear()
