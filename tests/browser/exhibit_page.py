"""What tests say to an exhibit's page in Chromium, in its modules' words and in a kernel's."""

import json

from course.widgets.exhibits.page_files import ROOM, files_of


def module(*names, room=ROOM):
    """Return the text of a module of the page's files `names` of a room."""
    return "\n".join(file.text for file in files_of(*names, room=room))


def evaluated(page, name, function, arguments, room=ROOM):
    """Return what `function`, in JavaScript, gives for `arguments`; it gets the module `name` of a room."""
    return page.evaluate(
        """async ([text, body, given]) => {
            const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
            return given.map(eval(body).bind(null, await import(url)));
        }""",
        [module(*name, room=room), function, arguments],
    )


def kernel(page):
    """Put a kernel's model into the page, whose answers this test gives: `says(page, **message)`."""
    page.evaluate("""() => {
        const key = document.querySelector("[data-exhibit]").dataset.exhibit;
        window.asked = [];
        const heard = {};
        window.heard = (message) => heard["msg:custom"](message);
        const on = (what, call) => (heard[what] = call);
        window.model = { get: () => key, on, off: () => {}, send: (what) => window.asked.push(what) };
        courseLines.models.set(key, window.model);
        courseLines.news.dispatchEvent(new CustomEvent("line", { detail: key }));
        window.gone = () => heard["comm_live_update"]();
    }""")


def says(page, **message):
    page.evaluate("(message) => window.heard(message)", message)


def asked(page):
    return page.evaluate("window.asked")


def why(page, button):
    """Return the words beside a button that say why it can't be pressed, as a screen reader has them, or None."""
    if button.get_attribute("aria-disabled") != "true":
        return None
    words = page.locator(f"#{button.get_attribute('aria-describedby')}")
    assert words.is_visible() and button.evaluate("(one) => one.tabIndex >= 0 && !one.disabled")
    return words.inner_text()


def shown(page):
    return json.loads(page.locator(".stage").get_attribute("data-result"))
