"""The dashboard of `train` in JupyterLab: it grows, its button ends the training, what is saved is the end."""

import nbformat
import pytest

from tests.browser.lab_page import (
    failures,
    lab_page,
    need_chromium,
    running_chromium,
    running_lab,
    shut_kernels,
    write_notebook,
)

pytestmark = [pytest.mark.browser, pytest.mark.long]
BEGIN = """
from functools import partial
import torch
from course import local_cluster, training
from course.widgets import Dashboard

problem, SGD = training.linear_regression(), partial(torch.optim.SGD, lr=0.02)
cluster = local_cluster(ps=1, worker=2)
"""
LONG = """
slow = training.paced(problem, seconds=0.005)
result = training.train(slow, cluster, optimizer=SGD, total_steps=10**6, hooks=[Dashboard()])
print("ended:", result.stopped_by)
"""
AFTER = """
print(training.train(problem, cluster, optimizer=SGD, total_steps=200, hooks=[Dashboard()]))
cluster.close()
"""
SAID = "[...document.querySelectorAll('.jp-OutputArea')].map(e => e.textContent).join(' ')"


@pytest.fixture
def lab(tmp_path):
    need_chromium()
    folder = tmp_path / "a copy of the course"
    folder.mkdir()
    with running_lab(folder) as address, running_chromium() as browser:
        write_notebook(folder, "83_dashboard", BEGIN, LONG, AFTER)
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        with lab_page(context, address, folder) as page:
            yield page


def test_it_grows_its_button_ends_the_training_the_cluster_works_on_and_the_end_is_saved(lab):
    try:
        grows(lab)
        is_stopped(lab)
        is_saved(lab)
    finally:
        shut_kernels(lab.address)


def grows(lab):
    lab.open("83_dashboard")
    lab.page.click('.lm-MenuBar-itemLabel:text-is("Run")')
    lab.page.click('.lm-Menu-itemLabel:text-is("Run All Cells")')
    step = "parseInt(document.querySelector('.stage .says').textContent.replaceAll(',', ''))"
    lab.until(f"document.querySelector('.stage .panels') !== null && {step} > 20", 240)
    before = lab.page.evaluate(step)
    lab.until(f"{step} > {before + 20}")
    assert "s left" in lab.page.locator(".stage small").first.text_content()
    assert 0 < lab.page.locator(".stage progress").first.evaluate("e => e.value") < 1


def is_stopped(lab):
    lab.page.get_by_role("button", name="Stop").first.press("Enter")
    lab.until(f"{SAID}.includes('ended: by the dashboard\\'s button')")
    lab.until(f"{SAID}.includes('200 updates)')", 120)
    lab.until(
        "document.querySelectorAll('.jp-InputPrompt').length && "
        "![...document.querySelectorAll('.jp-InputPrompt')].some(e => e.textContent.includes('*'))"
    )
    lab.page.locator(".stage .says").nth(1).filter(has_text="200 of 200 updates").wait_for()  # once it is drawn


def is_saved(lab):
    path = lab.folder / "notebooks" / "83_dashboard.ipynb"
    lab.save("83_dashboard")
    saved = nbformat.read(path, as_version=4)
    assert failures(saved) == []
    stored = [output.data["text/html"] for cell in saved.cells for output in cell.outputs if "data" in output]
    assert len(stored) == 2, "one output each, renewed in place"
    assert "Stopped: by the dashboard" in stored[0] and "200 of 200 updates" in stored[1]
    assert all("data:image/svg" in one for one in stored)
