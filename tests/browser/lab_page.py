"""JupyterLab as a reader meets it: `python -m course lab` on a copy of the course, and a page of Chromium on it."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
HOW_TO_GET_IT = (
    "the browser test needs Chromium: `apt install chromium` on Debian, `sudo snap install chromium` on Ubuntu, "
    "`brew install --cask chromium` on macOS; everything else was tested"
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    # the browser's own errands (updates, accounts) are not the page's
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # nor is a process in reserve: it would outlive the test whose page it is not
    "--disable-features=SpareRendererForSitePerProcess",
]
#: Said to the console by JupyterLab when a kernel that ends closes its lines, which it has forgotten already; and by
#: anywidget when a line took longer than 2 s to load, as on a busy machine: it opens all the same.
OTHERS_OWN = re.compile(r"Comm not found for comm id|\[anywidget\] Failed to initialize model")
FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"  # of several notebooks the one in sight
QUEUED = "[...document.querySelectorAll('.jp-InputPrompt')].some(e => e.textContent.includes('*'))"
#: Sees a cell wait, marked [*], also one that waits for less time than there is between two looks.
WATCHED = f"""() => {{
    window.ran = false;
    const watch = new MutationObserver(() => {{
        window.ran = {QUEUED};
        if (window.ran) watch.disconnect();
    }});
    watch.observe(document.body, {{ subtree: true, childList: true, characterData: true }});
}}"""


def find_chromium():
    """Return the path of an installed Chromium or Chrome, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def need_chromium():
    """Skip aloud where there is no Chromium; fail where one was promised."""
    if find_chromium() is None:
        assert "COURSE_MUST_HAVE_CHROMIUM" not in os.environ, HOW_TO_GET_IT
        print(f"\nSKIPPED: {HOW_TO_GET_IT}", flush=True)
        pytest.skip(HOW_TO_GET_IT)


@contextmanager
def running_lab(folder, deadline=60):
    """Start `python -m course lab --no-browser` on a copy of the course in `folder`; yields its address with token."""
    for part in ("course", "notebooks"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    server = subprocess.Popen(
        [sys.executable, "-m", "course", "lab", "--no-browser", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(server.stdout.readline, "")), daemon=True)
    reader.start()
    try:
        yield _address(server, lines, deadline)
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(60)
        reader.join(60)
        server.stdout.close()


def _address(server, lines, deadline):
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        found = [m.group(0) for line in list(lines) if (m := re.search(r"http://127\.0\.0\.1:\d+/\S*token=\w+", line))]
        if found:
            return found[0]
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError("JupyterLab printed no address:\n" + "".join(lines))


@dataclass
class LabPage:
    """One JupyterLab tab: what its console said and which other hosts it asked are kept in `errors` and `foreign`."""

    page: object
    address: str
    folder: Path
    errors: list = field(default_factory=list)
    foreign: list = field(default_factory=list)

    def __post_init__(self):
        self.page.set_default_timeout(90_000)  # of a busy machine; where all goes well nothing waits
        self.page.on("console", lambda m: self._note_error(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: self._note_error(str(error)))
        self.page.on("request", self._note_request)

    def _note_error(self, text):
        if not OTHERS_OWN.search(text):
            self.errors.append(text)

    def _note_request(self, request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname not in ("127.0.0.1", "localhost"):
            self.foreign.append(request.url)

    def open(self, name):
        """Open `notebooks/NAME.ipynb` and wait until its cells show and its kernel is idle."""
        address = f"{root(self.address)}lab/tree/notebooks/{name}.ipynb?{urlsplit(self.address).query}&reset"
        self.page.goto(address, wait_until="load")
        self.shows(name)

    def shows(self, name):
        """Wait until the cells of `notebooks/NAME.ipynb` show and its kernel is idle."""
        self.page.wait_for_selector(f"{FRONT} .jp-Notebook .jp-Cell")
        end = time.monotonic() + 90
        # the page's own indicator says "idle" even before there is a kernel
        while not any(
            s["kernel"]["connections"] and s["path"].endswith(f"{name}.ipynb") for s in sessions(self.address)
        ):
            assert time.monotonic() < end, f"{name}: JupyterLab connected no kernel"
            time.sleep(0.1)
        self.page.wait_for_selector(f'{FRONT} .jp-Notebook-ExecutionIndicator[data-status="idle"]')

    def until(self, javascript, deadline=120):
        """Wait until an expression in JavaScript is true of the page; return its value; looks five times a second.

        Playwright's own way is to look at every frame, for which the page is then drawn, without a GPU, at 60 Hz.
        """
        # what is not drawn yet, or has no data yet, is not true yet
        tried = f"() => {{ try {{ return {javascript}; }} catch (wrong) {{ return false; }} }}"
        found = self.page.wait_for_function(tried, timeout=deadline * 1000, polling=200)
        return found.json_value()

    def run_all(self, name, deadline=240):
        """Choose *Run All Cells* from the menu, wait for the last cell, save; return the saved notebook as a dict."""
        self.run_cells(deadline)
        return self.save(name)

    def run_cells(self, deadline=240):
        """Choose *Run All Cells* from the menu, and wait for the last cell."""
        self.page.evaluate(WATCHED)
        self.page.click('.lm-MenuBar-itemLabel:text-is("Run")')
        self.page.click('.lm-Menu-itemLabel:text-is("Run All Cells")')
        self.until("window.ran")
        self.until(f"!{QUEUED}", deadline)

    def save(self, name):
        """Save `notebooks/NAME.ipynb` by its keys; return it, once it is written, as a dict."""
        path = self.folder / "notebooks" / f"{name}.ipynb"
        before = path.stat().st_mtime_ns
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("Control+s")
        return _saved(path, before)


def write_notebook(folder, name, *cells):
    """Write `notebooks/NAME.ipynb` in a copy of the course; a cell is its source, or one of nbformat's."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    made = [nbformat.v4.new_code_cell(cell.strip()) if isinstance(cell, str) else cell for cell in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=kernel), folder / "notebooks" / f"{name}.ipynb")


def _saved(path, before, deadline=90):
    """Return the notebook once JupyterLab has written it anew, and whole."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        time.sleep(0.1)
        if path.stat().st_mtime_ns != before:
            try:
                return json.loads(path.read_text(encoding="utf-8"))
            except json.JSONDecodeError:
                continue  # read while it was being written
    raise AssertionError(f"{path.name} was not saved within {deadline} s")


def root(address):
    """Return where the server of a lab's `address` begins: `http://127.0.0.1:8888/`, or below it behind a hub."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}{parts.path.partition('lab')[0]}"


def sessions(address):
    """Return what the server at `address` says of its sessions: a list of dicts, each with `path` and `kernel`."""
    with _ask(address, "api/sessions") as answer:
        return json.load(answer)


def shut_kernels(address):
    """End every kernel of the server at `address`."""
    for session in sessions(address):
        _ask(address, f"api/sessions/{session['id']}", method="DELETE").close()


def _ask(address, path, method="GET"):
    token = parse_qs(urlsplit(address).query)["token"][0]
    request = Request(root(address) + path, method=method, headers={"Authorization": f"token {token}"})
    return urlopen(request, timeout=60)


@contextmanager
def running_chromium():
    """Run the Chromium of this machine, without a window, while inside; yields playwright's `Browser`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def lab_page(context, address, folder):
    """Open a page of a browser's `context` for the lab at `address`; yields a `LabPage`."""
    page = context.new_page()
    try:
        yield LabPage(page, address, Path(folder))
    finally:
        page.close()


def failures(notebook):
    """Return what went wrong in an executed notebook: unannounced errors, and cells that did not run."""
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code" or "raises-exception" in cell["metadata"].get("tags", []):
            continue
        found += [f"{o['ename']}: {o['evalue']}" for o in cell["outputs"] if o["output_type"] == "error"]
        if cell["execution_count"] is None and "".join(cell["source"]).strip():
            found.append("not run: " + "".join(cell["source"])[:80])
    return found
