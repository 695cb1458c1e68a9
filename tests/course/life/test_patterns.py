"""Patterns and their files: what each is known for, round trips, and files that are wrong."""

import pytest
import torch
from hypothesis import given, settings

from course import life
from tests.course.life.test_life import boards

NAMES = life.pattern_names()


def alone(name, margin=8):
    cells = life.pattern(name)
    return life.put(life.empty(*(side + 2 * margin for side in cells.shape)), cells, margin, margin)


@pytest.mark.parametrize(
    ("name", "period"), [("block", 1), ("blinker", 2), ("toad", 2), ("pulsar", 3), ("pentadecathlon", 15)]
)
def test_still_lifes_and_oscillators_have_their_known_period(name, period):
    assert life.find_cycle(alone(name)) == life.Cycle(0, period)


@pytest.mark.parametrize(("name", "move"), [("glider", (1, 1)), ("lwss", (0, -2))])
def test_spaceships_travel_as_known(name, move):
    board = alone(name)
    assert torch.equal(life.run(board, 4), board.roll(move, (0, 1)))


@pytest.mark.parametrize("ending", ["rle", "cells"])
@settings(max_examples=40)
@given(board=boards())
def test_a_board_reads_back_as_it_was_written(tmp_path_factory, ending, board):
    path = tmp_path_factory.mktemp("pattern") / f"board.{ending}"
    life.write_pattern(board, path)
    assert torch.equal(life.read_pattern(path), board)
    assert max(map(len, path.read_text().splitlines())) <= (70 if ending == "rle" else 130)


@settings(max_examples=40)
@given(board=boards())
def test_life_106_keeps_the_living_cells(tmp_path_factory, board):
    path = tmp_path_factory.mktemp("pattern") / "board.lif"
    life.write_pattern(board, path)
    rows, columns = board.nonzero(as_tuple=True)
    trimmed = board[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] if len(rows) else board[:1, :1]
    assert torch.equal(life.read_pattern(path), trimmed)


def test_all_named_patterns_read_and_begin_at_their_corner():
    for name in NAMES:
        cells = life.pattern(name)
        assert cells[0].any() and cells[-1].any() and cells[:, 0].any() and cells[:, -1].any(), name


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("#C by hand\r\nx=3,y=2,rule=b3/s23\r\n3o$\r\n b o b !\r\nanything after", "OOO\n.O."),
        ("x = 2, y = 3\n2o2$2o!", "OO\n..\nOO"),
        ("x = 3, y = 2\no!", "O..\n..."),
        ("!Name: blinker\n!\n.O\n\n.*\n", ".O\n..\n.O"),
        ("!\n\nO.O\n\n\n\n", "...\nO.O"),  # an empty line is a row of dead cells; at the end it is none
        ("#Life 1.06\n-1 -1\n0 0\n#a comment\n1 -1\n", "O.O\n.O."),
        ("#Life 1.06\n", "."),
    ],
)
def test_files_as_others_write_them_are_read(tmp_path, text, cells):
    (tmp_path / "p").write_bytes(text.encode())
    assert torch.equal(life.read_pattern(tmp_path / "p"), life.from_text(cells))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 3, y = three\n3o!", r"line 1 is 'x = 3, y = three'; it must read 'x = 3, y = 3"),
        ("#C\nx = 3, y = 3\nbo?!", r"line 3, character 3: '\?'"),
        ("x = 3, y = 3\nbob$", "without '!'"),
        ("x = 2, y = 1\n3o!", "row 1 has cells beyond the x = 2"),
        ("x = 2, y = 1\n$o!", "row 2 has cells beyond"),
        ("x = 0, y = 1\n!", "legal are 1 to"),
        ("x = 99999999, y = 99999999\n!", "legal are 1 to"),
        ("x = 3, y = 3\n99999999999999999999o!", "beyond"),
        (".O.\n.Q.", r"line 2, character 2: 'Q'"),
        ("! only comments", "no cells"),
        ("", "no cells"),
        ("#Life 1.06\n1 2\n3", "line 3 is '3'; it must hold two whole numbers"),
        ("#Life 1.06\n0 0\n99999999 99999999", "line 2: a pattern of 100000000 × 100000000 cells; legal are 1 to"),
        ("#C\nx = 8192, y = 8193\no!", "line 2: a pattern of 8193 × 8192 cells; legal are 1 to 67,108,864 cells"),
        ("!\n" + ".\n" * 8191 + "O" * 8193, "line 2: a pattern of 8192 × 8193 cells; legal are 1 to 67,108,864"),
        ("x = 3, y = 3, rule = B9/S\n3o!", "B9/S"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line_and_the_legal_form(tmp_path, text, words):
    (tmp_path / "wrong.rle").write_text(text)
    with pytest.raises(ValueError, match=words) as error:
        life.read_pattern(tmp_path / "wrong.rle")
    assert "wrong.rle" in str(error.value)


def test_a_pattern_of_the_largest_legal_size_is_read(tmp_path):
    (tmp_path / "large.rle").write_text("x = 8192, y = 8192\n!")
    assert life.read_pattern(tmp_path / "large.rle").shape == (8192, 8192)


def test_a_file_for_another_rule_is_refused_and_read_when_asked_for():
    path = life.pattern_file("replicator")
    with pytest.raises(ValueError, match="for B36/S23, not B3/S23"):
        life.read_pattern(path)
    assert torch.equal(life.read_pattern(path, rule="B36/S23"), life.pattern("replicator"))


def test_an_unknown_pattern_or_ending_names_the_nearest_and_the_legal_ones(tmp_path):
    with pytest.raises(ValueError, match=r"Nearest: pattern\('glider'\)"):
        life.pattern("glidr")
    with pytest.raises(ValueError, match=r"\.rle, \.cells, \.lif"):
        life.write_pattern(life.pattern("glider"), tmp_path / "glider.txt")
