"""What the tests of pages share: one browser a file."""

import os
from pathlib import Path

import pytest

from tests.browser.lab_page import need_chromium, running_chromium


@pytest.fixture(scope="module")
def chromium():
    """Playwright's `Browser`."""
    need_chromium()
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def opened(chromium):
    """A function that shows an exhibit in a page of its own; what its console says, the test must expect.

    A page without an `address` keeps nothing; `after` is HTML that follows the exhibit.
    """
    contexts, said, shown = [], [], []

    def show(exhibit, address="", after="", **settings):
        contexts.append(chromium.new_context(**{"viewport": {"width": 900, "height": 900}, **settings}))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        head = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        dark = settings.get("color_scheme") == "dark"
        body = f'<body style="margin:0;{"background:#111;color:#eee" if dark else ""}">'
        shown.append(exhibit)
        html = head + body + exhibit._repr_mimebundle_()["text/html"] + after
        if address:
            page.route("**", lambda route: route.fulfill(body=html, content_type="text/html"))
            page.goto(address)
        else:
            page.set_content(html)
        if folder := os.environ.get("COURSE_SCREENSHOTS"):
            page.wait_for_timeout(300)
            name = f"{type(exhibit).__name__}-{settings.get('color_scheme', 'light')}-{page.viewport_size['width']}.png"
            (Path(folder) / name).write_bytes(page.screenshot(full_page=True))  # its own writing leaves a thread
        return page

    yield show
    for context in contexts:
        context.close()
    for exhibit in shown:
        exhibit.close()
    assert said == []
