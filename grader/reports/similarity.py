"""The similarity report: whose answers are more alike than the task explains. Alike is not copied: a person looks.

Winnowing (Schleimer, Wilkerson, Aiken 2003): an answer becomes a row of words in which every name, number and text of
the student's own is one sign; of its runs of `RUN` words some are kept as fingerprints. What the release gives, and
what much of the class shares, counts for nothing. Comments, layout and names don't matter.

JPlag does the same and more, and wants Java on the machine that grades: eighty lines here want nothing.
"""

import hashlib
import keyword
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from grader.runs.assignment import Assignment
from grader.runs.grade import standing
from grader.runs.results import read_result

RUN = 9  # words; shorter runs are alike by chance
WINDOW = 4
COMMON = 0.25  # share of the class from which on a run is common
FEWEST = 6  # fingerprints of one's own, below which nothing is said
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


def lines(assignment: Assignment, least: float = 0.5) -> list[str]:
    """Return the report on the answers that count as lines; `least`: the share from which on two are alike."""
    course, lab = assignment.course, assignment.lab
    graded, _ = standing(assignment)
    answers = {}
    for one in graded:
        result = read_result(course, lab.name, one.student, one.sha)
        if result is not None:
            answers[one.student] = "\n".join(
                cell["text"] for cell in result.marks.cells if cell["type"] == "code" and not cell["given"]
            )
    given = "\n".join(cell.text for cell in lab.source.cells if cell.type == "code")
    return report(similar(answers, given, least), len(answers))


def similar(answers: Mapping[str, str], given: str = "", least: float = 0.5) -> list[Pair]:
    """Return the `Pair`s that share at least `least`, the most alike first. `answers`: student -> source text.

    `given`: the release's text, which everybody has.
    """
    prints = {student: fingerprints(text) for student, text in answers.items()}
    everyone = Counter(one for found in prints.values() for one in found)
    many = max(3, COMMON * len(prints))
    free = fingerprints(given) | {one for one, count in everyone.items() if count > many}
    own = {student: found - free for student, found in prints.items() if len(found - free) >= FEWEST}
    holders = defaultdict(list)
    for student, found in own.items():
        for one in found:
            holders[one].append(student)
    common = Counter(pair for names in holders.values() for pair in combinations(sorted(names), 2))
    pairs = [Pair(a, b, n / min(len(own[a]), len(own[b])), n) for (a, b), n in common.items()]
    return sorted((p for p in pairs if p.share >= least), key=lambda p: (-p.share, -p.common, p.first, p.second))


def fingerprints(text: str) -> set[int]:
    """Return the set of fingerprints of source `text`. It is read as words; nothing of it is parsed or run."""
    words = list(_words(text[:200_000]))
    runs = [_sign(" ".join(words[i : i + RUN])) for i in range(len(words) - RUN + 1)]
    return {min(runs[i : i + WINDOW]) for i in range(max(1, len(runs) - WINDOW + 1))} if runs else set()


def report(pairs: Sequence[Pair], of: int) -> list[str]:
    """Return the pairs as lines of text; `of`: how many students were compared."""
    head = f"{of} students compared; pairs that are much alike: {len(pairs)}. Alike is not copied: read both."
    return [head, *(f"{p.share:4.0%}  {p.first}  {p.second}  ({p.common} passages)" for p in pairs)]


def _words(text):
    for found in _WORD.finditer(text):
        kind = found.lastgroup
        if kind == "name":
            # a name says what it is for; which name it is says nothing, unless it is the language's
            yield found.group() if keyword.iskeyword(found.group()) else "a"
        elif kind is not None:
            yield {"text": "'", "number": "1"}.get(kind, found.group())


def _sign(words):
    return int.from_bytes(hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=8).digest(), "little")
