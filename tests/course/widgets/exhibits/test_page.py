"""Exhibits as HTML: the same bytes each time where they are stored, nothing fetched."""

import base64
import re

from course.progress_line import STATIC_TWINS
from course.widgets import RequestDots
from tests.course.widgets.page_of import data_of, html_of


def test_it_is_stored_the_same_each_time_and_in_a_kernel_has_a_name_of_its_own(monkeypatch):
    live = re.search(r'data-exhibit="([^"]+)"', html_of(RequestDots()))[1]
    monkeypatch.setenv(STATIC_TWINS, "1")
    stored = html_of(RequestDots())
    assert stored == html_of(RequestDots()) != html_of(RequestDots(rate=200))
    assert live.startswith(re.search(r'data-exhibit="([^"]+)"', stored)[1] + "-")


def test_it_fetches_nothing_holds_its_data_and_a_still_with_the_same_words():
    exhibit = RequestDots(rate=400, label="recorded </script> of nothing")
    html = html_of(exhibit)
    drawings = "http://www.w3.org/"  # names of XML, which nobody asks
    assert not re.search(r"https?://", html.replace(drawings, "")) and "widget-view" not in html
    data = data_of(html)
    assert data["settings"]["rate"] == 400 and data["label"] == "recorded </script> of nothing"
    still = base64.b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)[1]).decode()
    assert (
        "99 of 100 within" in still and still.startswith("<svg") and exhibit.static().alt.split(":")[0] == "Simulated"
    )
    assert len(html) < 60_000
