"""All exhibits in one page, beside a kernel that this process plays: their Python is the real one, the line is not."""

import base64
import json
import logging
import queue
import threading
import traceback
from contextlib import contextmanager
from pathlib import Path

from course import draw
from tests.slow.monkey.exhibits import cells, made
from tests.slow.monkey.hand import LEASH, Hand

ADDRESS = "http://course.test/"
HEAD = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>monkey</title>'
PAGE = Path(__file__).with_name("in_page.js").read_text(encoding="utf-8")


class Line:
    """The kernel's end of one exhibit's line; messages wait until the page is looked at."""

    def __init__(self, key, told):
        self.key, self._told = key, told

    def send(self, message, buffers=()):
        """Keep `message`, as JSON has it, for the page. ValueError for what JSON has not, such as NaN."""
        plain = json.loads(json.dumps(message, allow_nan=False))
        self._told.put((self.key, plain, [base64.b64encode(bytes(one)).decode() for one in buffers]))

    def close(self):
        """Nothing is open."""


class Notebook:
    """The exhibits in a page, each in a cell that can be run again; `wrong` has every error, in words."""

    def __init__(self, context, sources=None):
        self.sources = sources or cells(processes=False)
        self.page, self.wrong = context.new_page(), []
        self.page.set_default_timeout(90_000)  # of a busy machine
        self.page.on("console", lambda message: self.wrong.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.wrong.append(f"page: {error.stack or error}"))
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        body = "<body style='margin:0'>" + "<section></section>" * len(self.sources)
        html = f"{HEAD}{body}<script>{PAGE}{LEASH}</script>"
        self.page.route("**", lambda route: route.fulfill(body=html, content_type="text/html"))
        self.page.goto(ADDRESS)
        self.hand = Hand(self.page)
        self.told, self.names = queue.SimpleQueue(), {}
        self.exhibits = dict.fromkeys(self.sources)
        self.lines = {}  # key -> exhibit
        self.silent, self.runs = False, 0  # runs: of cells

    def run(self, name):
        """Run a cell, as again in a notebook: the exhibit before is closed, and its drawing replaced."""
        self._end(name)
        self.runs += 1
        try:
            exhibit = made(self.sources[name], self.names)
            html = shown(exhibit)
        except Exception:
            self.wrong.append(f"cell {name}: {traceback.format_exc()}")
            return
        self.exhibits[name] = exhibit
        wire, key = getattr(exhibit, "_wire", None), None
        if wire is not None:
            key = wire.key
            wire.close()
            exhibit._wire = Line(key, self.told)
            self.lines[key] = exhibit
        place = list(self.sources).index(name)
        self.page.evaluate("([place, html, key]) => monkey.show(place, html, key)", [place, html, key])

    def run_all(self):
        """Run every cell, in order, until every line is quiet."""
        for name in self.sources:
            self.run(name)
        for exhibit in self.lines.values():
            if (thread := getattr(exhibit, "_thread", None)) is not None:
                thread.join(240)
        self.serve()

    def _end(self, name):
        exhibit = self.exhibits[name]
        if exhibit is None:
            return
        for key in [key for key, one in self.lines.items() if one is exhibit]:
            del self.lines[key]
            self.page.evaluate("(key) => monkey.gone(key)", key)
        if hasattr(exhibit, "close"):
            exhibit.close()
        self.exhibits[name] = None

    def restart(self):
        """The kernel is gone; what is drawn stays, until cells are run again."""
        for name in self.sources:
            self._end(name)
        self.names.clear()

    def serve(self):
        """Answer what the page has asked, and tell it what there is to tell; a silent kernel keeps both for later."""
        for key, content, buffers in self.page.evaluate("monkey.asked.splice(0)"):
            if key in self.lines:
                try:
                    self.lines[key]._heard(None, content, [base64.b64decode(one) for one in buffers])
                except Exception:
                    self.wrong.append(f"{type(self.lines[key]).__name__}, asked {content}: {traceback.format_exc()}")
        told = []
        while not self.told.empty():
            told.append(self.told.get())
        if told:
            self.page.evaluate("(told) => monkey.tell(told)", told)

    def do(self, action):
        """Do one action, then let the kernel answer, unless it is silent."""
        match action.kind:
            case "run":
                missing = [name for name, exhibit in self.exhibits.items() if exhibit is None]
                names = missing if missing and action.y < 0.5 else list(self.sources)
                self.run(names[int(action.exhibit * len(names))])
            case "restart":
                self.restart()
                if action.x < 0.8:
                    self.run_all()
            case "silence":
                self.silent = not self.silent
            case _:
                self.hand.do(action)
        if not self.silent or action.number % 10 == 0:
            self.serve()

    def memory(self):
        """Return (bytes, nodes) of the page, with every exhibit as it is when its cell has just been run."""
        self.restart()
        self.run_all()
        return self.hand.memory()

    def close(self):
        """End what runs, and the page."""
        self.restart()
        self.page.close()


def shown(exhibit):
    """Return the HTML of an exhibit's output, without its still: nobody touches that, and it takes most of the time."""
    if hasattr(exhibit, "_shown"):
        exhibit._shown = lambda: draw.html("", "a still")
    return exhibit._repr_mimebundle_()["text/html"]


@contextmanager
def noted(wrong):
    """Within the `with`, an error that Python logs, or that a thread ends by, is added to the list `wrong`."""

    class Noted(logging.Handler):
        def emit(self, record):
            wrong.append(f"logged: {self.format(record)}")

    def in_thread(found):
        text = "".join(traceback.format_exception(found.exc_type, found.exc_value, found.exc_traceback))
        wrong.append(f"thread {found.thread and found.thread.name}: {text}")

    handler, before = Noted(logging.ERROR), threading.excepthook
    logging.getLogger().addHandler(handler)
    threading.excepthook = in_thread
    try:
        yield
    finally:
        threading.excepthook = before
        logging.getLogger().removeHandler(handler)
