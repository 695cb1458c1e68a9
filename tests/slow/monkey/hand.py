"""The monkey's hand: it does an `Action` to a page, with the browser's own mouse, keys and fingers."""

SHOWN = ".exhibit, .film"
TARGETS = "button, input, select, summary, canvas, svg, [tabindex], progress, td, a"
#: Scrolls the target into sight; gives what it is and where: [words, left, top, width, height], or null.
FOUND = """([exhibits, targets, exhibit, target]) => {
    const there = [...document.querySelectorAll(exhibits)].filter((one) => one.getClientRects().length);
    if (!there.length) return null;
    const root = there[Math.floor(exhibit * there.length)];
    const own = [...root.querySelectorAll(targets)].filter((one) => one.getClientRects().length);
    const one = own.length ? own[Math.floor(target * own.length)] : root;
    one.scrollIntoView({ block: "center", behavior: "instant" });
    const { left, top, width, height } = one.getBoundingClientRect();
    const place = [...document.querySelectorAll(exhibits)].indexOf(root);
    const kind = `${one.tagName.toLowerCase()}.${one.getAttribute("class") ?? ""}`;
    const name = `${kind} ${(one.ariaLabel ?? one.textContent).slice(0, 30).replaceAll("\\n", " ")}`;
    return [`${place}: ${name}`, left, top, width, height];
}"""
#: No link leads away: the monkey stays in its page.
LEASH = """addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (link && !link.getAttribute("href").startsWith("#")) event.preventDefault();
}, true);"""


class Hand:
    """Does actions to a page of Playwright's that has touch; `did` says of the last one what it was done to."""

    def __init__(self, page):
        self.page, self.did = page, ""
        self.line = page.context.new_cdp_session(page)
        self.dark = self.calm = False

    def do(self, action):
        """Do `action`; its kind is one of this class's methods, most of which take a place in the page."""
        self.did = ""
        do = getattr(self, f"_{action.kind}")
        if action.kind not in ("click", "hover", "drag", "wheel", "touch", "press"):
            do(action)
        elif (at := self._at(action)) is not None:
            self.page.mouse.move(*at)
            do(action, *at)

    def _at(self, action):
        """Return where in the page the action points, or None where no exhibit is."""
        found = self.page.evaluate(FOUND, [SHOWN, TARGETS, action.exhibit, action.target])
        if found is None:
            return None
        self.did, left, top, width, height = found
        size = self.page.viewport_size
        x, y = left + action.x * width, top + action.y * height
        return min(max(1, x), size["width"] - 2), min(max(1, y), size["height"] - 2)

    def _click(self, action, x, y):
        self.page.mouse.click(x, y, click_count=2 if action.y > 0.9 else 1)

    def _hover(self, action, x, y):
        """The mouse is there already."""

    def _drag(self, action, x, y):
        self.page.mouse.down()
        self.page.mouse.move(x + 400 * (action.y - 0.5), y + 200 * (action.x - 0.5), steps=4)
        self.page.mouse.up()

    def _wheel(self, action, x, y):
        self.page.mouse.wheel(200 * (action.x - 0.5), 600 * (action.y - 0.5))

    def _touch(self, action, x, y):
        """One finger is put down, drawn a little, and lifted."""
        away = {"x": x + 80 * (action.y - 0.5), "y": y + 80 * (action.x - 0.5)}
        for kind, points in (("Start", [{"x": x, "y": y}]), ("Move", [away]), ("End", [])):
            self.line.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    def _press(self, action, x, y):
        self.page.evaluate("([x, y]) => document.elementFromPoint(x, y)?.focus?.()", [x, y])
        for key in action.keys:
            self.page.keyboard.press(key)

    def _tab(self, action):
        for _ in range(1 + int(4 * action.x)):
            self.page.keyboard.press("Shift+Tab" if action.y < 0.3 else "Tab")
        self.page.keyboard.press(action.keys[0])

    def _type(self, action):
        """Put garbage into whatever box the exhibit has, one that takes text if there is any."""
        boxes = "input:not([type=range]):not([type=checkbox]):not([type=radio])"
        found = self.page.evaluate(FOUND, [f".exhibit:has({boxes})", boxes, action.exhibit, action.target])
        if found is not None:
            self.did, left, top, width, height = found
            self.page.mouse.click(left + width / 2, top + height / 2, click_count=3)
            self.page.keyboard.insert_text(action.text)
            self.page.keyboard.press("Enter" if action.x < 0.7 else "Tab")

    def _wait(self, action):
        self.page.wait_for_timeout(150 * action.x)

    def _resize(self, action):
        self.page.set_viewport_size({"width": action.width, "height": 500 + int(500 * action.y)})

    def _scheme(self, action):
        self.dark = not self.dark
        self.page.emulate_media(color_scheme="dark" if self.dark else "light")

    def _motion(self, action):
        self.calm = not self.calm
        self.page.emulate_media(reduced_motion="reduce" if self.calm else "no-preference")

    def memory(self):
        """Return (bytes of the page's JavaScript heap, nodes of its documents) once its garbage is collected."""
        self.line.send("HeapProfiler.collectGarbage")
        nodes = self.line.send("Memory.getDOMCounters")["nodes"]
        return int(self.line.send("Runtime.getHeapUsage")["usedSize"]), nodes
