"""The Life player: everything without a mouse, what a page may ask, its static twin, closing."""

import threading

import pytest
import torch

from course import life
from course.widgets import LifePlayer


@pytest.fixture
def player():
    made = LifePlayer(pattern="glider", height=12, width=16)
    yield made
    made.close()


def test_stepping_equals_the_engine(player):
    before = player.board
    assert torch.equal(player.step(5).board, life.run(before, 5))
    assert (player.generation, player.population) == (5, int(player.board.sum()))


def test_toggling_a_cell_changes_it_alone_and_twice_changes_nothing(player):
    before = player.board
    player.toggle(3, 15)
    assert (player.board != before).nonzero().tolist() == [[3, 15]]
    assert torch.equal(player.toggle(3, 15).board, before)


def test_loading_clearing_and_setting_a_board_start_again_at_generation_0(player):
    player.step(3).load("blinker")
    assert (player.generation, player.population, player.pattern) == (0, 3, "blinker")
    assert player.clear().population == 0
    player.board = life.random_board(9, 7, 0.5, torch.Generator().manual_seed(1))
    assert (player.height, player.width, player.generation) == (9, 7, 0)


def test_a_rule_is_followed_and_a_malformed_one_refused(player):
    player.rule = "b36/s23"
    assert player.rule == "B36/S23"
    before = player.board
    assert torch.equal(player.step().board, life.run(before, 1, rule="B36/S23"))
    with pytest.raises(ValueError, match="B3/S23"):
        player.rule = "Conway"


def test_a_board_that_does_not_wrap_does_not(player):
    flat = LifePlayer(player.board, wrap=False)
    assert torch.equal(flat.step(60).board, life.run(player.board, 60, wrap=False))
    flat.close()


def test_the_page_may_ask_for_what_its_controls_do(player):
    sent = lambda content: player._handle_custom_msg(content, [])  # noqa: E731 - as the page's message arrives
    sent({"do": "step", "from": 0})
    sent({"do": "step", "from": 0})  # a second view asked for the same step
    assert player.generation == 1
    sent({"do": "toggle", "row": 0, "column": 0})
    assert player.board[0, 0] == 1
    sent({"do": "load", "pattern": "pulsar"})
    assert "13 × 13" in player.message  # it doesn't fit on 12 rows: the sentence says so, nothing else happens
    assert player.pattern == "glider"
    sent({"do": "rule", "rule": "B9"})
    assert "B3/S23" in player.message and player.rule == "B3/S23"
    sent({"do": "clear"})
    assert player.population == 0
    for nonsense in ({}, {"do": "toggle", "row": "0"}, {"do": "quit"}, "step", None):
        sent(nonsense)


def test_playing_is_a_trait_and_runs_nothing_here(player):
    threads = threading.active_count()
    player.play()
    assert player.playing and threading.active_count() == threads and player.generation == 0
    player.pause()
    assert not player.playing


def test_closing_stops_and_may_happen_twice():
    player = LifePlayer().play()
    player.close()
    player.close()
    assert not player.playing and player.comm is None


def test_callbacks_from_many_threads_lose_no_step(player):
    several = [threading.Thread(target=lambda: [player.step() for _ in range(10)]) for _ in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join(60)
    assert player.generation == 40
    assert torch.equal(player.board, LifePlayer(pattern="glider", height=12, width=16).step(40).board)


def test_what_a_page_without_a_kernel_shows_is_the_same_board(player):
    data, _ = player._repr_mimebundle_()
    assert data["text/plain"] == "LifePlayer(12 × 16, B3/S23, generation 0, 5 living cells)"
    assert data["text/html"] == player.static().html and "5 living at first" in data["text/html"]
    again = LifePlayer(pattern="glider", height=12, width=16)
    assert again.static().html == player.static().html
    again.close()


def test_neither_script_nor_style_names_another_host(player):
    for text in (player._esm, player._css, player.static().html):
        assert "http" not in text and "import " not in text


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LifePlayer(pattern="glidr"), "Nearest: pattern"),
        (lambda: LifePlayer(torch.zeros(3, 3)), "float32"),
        (lambda: LifePlayer(torch.zeros(1000, 3, dtype=torch.uint8)), "up to 512"),
        (lambda: LifePlayer().toggle(99, 0), "rows are 0 to 31"),
        (lambda: LifePlayer(speed=0), "speed"),
    ],
)
def test_bad_arguments_are_named(make, words):
    with pytest.raises(Exception, match=words):
        make()


def test_a_step_reaches_the_page_as_one_message(player, monkeypatch):
    sent = []
    monkeypatch.setattr(player, "_send", lambda message, buffers=None: sent.append(message))
    player.step()
    changed = [set(message["state"]) for message in sent if message.get("method") == "update"]
    assert len(changed) == 1 and {"generation", "message"} <= changed[0]
