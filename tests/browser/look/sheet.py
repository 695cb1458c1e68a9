"""All of the gallery in one page, which is looked at in light and in dark, wide and as on a phone."""

from contextlib import contextmanager

from tests.browser.look.gallery import GALLERY

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>All exhibits</title>
<meta name="viewport" content="width=device-width"><style>body {{ margin: 0; background: #fff; color: #000; }}
section {{ padding: 8px; }} h1 {{ font-size: 16px; }}
@media (prefers-color-scheme: dark) {{ body {{ background: #111; color: #eee; }} }}
</style></head><body><main><h1>All exhibits</h1>{sections}</main></body></html>"""
#: Of the two pages, as in a notebook: red, green, blue.
GROUNDS = {"light": (255, 255, 255), "dark": (17, 17, 17)}
WIDE, PHONE = 776, 390  # CSS pixels: a notebook's column, with the sections' padding; a phone


@contextmanager
def sheet(browser, gallery=None):
    """Show every exhibit of the gallery, each in a section of its own, in a page of `browser`; yields the page.

    What its console says is kept in `page.said`, a list.
    """
    made = {name: make() for name, make in (gallery or GALLERY).items()}
    sections = "".join(
        f'<section id="{name}">{"".join(_html(one) for one in things)}</section>' for name, things in made.items()
    )
    page = browser.new_page(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(90_000)  # of a busy machine
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    try:
        page.set_content(PAGE.format(sections=sections))
        yield page
    finally:
        page.close()
        for thing in (one for things in made.values() for one in things):
            getattr(thing, "close", lambda: None)()


def _html(thing):
    return thing._repr_mimebundle_()["text/html"]


def settle(page):
    """Wait until what follows a change of width or of theme is drawn."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"
    )


STATES = ("light", "dark", "phone", "focus")
#: What has the focus in an exhibit's fourth picture: what is special to it, else its first control.
_FOCUS = "[role=slider], svg [tabindex], svg[tabindex], canvas[tabindex]"


def pictures(page, state):
    """Yield (name, PNG as bytes) of each exhibit in a state: light, dark, on a phone, with the focus on a control."""
    look(page, "dark" if state == "dark" else "light", PHONE if state == "phone" else WIDE)
    for section in page.locator("main > section").all():
        if state == "focus":
            page.keyboard.press("Shift")  # the keyboard is in use: a focus by script shows its ring
            special = section.locator(_FOCUS)
            (special if special.count() else section.locator("input, select, button, a").first).first.focus()
        yield section.get_attribute("id"), section.screenshot()
    page.evaluate("document.activeElement.blur()")


def look(page, scheme="light", width=WIDE):
    """Show the page in a theme and at a width."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    settle(page)
