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
    """Put a kernel's model into the page, whose answers this test gives: `says(page, **message)`.

    What the page asks stands in `asked`, and the bytes that came with each in `buffers`.
    """
    page.evaluate("""() => {
        const key = document.querySelector("[data-exhibit]").dataset.exhibit;
        [window.asked, window.buffers] = [[], []];
        const heard = {};
        const view = (bytes) => new DataView(Uint8Array.from(bytes).buffer);
        window.heard = (message, buffers = []) => heard["msg:custom"](message, buffers.map(view));
        const on = (what, call) => (heard[what] = call);
        const send = (message, _, buffers = []) => {
            window.asked.push(message);
            window.buffers.push(buffers.map((one) => [...new Uint8Array(one)]));
        };
        window.model = { get: () => key, on, off: () => {}, send };
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
