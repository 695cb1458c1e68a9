"""The attacks that apply to other graders, marked here and by them in one run: who is fooled by what, as a page."""

import datetime
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.submissions import LABS, LIFE, Notebook, attack, honest, lab_called
from tests.slow.attacks.families.catalogue import ATTACKS
from tests.slow.attacks.peers import cage
from tests.slow.attacks.peers.exercises import EXERCISES, assignment, handed_in
from tests.slow.attacks.table import marked

PAGE = cage.ROOT / "docs" / "attacks.md"

#: Those that want marks by what any grader has: values that are compared, clocks, memory.
FOR_MARKS = (
    "cached replay of the first answer",
    "a lazy tensor subclass",
    "patched timers and events",
    "a garbage-collector hunt for the expected value",
    "an object that equals everything",
    "a subclass of arrays that equals everything",
    "an array of objects that equal everything",
    "a number that is every number",
    "numpy's comparisons patched",
    "builtins patched",
    "numpy itself replaced in the cell of imports",
    "an exit that says all went well",
    "asking to be skipped",
    "the arguments changed so that they are the answer",
    "a clock of one's own in a race",
    "right on small boards, and quick with nothing on those that are timed",
)
#: Those that want what lies beside the grader. Otter grades in a container, which is not tried here.
FOR_FILES = (
    "writing to the gradebook, the marks, another's work",
    "the class's secret and the best student's work, by path",
)
#: What must come out right, or the comparison says nothing: full marks, and none.
CONTROLS = (
    honest("the lab's own solutions")(lambda notebook: None),
    attack("the release as it is, unanswered")(lambda notebook, host: None),
)


@dataclass(frozen=True)
class Row:
    """One submission: the points it deserves for the three exercises, what each grader gave, and who was reached."""

    name: str
    deserved: float
    given: dict
    reached: frozenset


def compare(say: Callable, only: str = "") -> list[Row]:
    """Mark the attacks with `only` in their names here and by each peer; return the rows, the controls first.

    Raises RuntimeError where a control comes out wrong.
    """
    by_name = {one.name: one for one in ATTACKS}
    chosen = [by_name[name] for name in (*FOR_MARKS, *FOR_FILES) if only in name]
    everything = [*CONTROLS, *chosen]
    given, reached = {one.name: {} for one in everything}, {one.name: set() for one in everything}
    for one in everything:
        with tempfile.TemporaryDirectory() as folder:
            found = marked(one, folder)
        given[one.name]["here"] = sum(found.marks.exercise(name).score for name in EXERCISES)
        reached[one.name] |= {"here"} if any("touched" in line for line in found.complaints) else set()
        say(f"here: {one.name}: {given[one.name]['here']:g}")
    work = assignment(LABS / LIFE)
    for peer in cage.PEERS:
        files = [one for one in chosen if one.name in FOR_FILES and peer == "nbgrader"]
        for group in ([one for one in everything if one.name not in FOR_FILES], *([one] for one in files)):
            with tempfile.TemporaryDirectory(prefix="peer-") as folder:
                names = {f"student{number:02}": one for number, one in enumerate(group)}
                builds = {student: _builder(one) for student, one in names.items()}
                scores, touched = cage.scores(peer, work, builds, folder)
            for student, one in names.items():
                given[one.name][peer] = sum(scores.get(student, {}).values())
                if touched and one.name in FOR_FILES:
                    reached[one.name].add(peer)
                say(f"{peer}: {one.name}: {given[one.name][peer]:g}")
    rows = [Row(one.name, _deserved(one), given[one.name], frozenset(reached[one.name])) for one in everything]
    wrong = [row for row in rows[: len(CONTROLS)] if any(points != row.deserved for points in row.given.values())]
    if wrong:
        raise RuntimeError(f"the comparison says nothing: {wrong}")
    return rows


def _builder(one):
    def build(host):
        lab = lab_called(one.lab)
        notebook = Notebook(lab)
        one.build(notebook, host)
        return handed_in(notebook, Notebook(lab))

    return build


def _deserved(one):
    wanted = one.wanted(lab_called(one.lab))
    return sum(wanted[name] for name in EXERCISES)


def write_page(rows: list[Row], versions: dict[str, str], path: Path = PAGE) -> None:
    """Write `PAGE` to `path`, the rows in place of its table; `versions`: of each peer, as `cage.install` returns them.

    The sentence that counts who was fooled is written anew, too; all other text stays.
    """
    graders = ["here", *versions]
    cells = [[row.name, f"{row.deserved:g}", *(_cell(row, who) for who in graders)] for row in rows]
    fooled = {who: sum("**" in _cell(row, who) for row in rows) for who in graders}
    tried = {who: sum(who in row.given for row in rows[len(CONTROLS) :]) for who in fooled}
    heads = ["this course", *(f"{name} {version}" for name, version in versions.items())]
    counts = "; ".join(f"{head}: {fooled[who]} of {tried[who]}" for head, who in zip(heads, fooled, strict=True))
    lines = [
        f"| {' | '.join(one)} |" for one in (["submission", "deserves", *heads], ["---"] * (2 + len(heads)), *cells)
    ]
    day = datetime.date.today().isoformat()
    summary = f"Fooled or reached, of the attacks tried: {counts}. Run on {day}."
    before, _, after = PAGE.read_text(encoding="utf-8").partition("Fooled or reached, of")
    path.write_text("\n".join([f"{before}{summary}\n", *lines, "", after[after.index("## ") :]]), encoding="utf-8")


def _cell(row, who):
    if who not in row.given:
        return "–"
    if who in row.reached:
        return "**reached**"
    points = row.given[who]
    return f"**fooled: {points:g}**" if points > row.deserved + 1e-9 else f"{points:g}"
