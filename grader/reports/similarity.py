"""The similarity report: whose answers are more alike than the task explains. Alike is not copied: a person looks.

Winnowing (Schleimer, Wilkerson, Aiken 2003): an answer becomes a row of words in which every name, number and text of
the student's own is one sign; of its runs of `RUN` words some are kept as fingerprints. Passages of the release, and
those that much of the class shares, don't count; the report says how many, and which students share the same of them,
since a large group that copied looks like a habit of the class. Comments, layout, names and parentheses don't matter.

JPlag does more and needs Java on the machine that grades; these eighty lines need nothing.
"""

import hashlib
import keyword
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from grader.classroom import atomic
from grader.runs.assignment import Assignment
from grader.runs.grade import standing
from grader.runs.results import read_result

RUN = 9  # words; shorter runs are alike by chance
WINDOW = 4
COMMON = 0.25  # share of the class from which on a run is common
FEWEST = 6  # fingerprints of one's own, below which nothing is said
PRINTED = 20  # lines
_WORD = re.compile(
    r"#[^\n]*|(?P<text>[rbfuRBFU]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"))"
    r"|(?P<number>\d[\w.]*)|(?P<name>[^\W\d]\w*)|(?P<sign>[^\w\s])",
    re.S,
)


@dataclass(frozen=True)
class Pair:
    """Two students' answers to one lab: the `share` (0 to 1) of the smaller one's fingerprints that both have."""

    first: str
    second: str
    share: float
    common: int


@dataclass(frozen=True)
class Likeness:
    """The likeness of a class's answers: the `pairs` much alike, the most alike first, and their `clusters`.

    `clusters`: students each of whom is in a pair with another of them. `dropped`: passages left out as common, which
    more than `many` students have. `together`: groups that share exactly the same of these, and how many passages.
    """

    pairs: tuple[Pair, ...]
    clusters: tuple[tuple[str, ...], ...] = ()
    dropped: int = 0
    many: float = 0
    together: tuple[tuple[int, tuple[str, ...]], ...] = ()


def lines(assignment: Assignment, least: float = 0.5) -> list[str]:
    """Return the report on the answers that count as lines; `least`: the share from which on two are alike."""
    course, lab = assignment.course, assignment.lab
    graded, _ = standing(assignment)
    answers = {}
    for student_marks in graded:
        result = read_result(course, lab.name, student_marks.student, student_marks.sha)
        if result is not None:
            answers[student_marks.student] = "\n".join(
                cell["text"] for cell in result.marks.cells if cell["type"] == "code" and not cell["given"]
            )
    released = "\n".join(cell.text for cell in lab.source.cells if cell.type == "code")
    return report(similar(answers, released, least), len(answers))


def tell(assignment: Assignment, least: float = 0.5) -> list[str]:
    """Return what is printed of the report: its `PRINTED` first lines; where there are more, a file has them all."""
    every = lines(assignment, least)
    if len(every) <= PRINTED:
        return every
    path = assignment.course.records / "similarity" / f"{assignment.lab.name}.txt"
    atomic.write(path, "\n".join([*every, ""]))
    return [*every[:PRINTED], f"… and {len(every) - PRINTED} more lines: all are in {path}."]


def similar(answers: Mapping[str, str], released: str = "", least: float = 0.5) -> Likeness:
    """Return the `Likeness` of `answers`, student -> source text: its pairs share at least `least`.

    `released`: the release's text, which everybody has.
    """
    of_release = fingerprints(released)
    prints = {student: fingerprints(text) - of_release for student, text in answers.items()}
    holders = defaultdict(list)
    for student, own_prints in sorted(prints.items()):
        for print_ in own_prints:
            holders[print_].append(student)
    many = max(3, COMMON * len(prints))
    common = {print_: tuple(names) for print_, names in holders.items() if len(names) > many}
    own = {student: len(own_prints - common.keys()) for student, own_prints in prints.items()}
    comparable = {student: count for student, count in own.items() if count >= FEWEST}
    rare = ([name for name in names if name in comparable] for print_, names in holders.items() if print_ not in common)
    both = Counter(pair for names in rare for pair in combinations(names, 2))
    pairs = [Pair(a, b, n / min(comparable[a], comparable[b]), n) for (a, b), n in both.items()]
    pairs = sorted((p for p in pairs if p.share >= least), key=lambda p: (-p.share, -p.common, p.first, p.second))
    together = Counter(names for names in common.values() if len(names) < len(prints))
    groups = sorted(((n, names) for names, n in together.items() if n >= FEWEST), reverse=True)
    return Likeness(tuple(pairs), _clusters(pairs), len(common), many, tuple(groups))


def _clusters(pairs):
    """Return the students that pairs connect, the largest group first."""
    group = {}
    for pair in pairs:
        joined = group.get(pair.first, {pair.first}) | group.get(pair.second, {pair.second})
        group.update(dict.fromkeys(joined, joined))
    clusters = {tuple(sorted(members)) for members in group.values()}
    return tuple(sorted(clusters, key=lambda members: (-len(members), members)))


def fingerprints(text: str) -> set[int]:
    """Return the set of fingerprints of source `text`. It is read as words; nothing of it is parsed or run."""
    words = list(_words(text[:200_000]))
    runs = [_sign(" ".join(words[i : i + RUN])) for i in range(len(words) - RUN + 1)]
    return {min(runs[i : i + WINDOW]) for i in range(max(1, len(runs) - WINDOW + 1))} if runs else set()


def report(likeness: Likeness, of: int) -> list[str]:
    """Return the likeness as lines of text; `of`: how many students were compared."""
    pairs = likeness.pairs
    sentences = [f"{of} students compared; pairs that are much alike: {len(pairs)}. Alike is not copied: read both."]
    sentences += [f"{p.share:4.0%}  {p.first}  {p.second}  ({p.common} passages)" for p in pairs]
    sentences += [
        f"a group of {len(cluster)}: {', '.join(cluster)}" for cluster in likeness.clusters if len(cluster) > 2
    ]
    many = f"more than {likeness.many:g} of {of} students have each of them"
    sentences.append(f"{likeness.dropped} passages were left out as common: {many}.")
    sentences += [
        f"  {n} of them are the same {len(names)} students': {', '.join(names)}" for n, names in likeness.together
    ]
    return sentences


def _words(text):
    for token in _WORD.finditer(text):
        kind = token.lastgroup
        if kind == "name":
            # a name says what it is for; which name it is says nothing, unless it is the language's
            yield token.group() if keyword.iskeyword(token.group()) else "a"
        elif kind is not None and token.group() not in "()":  # those that change nothing can stand anywhere
            yield {"text": "'", "number": "1"}.get(kind, token.group())


def _sign(words):
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=8).digest(), "little")
