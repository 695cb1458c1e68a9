"""The page's files: scripts and style sheets that an exhibit needs, and the output of which cell carries them.

A notebook carries each file once, in the first output that needs it. Other outputs name the files they need, and the
page takes them from there; where a kernel runs, it gives them to the page, too (`give.py`).
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from course.draw.picture import text_of

ROOM = "course.widgets.exhibits"
#: Stands below each exhibit: has it drawn, and says why it isn't where the page has not got its files.
CALL = """<script type="module" data-call>globalThis.courseDraw?.();
const alone = () => document.querySelectorAll(".exhibit:not([data-ready]) > .alone");
setTimeout(() => alone().forEach((one) => (one.hidden = false)), 1500);
</script>"""
_CALLS = re.compile(r'<script type="module" data-call>.*?</script>', re.S)
_CARRIED = re.compile(r'<script type="[a-z/]+" data-file="([^"]+)">.*?</script>\n', re.S)
_NEEDED = re.compile(r'data-files="([^"]+)"')


@dataclass(frozen=True)
class PageFile:
    """A script or a style sheet: the file called `name` in `package`."""

    package: str
    name: str

    @cached_property
    def text(self) -> str:
        """Its text. ValueError for one that would end the element in which it stands."""
        text = text_of(self.package, self.name)
        if "</script" in text or "<!--" in text:
            raise ValueError(f"{self.package}/{self.name}: holds </script or <!--, which a page reads as its own.")
        return text

    @cached_property
    def label(self) -> str:
        """Its name in the page, which another version does not share."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:8]
        return f"{self.package.removeprefix('course.')}/{self.name}#{digest}"

    @property
    def html(self) -> str:
        """The element that carries it in an output; only the loader runs where it stands."""
        kind = "module" if self == LOADER else "text/plain"
        return f'<script type="{kind}" data-file="{self.label}">{self.text}</script>\n'


LOADER = PageFile(ROOM, "loader.js")


def files_of(*names: str, room: str = ROOM) -> tuple[PageFile, ...]:
    """Return the files `names` of a `room`, or of one beside it ("bets/kept.js")."""
    beside = ROOM.rpartition(".")[0]
    places = (name.rpartition("/") for name in names)
    return tuple(PageFile(f"{beside}.{other}" if other else room, name) for other, _, name in places)


def labels(files: Iterable[PageFile]) -> str:
    """Return the labels of `files` as an element's attribute has them."""
    return " ".join(file.label for file in files)


def files_needed(html: str) -> list[str]:
    """Return, of each exhibit in an output's `html`, the labels of the files that it needs, in one text."""
    return _NEEDED.findall(html)


def with_files_needed(html: str, needed: Iterable[str]) -> str:
    """Return an output's `html` with other files `needed` by its exhibits, as `files_needed` gives them."""
    following = iter(needed)
    return _NEEDED.sub(lambda _: f'data-files="{next(following)}"', html)


def with_one_copy(html: str, carried: set[str]) -> str:
    """Return an output's `html` with the files that it needs, as they are now, and that are not `carried` above it.

    The files that it carried before are taken out. `carried` (labels) gets those that it carries.
    """

    lists = [labels(map(_file, needed.split())) for needed in files_needed(html)]
    bare = _CALLS.sub(lambda _: CALL, with_files_needed(_CARRIED.sub("", html), lists))
    needed = dict.fromkeys(label for needed in lists for label in needed.split())
    fresh = [label for label in [*needed, *([LOADER.label] if needed else [])] if label not in carried]
    carried.update(fresh)
    return bare.replace(CALL, "".join(_file(label).html for label in fresh) + CALL, 1)


def carried_in(html: str) -> list[str]:
    """Return the labels of the files that an output carries, in order."""
    return _CARRIED.findall(html)


def _file(label):
    package, _, name = label.partition("#")[0].rpartition("/")
    return PageFile(f"course.{package}" if package.startswith("widgets") else package, name)
