"""Every exhibit and bet: nothing serious for axe-core, all by keyboard with a ring that is seen, legible on a phone."""

import pytest

from tests.browser.look.__main__ import FOLDER, stored
from tests.browser.look.accessibility import findings, measured
from tests.browser.look.alike import alike
from tests.browser.look.sheet import GROUNDS, PHONE, STATES, WIDE, look, pictures, settle, sheet

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(chromium):
    """One page with all of them, as the test before left it: each says first by `look` how it is to be."""
    with sheet(chromium) as made:
        yield made
        assert made.said == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", GROUNDS)
def test_axe_finds_nothing_serious_on_any_exhibit_or_bet(page, scheme):
    look(page, scheme)
    assert findings(page, "main") == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", GROUNDS)
def test_words_in_drawings_stand_out_as_other_text_must(page, scheme):
    look(page, scheme)
    assert measured(page, "paleWords", "main", GROUNDS[scheme]) == []


PLANTED = """<section id="planted"><div class="course exhibit"><button></button><input type="range">
<p style="color: #9a9a9a">pale words</p><svg role="img" width="90" height="60">
<text y="15" fill="#6f6f6f">dark enough</text><text y="30" fill="#9a9a9a">pale words</text>
<rect y="36" width="90" height="24" fill="#0072B2"/><text x="5" y="50" fill="#444">on blue</text>
<text x="70" y="15">cut off</text></svg><button aria-disabled="true" aria-describedby="gone">Off</button>
<svg width="100" viewBox="0 0 200 20"><text y="15" font-size="14">small</text></svg></div></section>"""


@pytest.mark.long
def test_each_measure_finds_what_is_planted(page):
    look(page, "light")
    page.evaluate("(html) => document.querySelector('main').insertAdjacentHTML('beforeend', html)", PLANTED)
    try:
        rules = {line.partition(":")[0] for line in findings(page, "#planted")}
        pale = measured(page, "paleWords", "#planted", GROUNDS["light"])
        silent = measured(page, "unexplained")
        small, cut = (measured(page, name, "#planted", *least) for name, *least in (("smallWords", 10), ("cutWords",)))
    finally:
        page.evaluate("document.querySelector('#planted').remove()")
    assert rules == {"button-name", "label", "color-contrast", "svg-img-alt"}
    assert pale == [
        'planted: "pale words" stands out 2.81 : 1',
        'planted: "on blue" stands out 1.88 : 1',
    ]
    assert silent[1:] == ["planted: Off"]
    assert small == ["planted: small: 7.0 px"] and len(cut) == 1 and '"cut off"' in cut[0]


@pytest.mark.long
def test_tab_reaches_every_control_in_the_order_in_which_they_stand_and_its_ring_is_seen(page):
    look(page, "light")
    names = measured(page, "controls")
    without = measured(page, "rings")
    assert len(names) > 150
    stands = []
    for number, name in enumerate(names):
        page.keyboard.press("Tab")
        at, ring, top, bottom = measured(page, "focused")
        assert at == number, f"after {names[number - 1]} comes {names[at] if at >= 0 else 'no control'}, not {name}"
        assert ring >= 2 and ring > without[at], f"{name}: no ring is seen"
        stands.append((name, top, bottom))
    raised = [
        f"{later} stands above {name}"
        for (name, top, _), (later, _, bottom) in zip(stands, stands[1:], strict=False)
        if bottom <= top and "workers" not in name  # the places of a line that is drawn go up with it
    ]
    assert raised == []


@pytest.mark.long
def test_what_cannot_be_pressed_says_why_beside_it_and_to_a_screen_reader(page):
    look(page, "light")
    count, *silent = measured(page, "unexplained")
    assert int(count.split()[0]) > 10 and silent == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_all_is_whole_and_no_text_is_cut_off_or_smaller_than_ten_pixels(page, width):
    look(page, "light", width)
    assert measured(page, "tooWide") == [] == measured(page, "smallWords", "main", 10)
    assert measured(page, "cutWords", "main") == []


@pytest.mark.long
@pytest.mark.parametrize("state", STATES)
def test_each_exhibit_looks_as_its_stored_picture_does(page, state):
    shown = {stored(name, state): png for name, png in pictures(page, state)}
    assert {path.name for path in shown} == {path.name for path in FOLDER.glob(f"*-{state}.webp")}, "make look"
    others = [path.name for path, png in shown.items() if not alike(path.read_bytes(), png, state == "phone")]
    assert others == [], "look at them, and if they are as they should be: make look"


def restyled(page, name, style):
    """Tell whether an exhibit still looks as its stored picture does once the page has this `style`, too."""
    look(page, "light")
    page.evaluate("(text) => document.head.insertAdjacentHTML('beforeend', text)", f"<style id=planted>{style}</style>")
    try:
        settle(page)
        png = page.locator(f"#{name}").screenshot()
    finally:
        page.evaluate("document.querySelector('#planted').remove()")
    return alike(stored(name, "light").read_bytes(), png)


WRONG = {
    "a lost legend": ("timeline", ".exhibit .key { visibility: hidden; }"),
    "a lost key of servers": ("darts", ".throw .server { visibility: hidden; }"),
    "a wrong colour": ("slices", ".exhibit .slices .w0, .exhibit .tasks .w0 { fill: #0072B2 !important; }"),
    "lines without a colour": ("matmul", ".exhibit .sizes .line { stroke: currentColor !important; }"),
    "an empty picture": ("store", ".exhibit .picture { visibility: hidden; }"),
    "one of two panels empty": ("ring", ".exhibit .duel > div:last-child { visibility: hidden; }"),
    "a missing headline and its text": ("dots", ".exhibit .figure, .exhibit .sliders { visibility: hidden; }"),
    "controls without a column": ("continents", ".exhibit .sliders label { display: inline-block !important; }"),
}


@pytest.mark.long
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_a_picture_is_seen(page, wrong):
    name, style = WRONG[wrong]
    assert restyled(page, name, "") and not restyled(page, name, style)


@pytest.mark.long
@pytest.mark.parametrize("font", ["font-family: serif", "letter-spacing: -0.02em", "letter-spacing: 0.03em"])
def test_another_font_makes_no_other_picture(page, font):
    style = f".course.course, .course.course *, .course.course svg text {{ {font} !important; }}"
    for name in ("timeline", "slices", "store", "continents", "course_map", "bets"):
        assert restyled(page, name, style), name
