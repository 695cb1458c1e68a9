"""Draw docs/look/ again: `python -m tests.browser.look`, every exhibit in every state; `make look` does it."""

import io
import sys
from pathlib import Path

from PIL import Image

from tests.browser.lab_page import running_chromium
from tests.browser.look.alike import alike
from tests.browser.look.sheet import STATES, pictures, sheet

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "look"


def stored(name, state):
    """Return where the picture of an exhibit in a state lies."""
    return FOLDER / f"{name}-{state}.webp"


def main():
    """Write the pictures that differ from what is stored, and remove those of exhibits that are gone."""
    FOLDER.mkdir(exist_ok=True)
    known = set()
    with running_chromium() as browser, sheet(browser) as page:
        for state in STATES:
            for name, png in pictures(page, state):
                path = stored(name, state)
                known.add(path)
                if "--all" in sys.argv or not path.exists() or not alike(path.read_bytes(), png, state == "phone"):
                    Image.open(io.BytesIO(png)).convert("RGB").save(path, lossless=True, method=6)
                    print(path.name, flush=True)
    for path in set(FOLDER.glob("*.webp")) - known:
        path.unlink()


if __name__ == "__main__":
    main()
