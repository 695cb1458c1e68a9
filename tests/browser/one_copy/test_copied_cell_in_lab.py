"""A chapter's cell in another notebook, in JupyterLab: a still and a sentence; once run, it is alive, also saved."""

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from tests.browser.lab_page import failures, lab_page, need_chromium, running_chromium, running_lab, shut_kernels

pytestmark = [pytest.mark.browser, pytest.mark.long]
NAME = "83_copied"


def copied(folder):
    """Write a notebook of one cell of chapter 02, with its stored output, that its reader trusts; return its path."""
    chapter = nbformat.read(folder / "notebooks" / "02_matmul_timing.ipynb", as_version=4)
    (cell,) = [one for one in chapter.cells if one.cell_type == "code" and one.source.endswith("RooflineExplorer()")]
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=chapter.metadata)
    path = folder / "notebooks" / f"{NAME}.ipynb"
    nbformat.write(notebook, path)
    NotebookNotary().sign(nbformat.read(path, as_version=4))
    return path


def test_a_copied_cell_shows_its_still_until_it_is_run_and_is_alive_when_it_was_saved(tmp_path):
    need_chromium()
    with running_lab(tmp_path) as address, running_chromium() as browser:
        path = copied(tmp_path)
        with lab_page(browser.new_context(viewport={"width": 1280, "height": 900}), address, tmp_path) as lab:
            lab.open(NAME)
            lab.page.locator(".alone:visible").wait_for()
            assert lab.page.locator(".still img").first.is_visible()
            assert failures(lab.run_all(NAME)) == []
            lab.until("document.querySelector('.stage').dataset.live === 'kernel'")
            assert lab.page.locator(".alone:visible").count() == 0
            assert lab.errors == lab.foreign == []
        shut_kernels(address)
        with lab_page(browser.new_context(viewport={"width": 1280, "height": 900}), address, tmp_path) as lab:
            lab.open(NAME)  # saved, in a fresh page, with a fresh kernel
            lab.page.locator(".who:text('no kernel is connected')").wait_for()
        shut_kernels(address)
    assert path.read_text(encoding="utf-8").count("widgets.exhibits/loader.js#") == 1
