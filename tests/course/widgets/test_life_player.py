"""The Life player: everything without a mouse, what a page may ask, boards ahead of time, its still, bad arguments."""

import base64
import re
import threading

import numpy as np
import pytest
import torch
import traitlets

from course import life
from course.widgets import LifePlayer
from course.widgets.life.boards import resized
from tests.course.widgets.page_of import Line, data_of


@pytest.fixture
def player():
    made = LifePlayer(pattern="glider", height=12, width=16)
    made._wire = Line()
    yield made
    made.close()


def heard(player, content, *buffers):
    """Let the player hear what a page says; returns what it answers."""
    player._wire = line = Line()
    player._heard(line, content, list(buffers))
    return line.sent


def from_page(board, edition="page-1", edited=True, generation=0, pattern=""):
    """Return a page's message with its board, and the bits that come with it."""
    height, width = board.shape
    about = {"height": height, "width": width, "generation": generation, "pattern": pattern}
    return {"board": {"edition": edition, "edited": edited, **about}}, np.packbits(board.numpy()).tobytes()


def wanted(player, **changes):
    settings = {"rule": player.rule, "wrap": player.wrap, "engine_name": "roll", "by": 1, "count": 4}
    return {"frames": {"edition": player._edition, **settings, **changes}}


def unpacked(bits, board):
    cells = np.unpackbits(np.frombuffer(bits, np.uint8), count=board.numel())
    return torch.from_numpy(cells.reshape(board.shape))


def test_stepping_equals_the_engine(player):
    before = player.board
    assert torch.equal(player.step(5).board, life.run(before, 5))
    assert (player.generation, player.population) == (5, int(player.board.sum()))
    assert torch.equal(player.restart().board, before) and player.generation == 0


def test_toggling_a_cell_changes_it_alone_and_twice_changes_nothing(player):
    before = player.board
    player.toggle(3, 15)
    assert (player.board != before).nonzero().tolist() == [[3, 15]]
    assert torch.equal(player.toggle(3, 15).board, before)


def test_loading_clearing_and_setting_a_board_start_again_at_generation_0(player):
    player.step(3).load("blinker")
    assert (player.generation, player.population, player.pattern) == (0, 3, "blinker")
    assert player.clear().population == 0
    assert 0.2 < player.load("random").population / (12 * 16) < 0.5
    player.board = life.random_board(9, 7, 0.5, torch.Generator().manual_seed(1))
    assert (player.height, player.width, player.generation) == (9, 7, 0)


def test_another_size_keeps_what_fits_in_the_middle(player):
    cells = life.pattern("glider")
    assert torch.equal(resized(cells, 5, 6)[1:4, 1:4], cells) and int(resized(cells, 5, 6).sum()) == 5
    assert torch.equal(resized(cells, 1, 1), cells[1:2, 1:2])
    assert torch.equal(resized(resized(cells, 13, 5), 3, 3), cells)
    assert player.resize(20, 30).board.shape == (20, 30) and player.population == 5


def test_a_rule_is_followed_and_a_malformed_one_refused(player):
    player.rule = "b36/s23"
    assert player.rule == "B36/S23"
    before = player.board
    assert torch.equal(player.step().board, life.run(before, 1, rule="B36/S23"))
    with pytest.raises(traitlets.TraitError, match="B3/S23"):
        player.rule = "Conway"
    assert player.rule == "B36/S23"


def test_a_board_that_does_not_wrap_does_not(player):
    flat = LifePlayer(player.board, wrap=False)
    assert torch.equal(flat.step(60).board, life.run(player.board, 60, wrap=False))


@pytest.mark.parametrize(("rule", "wrap", "by"), [("B3/S23", True, 1), ("B36/S23", False, 7)])
def test_boards_to_come_are_the_engines_some_generations_apart(player, rule, wrap, by):
    start = player.board
    (answer,) = heard(player, wanted(player, rule=rule, wrap=wrap, by=by))
    boards = [unpacked(bits, start) for bits in player._wire.buffers[0]]
    assert answer["frames"]["edition"] == "k-0" and 1 <= len(boards) <= 4
    for frame, board in zip(answer["frames"]["frames"], boards, strict=True):
        assert torch.equal(board, life.run(start, frame["generation"], rule=rule, wrap=wrap))
        assert frame["population"] == int(board.sum()) and frame["cells"] > 0 < frame["seconds"]
    assert torch.equal(player.board, boards[-1]) and player.generation == answer["frames"]["frames"][-1]["generation"]


def test_a_request_that_would_take_long_is_answered_with_less(player, monkeypatch):
    monkeypatch.setattr("course.widgets.life.player._BUSY", 0.0)
    (answer,) = heard(player, wanted(player, by=1000, count=16))
    assert [frame["generation"] for frame in answer["frames"]["frames"]] == [1]


def test_a_page_with_another_board_gets_pythons_and_a_page_that_draws_gives_its_own(player):
    old = player._edition
    player.step(2)
    answers = heard(player, wanted(player, edition=old))
    assert answers[0]["frames"]["frames"] == [] and answers[1]["board"]["edition"] == player._edition != old
    assert torch.equal(unpacked(player._wire.buffers[1][0], player.board), player.board)
    drawn = life.random_board(5, 9, 0.5, torch.Generator().manual_seed(3))
    assert heard(player, *from_page(drawn)) == [{"taken": "page-1"}]
    assert torch.equal(player.board, drawn) and player._edition == "page-1"
    later = life.run(drawn, 4)
    heard(player, *from_page(later, edited=False, generation=4))
    assert player.generation == 4 and torch.equal(player.restart().board, drawn)


def test_nonsense_is_said_or_ignored_and_changes_nothing(player):
    before = player.board
    for nonsense in ({}, {"do": "quit"}, "step", None, {"measure": "abacus"}, {"frames": 3}):
        assert heard(player, nonsense) == []
    for wrong in ({"rule": "B9"}, {"engine_name": "abacus"}, {"by": "x"}, {"hurry": 1}):
        assert "said" in heard(player, wanted(player, **wrong))[-1]
    message, _ = from_page(torch.zeros(3, 3, dtype=torch.uint8))
    assert "said" in heard(player, message, b"")[0] and "said" in heard(player, message)[0]
    message["board"]["height"] = 5000
    assert "said" in heard(player, message, bytes(1875))[0]
    assert player.board.shape == before.shape
    (answer,) = heard(player, {"number": 1, "settings": {"rule": "B9"}})
    assert "B3/S23" in answer["wrong"] and player.rule == "B3/S23"


def test_an_engines_speed_is_measured_when_the_page_asks(player):
    (answer,) = heard(player, {"measure": "roll", "by": 2})
    assert answer["measured"]["engine"] == "roll" and 0 < answer["measured"]["rate"] < 1e13


def test_playing_is_a_trait_and_runs_nothing_here(player):
    threads = set(threading.enumerate())
    player.play()
    assert player.playing and set(threading.enumerate()) <= threads and player.generation == 0
    assert player._wire.sent[-1]["settings"]["playing"] is True
    assert not player.pause().playing


def test_callbacks_from_many_threads_lose_no_step(player):
    several = [threading.Thread(target=lambda: [player.step() for _ in range(10)]) for _ in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join(60)
    assert player.generation == 40
    assert torch.equal(player.board, LifePlayer(pattern="glider", height=12, width=16).step(40).board)


def test_what_is_stored_has_the_board_the_patterns_and_a_still_that_says_the_same(player):
    shown = player.step(4)._repr_mimebundle_()
    assert shown["text/plain"] == "LifePlayer(12 × 16, B3/S23, generation 4, 5 living cells)"
    data = data_of(shown["text/html"])
    assert torch.equal(unpacked(base64.b64decode(data["cells"]), player.board), player.board)
    assert list(data["patterns"]) == life.pattern_names() and data["board"]["generation"] == 4
    still = player.static()
    assert "generation 4 of B3/S23: 5 of 192 cells live" in still.alt and still.alt in shown["text/html"]


def test_the_still_is_the_board_in_whole_pixels(player):
    import io

    from matplotlib.image import imread

    image = imread(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]+)", player.static().html)[1])))
    assert image.shape[:2] == (12 * 16, 16 * 16)
    dark = torch.from_numpy((image[::16, ::16, 0] < 0.5).astype(np.uint8))
    assert torch.equal(dark, player.board)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LifePlayer(pattern="glidr"), "Nearest: pattern"),
        (lambda: LifePlayer(torch.zeros(3, 3)), "float32"),
        (lambda: LifePlayer(torch.zeros(2000, 3, dtype=torch.uint8)), "up to 1024"),
        (lambda: LifePlayer().toggle(99, 0), "rows are 0 to 31"),
        (lambda: LifePlayer(speed=0), "speed"),
        (lambda: LifePlayer(engine_name="abacus"), "engine_name"),
        (lambda: LifePlayer(controls="none"), "'all' or 'few'"),
        (lambda: LifePlayer().step(-1), "generations=-1"),
    ],
)
def test_bad_arguments_are_named(make, words):
    with pytest.raises(Exception, match=words):
        make()
