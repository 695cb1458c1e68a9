"""A lab as Binder launches it, in a real browser: the first chapter, a cell that runs, a cluster's page. (Short form.)

`make binder` is the long form: it makes the environment, runs binder/postBuild, and whole chapters.
"""

import re

import nbformat
import pytest

from tests.browser.hub import copied, launched, need_proxy
from tests.browser.lab_page import lab_page, need_chromium, running_chromium, shut_kernels

need_proxy()
pytestmark = [pytest.mark.browser, pytest.mark.long]

CLUSTER = """from course.cluster import local_cluster

cluster = local_cluster(worker=1, dashboard=True)
print(cluster.executor.submit(sum, [20, 22]).result(), cluster.dashboard_link)"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    need_chromium()
    folder, home = tmp_path_factory.mktemp("binder"), tmp_path_factory.mktemp("home")
    copied(folder)
    first = folder / "notebooks" / "00_start_here.ipynb"
    chapter = nbformat.read(first, as_version=4)
    chapter.cells.insert(0, nbformat.v4.new_code_cell(CLUSTER))
    nbformat.write(chapter, first)
    with launched(folder, home) as (address, _), running_chromium() as browser:
        yield browser.new_context(), address, folder


@pytest.fixture
def lab(hub):
    with lab_page(*hub) as page:
        yield page
    shut_kernels(hub[1])


def test_a_launch_lands_on_the_first_chapter_whose_first_cell_runs_and_a_clusters_page_opens_there(lab):
    lab.page.goto(lab.address, wait_until="load")
    lab.shows("00_start_here")
    assert "/user/x/lab/tree/notebooks/00_start_here.ipynb" in lab.page.url
    for number in (0, 1):  # ours, and the chapter's own first
        lab.page.locator(".jp-CodeCell .jp-InputArea-editor").nth(number).click()
        lab.page.keyboard.press("Shift+Enter")
        prompts = "[...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]"
        lab.until(f"{prompts}.some(e => e.textContent == '[{number + 1}]:')", 240)
    said = lab.page.locator(".jp-OutputArea-output pre", has_text="/proxy/").first.inner_text()
    link = re.search(r"^42 (/user/x/proxy/\d+/status)\s*$", said, re.M)[1]
    lab.page.goto(lab.address.partition("/user/")[0] + link, wait_until="load")
    lab.until("document.querySelectorAll('[class*=bk-]').length > 3")  # drawn by what came over its web socket
    assert lab.page.title() == "Dask: Status"
    assert lab.foreign == []
