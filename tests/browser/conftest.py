"""What the tests of pages share: one browser a file."""

import pytest

from tests.browser.lab_page import need_chromium, running_chromium


@pytest.fixture(scope="module")
def chromium():
    """Playwright's `Browser`."""
    need_chromium()
    with running_chromium() as browser:
        yield browser
