"""The Life player in Chromium: its own engine is Python's, it plays without a kernel, by keys, on a phone."""

import json
from random import Random

import numpy as np
import pytest
import torch

from course import life
from course.widgets import LifePlayer
from tests.browser.exhibit_page import evaluated

pytestmark = [pytest.mark.browser, pytest.mark.long]
RULES = ["B3/S23", "B36/S23", "B2/S", "B3678/S34678", "B/S012345678", "B012345678/S", "B0/S8", "B1357/S02468"]


def in_page(page, function, arguments):
    """Return what `function`, in JavaScript, gives for each of `arguments`; it gets the player's engine first."""
    return evaluated(page, ["engine.js"], function, arguments, room="course.widgets.life")


def board(page):
    """Return generation, living cells, height and width as the page's script tells them."""
    return json.loads(page.locator(".stage").get_attribute("data-board"))


def random_boards():
    random, generator = Random(5), torch.Generator().manual_seed(5)
    sizes = [(1, 1), (1, 7), (7, 1), (2, 2), (2, 9), (3, 3), (40, 33), (64, 65)] * 4
    for height, width in sizes:
        yield life.random_board(height, width, random.random(), generator), random.choice(RULES), random.random() < 0.5


def test_the_pages_engine_gives_the_same_cells_as_pythons_on_random_boards_rules_and_edges(opened):
    drawn = list(random_boards())
    page = opened(LifePlayer())
    steps = """(module, [cells, height, width, rule, wrap]) => {
        let [board, next, population] = [module.boardOf(height, width), module.boardOf(height, width), 0];
        board.set(cells);
        for (let turn = 0; turn < 5; turn++) {
            population = module.advance(board, next, { height, width, wrap, lives: module.ruleOf(rule).lives });
            [board, next] = [next, board];
        }
        const around = module.neighbours(board, { height, width, wrap }, height - 1, 0);
        return [[...board], population, [...module.unpack(module.pack(board), next)], [...module.pack(board)], around];
    }"""
    found = in_page(page, steps, [[b.flatten().tolist(), *b.shape, rule, wrap] for b, rule, wrap in drawn])
    for (start, rule, wrap), (cells, population, again, bits, around) in zip(drawn, found, strict=True):
        expected = life.run(start, 5, rule=rule, wrap=wrap)
        assert cells == expected.flatten().tolist() == again, (start, rule, wrap)
        assert population == int(expected.sum()) and bytes(bits) == np.packbits(expected.numpy()).tobytes()
        alone = torch.nn.functional.pad(expected, (1, 1, 1, 1)) if not wrap else expected
        row, column = (expected.shape[0], 1) if not wrap else (expected.shape[0] - 1, 0)
        nine = sum(alone.roll((down, right), (0, 1)) for down in (-1, 0, 1) for right in (-1, 0, 1)) - alone
        assert around == int(nine[row, column])


def test_a_random_board_has_its_share_of_living_cells_and_none_follows_from_the_one_beside_it(opened):
    fill = """(module, [begins, chance, count]) => {
        Math.random = () => begins;
        const cells = new Uint8Array(count);
        module.sprinkle(cells, chance);
        return [...cells];
    }"""
    drawn = in_page(opened(LifePlayer()), fill, [[0.1, 0.35, 65536], [0, 0.35, 65536], [0.7, 0, 7], [0.7, 1, 7]])
    for cells in drawn[:2]:
        board, error = (
            np.array(cells).reshape(256, 256),
            4 / 256,
        )  # 4 standard errors of a share are less than 2 of these
        assert abs(board.mean() - 0.35) < error / 2
        for beside in (board[:, 1:] * board[:, :-1], board[1:] * board[:-1], board[:, 2:] * board[:, :-2]):
            assert abs(beside.mean() - 0.35**2) < error / 2
    assert drawn[0] != drawn[1] and drawn[2:] == [[0] * 7, [1] * 7]


def test_the_page_reads_rules_as_python_does_and_finds_the_same_periods(opened):
    page = opened(LifePlayer())
    texts = [*RULES, "b63/s32", "S23/B3", "23/3", "B3S23", "", "B9/S1", "Conway", "B3/S23x", "3", "B 3 / S 2 3", "/"]
    names = in_page(page, "(module, text) => module.ruleOf(text)?.name ?? null", texts)

    def python(text):
        try:
            return str(life.Rule.parse(text))
        except ValueError:
            return None

    assert names == [python(text) for text in texts]
    assert names.count(None) == 5
    turns = """(module, [cells, height, width]) => {
        let [board, next] = [module.boardOf(height, width), module.boardOf(height, width)];
        const seen = module.memory();
        board.set(cells);
        for (let generation = 0; !seen.note(generation, board); generation++) {
            module.advance(board, next, { height, width, wrap: true, lives: module.ruleOf("B3/S23").lives });
            [board, next] = [next, board];
        }
        return seen.found();
    }"""
    boards = [life.put(life.empty(8, 8), life.pattern(name), 2, 2) for name in ("glider", "blinker", "block", "toad")]
    boards.append(life.random_board(20, 20, 0.35, torch.Generator().manual_seed(2)))
    for one, found in zip(
        boards, in_page(page, turns, [[b.flatten().tolist(), *b.shape] for b in boards]), strict=True
    ):
        cycle = life.find_cycle(one)
        assert found == {"start": cycle.start, "period": cycle.period, "exact": True}


def test_a_glider_plays_when_the_page_opens_and_step_draw_and_back_need_no_kernel(opened):
    page = opened(LifePlayer(height=12, width=36, controls="few", playing=True))
    page.wait_for_function("JSON.parse(document.querySelector('.stage').dataset.board).generation >= 3", polling=50)
    assert page.locator(".stage .small, .stage .figure small").inner_text() == "5 of 432 cells live"
    page.get_by_role("button", name="Pause").press("Enter")
    stopped = board(page)["generation"]
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert board(page)["generation"] == stopped
    page.get_by_role("button", name="Step").press("Enter")
    assert board(page)["generation"] == stopped + 1
    page.get_by_role("button", name="Back to start").press("Enter")
    assert board(page)["generation"] == 0
    page.get_by_role("button", name="Clear").press("Enter")
    canvas = page.locator("canvas.board")
    at = canvas.bounding_box()
    size = at["width"] / 36
    page.mouse.move(at["x"] + 3.5 * size, at["y"] + 5.5 * size)
    page.mouse.down()
    page.mouse.move(at["x"] + 10.5 * size, at["y"] + 5.5 * size, steps=2)  # a quick hand: no gaps
    page.mouse.up()
    assert board(page)["population"] == 8
    canvas.click(position={"x": 3.5 * size, "y": 5.5 * size})  # a living cell dies
    assert board(page)["population"] == 7 and page.locator("select.pattern").input_value() == ""
    line = life.empty(12, 36)
    line[5, 4:11] = 1
    page.get_by_role("button", name="Step").press("Enter")
    assert board(page)["population"] == int(life.step(line).sum())
    assert "no kernel" in page.locator(".who").inner_text()


def test_the_keyboard_draws_and_the_cursors_words_say_whether_the_cell_lives_and_will(opened):
    page = opened(LifePlayer(torch.zeros(8, 8, dtype=torch.uint8), speed=1.0))
    canvas = page.locator("canvas.board")
    canvas.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    words = page.locator(".cell")
    assert words.inner_text() == "Row 1, column 1: alive, 0 of 8 neighbours live, so it dies."
    assert words.get_attribute("aria-live") == "polite"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")  # the pen is down: this cell, and the next
    page.keyboard.press("ArrowRight")
    page.keyboard.press("d")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert words.inner_text() == "Row 2, column 2: dead, 3 of 8 neighbours live, so one is born."
    page.keyboard.press("Space")
    assert words.inner_text() == "Row 2, column 2: alive, 1 of 8 neighbours live, so it dies."
    assert board(page) == {"generation": 1, "population": 3, "height": 8, "width": 8}
    page.keyboard.press("Space")
    assert "period 2 from generation 0 on" in page.locator(".stage .figure small").inner_text()
    page.keyboard.press("p")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press("p")
    page.get_by_role("button", name="Play").wait_for()


def test_zoom_and_move_leave_the_cells_under_the_pointer(opened):
    page = opened(LifePlayer(torch.zeros(64, 64, dtype=torch.uint8)))
    canvas = page.locator("canvas.board")
    at = canvas.bounding_box()
    cell = at["width"] / 64
    page.keyboard.down("Control")
    page.mouse.move(at["x"] + 10.5 * cell, at["y"] + 20.5 * cell)
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.mouse.click(at["x"] + 10.5 * cell, at["y"] + 20.5 * cell)
    assert page.locator(".cell").inner_text().startswith("Row 20, column 10: alive")
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(at["x"] + 60.5 * cell, at["y"] + 40.5 * cell, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert board(page)["population"] == 1  # it moved, and drew nothing
    page.get_by_role("button", name="Whole board").press("Enter")
    page.mouse.click(at["x"] + 10.5 * cell, at["y"] + 20.5 * cell)
    assert board(page)["population"] == 0
    page.get_by_role("button", name="Zoom in").press("Enter")
    canvas.focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("0")
    page.get_by_role("button", name="Move", exact=True).press("Enter")
    page.mouse.click(at["x"] + 10.5 * cell, at["y"] + 20.5 * cell)
    assert board(page)["population"] == 0


def test_where_less_motion_is_asked_for_it_does_not_start_by_itself(opened):
    page = opened(LifePlayer(playing=True, speed=60.0), reduced_motion="reduce")
    page.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert board(page)["generation"] == 0
    page.get_by_role("button", name="Play").press("Enter")  # asked for by hand, it does
    page.wait_for_function("JSON.parse(document.querySelector('.stage').dataset.board).generation >= 3", polling=50)


def test_garbage_is_said_and_the_last_good_state_stays(opened):
    page = opened(LifePlayer(height=12, width=16))
    rule = page.locator("input.rule")
    for typed in ("B9/S23", "", "Conway", "<b>"):
        rule.fill(typed)
        rule.press("Enter")
        assert "The board still follows B3/S23" in page.locator(".said").inner_text()
        assert rule.input_value() == "B3/S23"
    rule.fill("b36s23")
    rule.press("Enter")
    assert not page.locator(".said").is_visible()
    assert json.loads(page.locator(".stage").get_attribute("data-shown"))["rule"] == "B36/S23"
    page.locator("select.pattern").select_option("gosper_glider_gun")
    assert "9 × 36 cells, the board 12 × 16" in page.locator(".said").inner_text() and board(page)["population"] == 5
    assert page.locator("select.pattern").input_value() == "glider"
    page.locator("select.size").select_option(label="64 × 96")
    assert board(page) == {"generation": 0, "population": 5, "height": 64, "width": 96}
    page.locator("select.pattern").select_option("gosper_glider_gun")
    assert board(page)["population"] == 36 and not page.locator(".said").is_visible()
    page.get_by_role("button", name="Measure each engine").press("Enter")
    page.get_by_text("The other engines are the kernel's, and none answers").wait_for()
    assert "cells a second" in page.locator(".measure").inner_text()
