"""All exhibits in one notebook of a real JupyterLab, beside a real kernel that is restarted now and then."""

import os
import time
import uuid
from contextlib import contextmanager

import nbformat
import psutil

from course.deadlines import NOTHING_LEFT
from tests.browser.lab_page import LabPage, running_lab, sessions, shut_kernels
from tests.helpers.shells import eventually
from tests.slow.monkey.exhibits import cells
from tests.slow.monkey.hand import LEASH, Hand

NAME = "93_monkey"
MARK = "COURSE_MONKEY"  # an environment variable that everything below the server has, orphans too
#: What the kernel notes of itself: errors that are logged, shown, or end a thread.
NOTES = """
import logging, threading, traceback
from IPython import get_ipython

def note(text):
    with open({path!r}, "a") as file:
        file.write(text + "\\n\\f")

class Noted(logging.Handler):
    def emit(self, record):
        note("logged: " + self.format(record))

def in_thread(found):
    note("thread: " + "".join(traceback.format_exception(found.exc_type, found.exc_value, found.exc_traceback)))

logging.getLogger().addHandler(Noted(logging.ERROR))
threading.excepthook = in_thread
shell, asked = get_ipython(), []

def traceback_of(*given, **named):
    note("shown: " + traceback.format_exc())
    return before(*given, **named)

before, shell.showtraceback = shell.showtraceback, traceback_of

from course import draw
from course.widgets.exhibits.exhibit import Exhibit
Exhibit._shown = lambda self: draw.html("", "a still")  # nobody touches it, and it takes most of the time
"""


class LabNotebook:
    """The exhibits in JupyterLab; `wrong` has every error of the page and of the kernel, `rss` the kernel's memory."""

    def __init__(self, context, address, folder):
        self.lab = LabPage(context.new_page(), address, folder)
        self.page, self.notes, self._seen = self.lab.page, folder / "notes", 0
        self.page.add_init_script(LEASH)
        self.page.on("dialog", lambda dialog: dialog.accept())
        _write(folder, self.notes)
        self.lab.open(NAME)
        self.hand = Hand(self.page)

    @property
    def wrong(self):
        """What went wrong until now, in words."""
        said = [f"page: {error}" for error in self.lab.errors]
        kernels = self.notes.read_text().split("\f") if self.notes.exists() else []
        return (
            said + [f"kernel {text}" for text in kernels if text.strip()] + [f"asked {url}" for url in self.lab.foreign]
        )

    def run_all(self):
        """Choose *Run All Cells*, and wait until every cell has run."""
        self._calm()
        self.lab.run_cells()

    def restart(self):
        """Choose *Restart Kernel*; what is drawn stays, until cells are run again."""
        before = self._kernel().pid
        self._menu("Kernel", "Restart Kernel…")
        self.page.click(".jp-Dialog button.jp-mod-accept")
        # until then, "idle" is of the kernel before
        eventually(lambda: (kernel := self._kernel()) is not None and kernel.pid != before)
        self.page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]')

    def reload(self):
        """Save, and load the page again: the kernel lives on, and answers what it is asked."""
        path = self.lab.folder / "notebooks" / f"{NAME}.ipynb"
        before = path.stat().st_mtime_ns
        self._calm()
        self.page.keyboard.press("Control+s")
        for _ in range(100):
            self.page.wait_for_timeout(100)
            if path.stat().st_mtime_ns != before:
                break
        self.page.reload()
        self.lab.shows(NAME)

    def interrupt(self):
        """Choose *Interrupt Kernel*, whatever runs."""
        self._menu("Kernel", "Interrupt Kernel")

    def do(self, action):
        """Do one action."""
        match action.kind:
            case "run" | "interrupt" | "reload" | "restart":
                {"run": self.run_all}.get(action.kind, getattr(self, action.kind, None))()
                if action.kind == "restart" and action.x < 0.7:
                    self.run_all()
            case _:
                self.hand.do(action)

    def rss(self):
        """Return the bytes of memory that the kernel has now."""
        return self._kernel().memory_info().rss

    def _kernel(self):
        """Return the kernel's `psutil.Process`, or None between two."""
        own = [one["kernel"]["id"] for one in sessions(self.lab.address) if one["path"].endswith(f"{NAME}.ipynb")]
        for process in psutil.process_iter(["cmdline"]):
            if any(one in " ".join(process.info["cmdline"] or ()) for one in own):
                return process
        return None

    def _menu(self, menu, item):
        self._calm()
        self.page.click(f'.lm-MenuBar-itemLabel:text-is("{menu}")')
        self.page.click(f'.lm-Menu-itemLabel:text-is("{item}")')

    def _calm(self):
        """Close what the keys may have opened; below 700 pixels JupyterLab hides what is needed now."""
        self.page.set_viewport_size({"width": 1280, "height": 900})
        for _ in range(2):
            self.page.keyboard.press("Escape")
        while (dialog := self.page.locator(".jp-Dialog button.jp-mod-reject")).count():
            dialog.first.click()


def _write(folder, notes):
    sources = {"notes": NOTES.format(path=str(notes)).strip(), **cells(processes=True)}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    made = [nbformat.v4.new_code_cell(source) for source in sources.values()]
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=kernel), folder / "notebooks" / f"{NAME}.ipynb")


@contextmanager
def lab_notebook(browser, folder):
    """Start JupyterLab in an empty `folder`; yields a `LabNotebook`. AssertionError for a process that is left."""
    mark = os.environ[MARK] = uuid.uuid4().hex
    try:
        with running_lab(folder) as address:
            context = browser.new_context(viewport={"width": 1280, "height": 900}, has_touch=True)
            try:
                yield LabNotebook(context, address, folder)
            finally:
                shut_kernels(address)
                context.close()
    finally:
        del os.environ[MARK]
    end = time.monotonic() + 3 * NOTHING_LEFT  # on a machine that does much else
    while left := marked(mark):
        assert time.monotonic() < end, f"processes are left: {left}"
        time.sleep(0.1)


def marked(mark):
    """Return the command lines of the processes that a server with this `mark` in its environment has left."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline())[:300])
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
