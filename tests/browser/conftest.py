"""What the tests of pages share: one browser a file."""

import os
from pathlib import Path

import pytest

from tests.browser.lab_page import need_chromium, running_chromium
from tests.course.widgets.page_of import html_of


@pytest.fixture(scope="module")
def chromium():
    """Playwright's `Browser`."""
    need_chromium()
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def opened(chromium):
    """A function that shows exhibits in a page of their own, whose console must say nothing.

    A page without an `address` keeps nothing; `after` is HTML that follows the exhibits. `context`: another page's, to
    share what it keeps; by default a new one with these `settings`.
    """
    contexts, console, shown = [], [], []

    def show(*exhibits, address="", after="", context=None, **settings):
        if context is None:
            contexts.append(chromium.new_context(**{"viewport": {"width": 900, "height": 900}, **settings}))
            contexts[-1].set_default_timeout(90_000)  # of a busy machine
        page = (context or contexts[-1]).new_page()
        page.on("console", lambda message: console.append(message.text))
        page.on("pageerror", lambda error: console.append(str(error)))
        head = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        dark = settings.get("color_scheme") == "dark"
        body = f'<body style="margin:0;{"background:#111;color:#eee" if dark else ""}">'
        shown.extend(exhibits)
        html = head + body + "".join(html_of(exhibit) for exhibit in exhibits) + after
        if address:
            page.route("**", lambda route: route.fulfill(body=html, content_type="text/html"))
            page.goto(address)
        else:
            page.set_content(html)
        if folder := os.environ.get("COURSE_SCREENSHOTS"):
            page.wait_for_timeout(300)
            look = f"{'dark' if dark else 'light'}-{page.viewport_size['width']}"
            name = f"{type(exhibits[0]).__name__}-{look}.png"
            (Path(folder) / name).write_bytes(page.screenshot(full_page=True))  # its own writing leaves a thread
        return page

    yield show
    for context in contexts:
        context.close()
    for exhibit in shown:
        getattr(exhibit, "close", lambda: None)()
    assert console == []
