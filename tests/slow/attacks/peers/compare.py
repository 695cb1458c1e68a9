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
        reached[one.name] |= {"here"} if any("touched" in told for told in found.complaints) else set()
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
    """Write the rows as the page at `path`; `versions`: of each peer, as `cage.install` returns them."""
    graders = ["here", *versions]
    most = max(row.deserved for row in rows)
    cells = [[row.name, f"{row.deserved:g}", *(_cell(row, who) for who in graders)] for row in rows]
    lines = [f"| {' | '.join(one)} |" for one in cells]
    fooled = {who: sum("**" in _cell(row, who) for row in rows) for who in graders}
    tried = {who: sum(who in row.given for row in rows[len(CONTROLS) :]) for who in fooled}
    heads = ["this course", *(f"{name} {version}" for name, version in versions.items())]
    told = "; ".join(f"{head}: {fooled[w]} of {tried[w]}" for head, w in zip(heads, fooled, strict=True))
    table = [f"| submission | deserves | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads), *lines]
    day = datetime.date.today().isoformat()
    path.write_text(TEXT.format(table="\n".join(table), told=told, day=day, most=f"{most:g}"), encoding="utf-8")


def _cell(row, who):
    if who not in row.given:
        return "–"
    if who in row.reached:
        return "**reached**"
    points = row.given[who]
    return f"**fooled: {points:g}**" if points > row.deserved + 1e-9 else f"{points:g}"


TEXT = """\
# Attacks: who is fooled by what

Marks can be had without work wherever a student's code runs in the same Python as the test that judges it. This page
is made by a command, from submissions that are run; nothing in the table is written by hand:

```
make attacks PEERS=1
```

It installs the other graders into `build/peers`, an environment of their own, and has each mark the same submissions
for three exercises of lab 03 (next_generation 3 points, rule_step 3, fast_step 4, half of it for speed; {most} in all).
A number is the points given; **fooled** says that they are more than the submission deserves, **reached** that it
opened or changed files of the class beside it. "–": not tried. The first two rows are the control: an honest solution
and an empty one, without which the rest would say nothing.

Fooled or reached, of the attacks tried: {told}. Run on {day}.

{table}

## What the families are

The first four are known from public contests for fast code:

- **Cached replay.** The first call works; every later one of the same shape gives the first result again. A timer that
  repeats one call is deceived; a check that asks once is, too.
- **Lazy subclass.** What comes back is an object that does the work when it is looked at, after the clock has stopped.
- **Patched timers.** Clocks and events are replaced by ones that leave out the time spent in the answer.
- **Hunts for the expected value.** The test has worked out what it will compare with: it lies in a frame, in a module,
  or in some dictionary that the garbage collector knows.

Here the first two meet questions that are each made from the last answer and from noise, timed until the bytes of the
value are there; the third a clock on the other side of a pipe; the fourth a process in which no answer is.

## How to read it

- The other graders' tests are ours, in the style of their documentation: hidden tests, the expected value worked out in
  the test, a speed as `timeit` has it, the best of five. A teacher who knows an attack can write a test against it.
- What a submission deserves is by the lab's own terms: who is wrong on the boards that are timed gets nothing for being
  right on small ones. That row says no more of the others than that their tests look at each alone.
- nbgrader is run by `nbgrader autograde`, Otter as `otter run`, which is what its container runs. Otter's container
  keeps submissions from the teacher's files; that is not tried here. It does not keep them from the test beside them.
- Neither claims more. What nbgrader says of security: students' code runs as whoever grades.
- These are attacks that any grader can meet, less one that stops the notebook's Python from answering, for which the
  others wait. `make attacks` marks some two hundred more, with the machine watched.
"""
