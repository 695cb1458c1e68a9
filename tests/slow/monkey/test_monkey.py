"""The short form of `make monkey`; and that it finds what is planted: an error in the page, one in Python, a leak."""

from contextlib import closing

import pytest

from course import widgets
from tests.browser.lab_page import need_chromium, running_chromium
from tests.slow.monkey.actions import draw
from tests.slow.monkey.exhibits import cells
from tests.slow.monkey.in_page import Notebook
from tests.slow.monkey.run import LOOK, Found, Memory, growth, in_order, monkey

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(900)]
PLANTED = "from tests.slow.monkey.planted import Planted\nPlanted(fault={fault!r})"


@pytest.fixture(scope="module")
def browser():
    need_chromium()
    with running_chromium() as chromium:
        yield chromium


def test_two_hundred_random_actions_break_nothing_and_leave_nothing(browser, tmp_path):
    found = monkey(browser, tmp_path, seed=1, count=200)
    assert found.wrong == [], str(found)
    assert len(found.done) == 200


def planted(browser, folder, fault, count):
    return monkey(browser, folder, 2, count, sources={fault: PLANTED.format(fault=fault)})


@pytest.mark.parametrize(
    ("fault", "said"),
    [("throws", "missing is not defined"), ("raises", "LookupError: planted in Python"), ("leaks", "MB more than")],
)
def test_a_planted_fault_is_found_and_said_with_how_to_do_it_again(browser, tmp_path, fault, said):
    found = planted(browser, tmp_path, fault, 4 * LOOK)
    assert any(said in one for one in found.wrong), str(found)
    assert "make monkey COUNT=200 SEED=2" in str(found)
    assert all(line in str(found) for line in found.done[-20:])


def test_nothing_is_found_where_nothing_is_planted(browser, tmp_path):
    assert planted(browser, tmp_path, "", LOOK).wrong == []


def test_a_cell_that_is_run_again_leaves_nothing_of_its_drawing(browser):
    notebook = Notebook(browser.new_context())
    with closing(notebook):
        (_, first), *_, (_, last) = [notebook.memory() for _ in range(4)]
    notebook.page.context.close()
    assert first > 5000 and abs(last - first) < 500 and notebook.wrong == []


def test_a_seed_draws_the_same_actions_every_kind_of_them_and_a_restart_and_a_reload_in_the_lab():
    assert draw(7, 300) == draw(7, 300) != draw(8, 300)
    assert draw(7, 300)[:40] == draw(7, 40)
    assert {one.kind for one in draw(1, 180)} >= {"click", "drag", "press", "type", "touch", "wheel", "tab", "resize"}
    assert {"restart", "reload"} <= {one.kind for one in in_order(draw(1, 20))}


def test_every_public_exhibit_has_a_cell():
    named = " ".join(cells(processes=True).values())
    assert [name for name in widgets.__all__ if f"{name}(" not in named] == []


def test_memory_grows_only_beyond_what_the_browser_keeps_of_each_script():
    first = Memory(50, 30, 4_000_000, 10_000)
    flat = Memory(1000, 530, 59_000_000, 10_900)
    assert growth([first, flat]) == [] == growth([first])
    (nodes,) = growth([first, Memory(1000, 530, 59_000_000, 12_000)])
    (heap,) = growth([first, Memory(1000, 530, 61_000_000, 10_000)])
    assert "2000 nodes more" in nodes and "57.0 MB more" in heap
    assert str(Found(3, 9, ["wrong"], ["a"], [], [])).startswith("wrong")
