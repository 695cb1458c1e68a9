"""Pages that show notebooks, wide and as on a phone."""

from functools import partial

import pytest

from tests.browser.look.notebook_page import show
from tests.browser.look.sheet import PHONE


@pytest.fixture
def rendered(chromium):
    """A function that shows the page of a notebook, and returns it."""
    page = chromium.new_page(viewport={"width": 1200, "height": 900}, reduced_motion="reduce")
    yield partial(show, page)
    page.close()


@pytest.fixture
def phone(chromium):
    """As `rendered`, on a phone: 390 px wide, touched by fingers."""
    screen = {"viewport": {"width": PHONE, "height": 844}, "is_mobile": True, "has_touch": True}
    page = chromium.new_page(**screen, reduced_motion="reduce")
    yield partial(show, page)
    page.close()
