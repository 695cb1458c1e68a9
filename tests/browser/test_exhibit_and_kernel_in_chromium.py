"""An exhibit beside its kernel, in JupyterLab: live, after a save and a reload, restarted, killed, alone, not trusted.

The exhibit of these tests has one stored answer: what it shows for any other setting is the kernel's.
"""

import os
import signal

import nbformat
import psutil
import pytest

from tests.browser.lab_page import (
    failures,
    lab_page,
    need_chromium,
    running_chromium,
    running_lab,
    sessions,
    shut_kernels,
    write_notebook,
)

pytestmark = [pytest.mark.browser, pytest.mark.long]
BARE = """
from course.widgets import SliceMean

class Bare(SliceMean):
    def grid(self):
        return [{}]

exhibit = Bare(cut=CUT)
exhibit
"""
AMONG_WIDGETS = """
import ipywidgets
from course.widgets import SliceMean

exhibit = SliceMean(cut=4)
widget, slider = exhibit.widget(), ipywidgets.IntSlider(4, 0, 20, description="same cut")
ipywidgets.jslink((slider, "value"), (widget, "cut"))
told = ipywidgets.interactive_output(lambda state: print("of Python: cut", state["cut"]), {"state": widget})
ipywidgets.VBox([slider, widget, told])
"""
STAGE = "document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .stage')"
CUT = f"JSON.parse({STAGE}.dataset.shown).cut"
LIVE = f"{STAGE}.dataset.live === 'kernel'"
#: Every connection of the page's is one of `open`; while it is `cut`, new ones find nobody.
SOCKETS = """
[globalThis.open, globalThis.cut] = [[], false];
globalThis.WebSocket = class extends WebSocket {
  constructor(address, ...more) {
    super(cut ? "ws://127.0.0.1:9/" : address, ...more);
    open.push(this);
  }
};
"""
FRESH = f"!{STAGE}.classList.contains('old')"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    need_chromium()
    folder = tmp_path_factory.mktemp("a copy of the course")
    with running_lab(folder) as address:
        for name, cut in (("80_one", 16), ("81_other", 4)):
            write_notebook(folder, name, BARE.replace("CUT", str(cut)), "exhibit.cut = exhibit.cut - 1")
        yield address, folder


@pytest.fixture(scope="module")
def browser():
    with running_chromium() as chromium:
        yield chromium


def press(lab, key, times=1):
    control = lab.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) input.cut")
    for _ in range(times):
        control.press(key)


def who(lab):
    return lab.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .who").text_content()


def test_an_exhibit_lives_through_a_reload_another_notebook_a_killed_a_fresh_and_a_restarted_kernel(browser, address):
    with lab_page(browser.new_context(viewport={"width": 1280, "height": 900}), *address) as lab:
        try:
            live(lab)
            reloaded(lab)
            beside_another(lab)
            killed(lab, address)
            saved_with_a_fresh_kernel(lab, address)
            restarted(lab)
            assert lab.foreign == []
        finally:
            shut_kernels(address[0])


def live(lab):
    """A key moves the kernel's state, and Python moves the page."""
    lab.open("80_one")
    assert failures(lab.run_all("80_one")) == []
    lab.until(f"{LIVE} && {CUT} === 15")  # what the second cell set
    press(lab, "ArrowLeft", 3)
    lab.until(f"{CUT} === 12 && {FRESH}")
    assert who(lab) == "The kernel answers." and lab.page.locator(".stage .figure").text_content().strip().startswith(
        "2.25 is not 2"
    )
    lab.page.keyboard.press("Control+s")


def reloaded(lab):
    """After a reload it is live again, with what the kernel has."""
    lab.page.reload()
    lab.shows("80_one")
    lab.until(f"{LIVE} && {CUT} === 12")
    press(lab, "ArrowRight")
    lab.until(f"{CUT} === 13 && {FRESH}")


def beside_another(lab):
    """Two notebooks in one page: each has its own kernel."""
    lab.page.locator(".jp-DirListing-item:has-text('81_other')").dblclick()
    lab.page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell :text('cut=4')")
    while not any(
        one["path"].endswith("81_other.ipynb") and one["kernel"]["connections"] for one in sessions(lab.address)
    ):
        lab.page.wait_for_timeout(100)
    assert failures(lab.run_all("81_other")) == []
    lab.until(f"{LIVE} && {CUT} === 3")
    press(lab, "ArrowLeft")
    lab.until(f"{CUT} === 2 && {FRESH}")
    lab.page.locator(".lm-TabBar-tabLabel:text-is('80_one.ipynb')").click()
    lab.until(f"{CUT} === 13")
    press(lab, "ArrowRight")
    lab.until(f"{CUT} === 14 && {FRESH}")


def killed(lab, address):
    """The kernel is killed from outside: it says stored, and goes on with what is stored."""
    (own,) = [one for one in sessions(address[0]) if one["path"].endswith("80_one.ipynb")]
    (kernel,) = [
        one for one in psutil.process_iter(["cmdline"]) if own["kernel"]["id"] in " ".join(one.info["cmdline"] or ())
    ]
    os.kill(kernel.pid, signal.SIGKILL)
    press(lab, "ArrowRight")
    lab.until(f"!({LIVE})")
    lab.page.locator(".jp-Dialog button.jp-mod-accept").click()  # JupyterLab's own words; it takes the keys meanwhile
    press(lab, "End")
    press(lab, "ArrowLeft", 4)
    lab.until(f"{CUT} === 16 && {FRESH}")  # the one stored answer
    assert "Stored answers" in who(lab)
    press(lab, "ArrowLeft")
    assert lab.page.evaluate(CUT) == 16 and not lab.page.evaluate(FRESH)
    assert "Shown: cut before number 16" in who(lab) and "run the notebook" in who(lab)


def saved_with_a_fresh_kernel(lab, address):
    """Saved and reloaded with a fresh kernel: drag works, and nothing says "model not found"."""
    shut_kernels(address[0])
    lab.open("80_one")
    lab.until(f"{STAGE} && {CUT} === 16")
    assert "no kernel" in who(lab)
    press(lab, "ArrowLeft")
    assert "Shown: cut before number 16" in who(lab)
    shown = lab.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-OutputArea").first.text_content()
    assert "model not found" not in shown.lower() and "Loading widget" not in shown


def restarted(lab):
    """Restarted from the menu: it says stored; run again, it is live again."""
    lab.run_all("80_one")
    lab.until(LIVE)
    lab.page.click('.lm-MenuBar-itemLabel:text-is("Kernel")')
    lab.page.click('.lm-Menu-itemLabel:text-is("Restart Kernel…")')
    lab.page.click(".jp-Dialog button.jp-mod-accept")
    lab.until(f"!({LIVE})")
    press(lab, "Home")
    assert "is stored: run the notebook" in who(lab)
    lab.run_all("80_one")
    lab.until(f"{LIVE} && {CUT} === 15")


def test_without_its_websocket_it_says_so_draws_what_is_stored_and_is_live_again_with_it(browser, address):
    with lab_page(browser.new_context(viewport={"width": 1280, "height": 900}), *address) as lab:
        lab.page.add_init_script(SOCKETS)
        try:
            lab.open("80_one")
            lab.run_all("80_one")
            lab.until(f"{LIVE} && {CUT} === 15")
            lab.page.evaluate("(cut = true, open.forEach((one) => one.close()))")
            press(lab, "ArrowRight")
            lab.until(f"{CUT} === 16 && {FRESH}")  # the stored one
            press(lab, "ArrowLeft")
            lab.page.locator(".who:text('The kernel does not answer')").first.wait_for()
            assert "Shown: cut before number 16" in who(lab) and lab.page.evaluate(CUT) == 16
            lab.page.evaluate("cut = false")
            lab.until(
                f"{LIVE} && {CUT} === 15 && {FRESH}", 120
            )  # JupyterLab connects again, and what was asked is answered
            press(lab, "ArrowLeft")
            lab.until(f"{CUT} === 14 && {FRESH}")
        finally:
            shut_kernels(address[0])


def test_a_page_that_is_not_trusted_shows_the_still_and_its_words(browser, address):
    path = address[1] / "notebooks" / "80_one.ipynb"
    saved = nbformat.read(path, as_version=4)
    saved.cells[1].source = "1 + 1"  # whose signature nobody has made
    nbformat.write(saved, path.with_name("82_untrusted.ipynb"))
    with lab_page(browser.new_context(viewport={"width": 1280, "height": 900}), *address) as lab:
        lab.open("82_untrusted")
        still = lab.page.locator(".jp-OutputArea img").first
        still.wait_for()
        assert (
            still.is_visible()
            and "off by" in still.get_attribute("alt")
            and still.evaluate("e => e.naturalWidth") > 200
        )
        assert lab.page.locator(".stage input").count() == 0
    shut_kernels(address[0])


def test_as_a_widget_it_stands_in_a_box_and_is_linked_in_the_page_observed_in_python_and_back_after_a_reload(
    browser, address
):
    write_notebook(address[1], "83_widgets", AMONG_WIDGETS)
    with lab_page(browser.new_context(viewport={"width": 1280, "height": 900}), *address) as lab:
        try:
            lab.open("83_widgets")
            assert failures(lab.run_all("83_widgets")) == []
            lab.until(f"{LIVE} && {CUT} === 4")
            lab.page.locator(".widget-slider [role=slider]").press("ArrowRight")  # jslink: the slider moves the exhibit
            lab.until(f"{CUT} === 5 && {FRESH}")
            lab.page.locator("text=of Python: cut 5").wait_for()  # interactive_output: a function is called with it
            press(lab, "ArrowRight", 2)  # the exhibit's own control moves the slider
            lab.page.locator(".widget-readout:text-is('7')").wait_for()
            lab.page.locator("text=of Python: cut 7").wait_for()
            lab.page.reload()
            lab.shows("83_widgets")
            lab.until(f"{LIVE} && {CUT} === 7")
            press(lab, "ArrowLeft")
            lab.page.locator(".widget-readout:text-is('6')").wait_for()
            assert lab.foreign == []
        finally:
            shut_kernels(address[0])
