"""The Life player in Chromium beside a kernel: it asks ahead, shares its board with Python, and outlives the kernel."""

import pytest
import torch

from course import life
from course.widgets import LifePlayer
from tests.browser.exhibit_page import kernel as put_kernel
from tests.browser.test_life_player_in_chromium import board
from tests.helpers.shells import eventually

pytestmark = [pytest.mark.browser, pytest.mark.long]


class Kernel:
    """A kernel with a real player, whose line is this test: `serve()` takes what the page has sent, and answers."""

    def __init__(self, page, player):
        put_kernel(page)
        self.page, self.player = page, player
        player._wire = self

    def send(self, message, buffers=()):
        """Say `message` to the page."""
        message = [message, [list(one) for one in buffers]]
        self.page.evaluate("([message, buffers]) => window.heard(message, buffers)", message)

    def close(self):
        """Nothing is open."""

    def serve(self):
        """Answer all that the page has asked until now; return its messages."""
        asked = self.page.evaluate("[window.asked.splice(0), window.buffers.splice(0)]")
        for content, buffers in zip(*asked, strict=True):
            self.player._heard(self, content, [bytes(one) for one in buffers])
        return asked[0]


@pytest.fixture
def beside(opened):
    """A page and a kernel with the same player."""
    player = LifePlayer(pattern="r_pentomino", height=32, width=48, speed=60.0, engine_name="roll")
    page = opened(player)
    return page, Kernel(page, player)


def play_until(page, kernel, generation):
    """Serve what is asked until the page shows a `generation`."""
    while board(page)["generation"] < generation:
        kernel.serve()


def serve_until(kernel, look):
    """Serve what is asked until `look()` is true: a page that waited for long asks once more."""
    eventually(lambda: (kernel.serve(), look())[1])


def test_boards_are_asked_for_ahead_and_pythons_board_is_the_pages_when_it_pauses(beside):
    page, kernel = beside
    kernel.serve()
    start = kernel.player.board
    page.get_by_role("button", name="Play").press("Enter")
    asked = eventually(lambda: [one["frames"] for one in kernel.serve() if "frames" in one])
    assert len(asked) > 1 and {one["count"] for one in asked} == {6}, "several, before the first is answered"
    play_until(page, kernel, 20)
    page.get_by_role("button", name="Pause").press("Enter")
    serve_until(kernel, lambda: kernel.player.generation == board(page)["generation"] and not kernel.player.playing)
    assert torch.equal(kernel.player.board, life.run(start, kernel.player.generation))


def test_python_and_the_page_draw_on_one_board(beside):
    page, kernel = beside
    kernel.serve()
    page.locator("canvas.board").focus()
    page.keyboard.press("Enter")
    kernel.serve()
    assert kernel.player.board[0, 0] == 1 and kernel.player.population == 6
    page.evaluate("new Promise((done) => setTimeout(done, 1700))")  # longer than the page's patience
    assert page.locator(".who").inner_text() == "The kernel answers."
    kernel.player.load("blinker").step(3)
    assert board(page) == {"generation": 3, "population": 3, "height": 32, "width": 48}
    page.get_by_role("button", name="Step").press("Enter")
    kernel.serve()
    assert kernel.player.generation == 4
    kernel.player.board = life.random_board(100, 70, 0.4, torch.Generator().manual_seed(1))
    assert (board(page)["height"], board(page)["width"]) == (100, 70)
    kernel.player.rule = "B2/S"
    page.get_by_role("button", name="Step").press("Enter")
    kernel.serve()
    assert board(page)["population"] == kernel.player.population
    assert torch.equal(
        kernel.player.board, life.run(life.random_board(100, 70, 0.4, torch.Generator().manual_seed(1)), 1, rule="B2/S")
    )
    page.get_by_role("button", name="Measure each engine").press("Enter")
    for _ in life.ENGINES:
        kernel.serve()
    assert page.locator(".measure").count() == 1 + len(life.ENGINES)


def test_a_kernel_that_is_late_is_not_waited_for(opened):
    player = LifePlayer(pattern="r_pentomino", height=32, width=48, speed=60.0)
    player.patience = 600  # seconds until the page says that it is silent
    page = opened(player)
    kernel = Kernel(page, player)
    kernel.serve()
    page.get_by_role("button", name="Play").press("Enter")
    page.wait_for_function("JSON.parse(document.querySelector('.stage').dataset.board).generation > 30")
    assert page.locator(".who").inner_text() == "The kernel answers."


def test_a_kernel_that_falls_silent_or_dies_stops_nothing(beside):
    page, kernel = beside
    kernel.serve()
    page.get_by_role("button", name="Play").press("Enter")
    play_until(page, kernel, 8)
    now = board(page)["generation"]
    page.wait_for_function(f"JSON.parse(document.querySelector('.stage').dataset.board).generation > {now + 60}")
    page.locator(".who:text('does not answer')").wait_for()
    serve_until(kernel, lambda: page.locator(".who").inner_text() == "The kernel answers.")
    play_until(page, kernel, now + 200)
    page.evaluate("window.gone()")
    assert "no kernel" in page.locator(".who").inner_text()
    now = board(page)["generation"]
    page.wait_for_function(f"JSON.parse(document.querySelector('.stage').dataset.board).generation > {now + 10}")
    page.get_by_role("button", name="Pause").press("Enter")
    start = LifePlayer(pattern="r_pentomino", height=32, width=48).board
    assert board(page)["population"] == int(life.run(start, board(page)["generation"]).sum())
