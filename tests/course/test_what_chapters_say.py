"""What the text says of numbers that a chapter shows: read in the committed outputs, and held to what makes it true.

A chapter prints the number, or the two values, and its text says what that means. Here stands what must hold of them.
"""

import re
from html import unescape
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def zero(found):
    return float(found) == 0


def alike(one, other):
    return one == other


def up_to(most):
    return lambda found: float(found) <= most


def at_least(least):
    return lambda found: float(found) >= least


def rising(*found):
    return [*map(float, found)] == sorted(map(float, found))


#: (chapter, how often, a pattern of a printed line, what must hold of the groups in it)
SAID = [
    ("03_game_of_life", 2, r"cells that differ: (\d+)", zero),
    ("03_game_of_life", 1, r"moved one down and one right: (\d+)", zero),
    ("03_game_of_life", 5, r"^\w+ +(\d+) cells differ", zero),
    ("03_game_of_life", 1, r"in row 1, column 3: +([01]{64})\nevery second cell of column 3: +([01]{64})", alike),
    ("04_mapreduce_mean", 4, r"part\(s\): off by (\S+)", zero),
    (
        "04_mapreduce_mean",
        3,
        r"^(\[\('the', .*\])$",
        lambda words: words == "[('the', 6), ('on', 3), ('cat', 2), ('sat', 2)]",
    ),
    ("05_distributed_pi", 1, r"([\d,]+) inside, though a server died\n([\d,]+) inside, in one process", alike),
    ("05_distributed_pi", 1, r"(\d+) bytes out, \d+ back", up_to(99)),
    ("06_async_regression", 6, r"off by (\S+) standard errors", up_to(2.9)),
    ("06_async_regression", 4, r"apart.* by (\S+)$", zero),
    ("06_async_regression", 1, r"gradients, asynchronous: (\d+)%", up_to(33)),
    ("06_async_regression", 1, r"place k: +(\[.*\])\napplied gradients of worker k: +(\[.*\])", alike),
    ("06_async_regression", 3, r"(\d+) acknowledged ≤ (\d+) applied ≤ (\d+) sent", rising),
    ("06_async_regression", 1, r"step (\d+); went on from", at_least(500)),
    (
        "06_async_regression",
        1,
        r"lost after step (\d+); went on .* of step (\d+)",
        lambda lost, of: rising(400, of, lost),
    ),
    ("06_async_regression", 1, r"(/job:ps/task:0[\s\S]*checkpoint_dir)", bool),
    ("07_replicas_mnist", 1, r"differ from a @ b: (\d+)", zero),
    ("07_replicas_mnist", 1, r"\(first \+ second\) / 2 +off by (\S+) at most", at_least(0.001)),
    ("07_replicas_mnist", 1, r"by share +off by (\S+) at most", zero),
    ("07_replicas_mnist", 1, r"differ from the master's: \[(\d+), 0\]", zero),
    ("07_replicas_mnist", 1, r"^at most (\S+)$", zero),
    ("07_replicas_mnist", 1, r"after 50 updates at most (\S+)", zero),
    ("07_replicas_mnist", 1, r"on the CPU are at most (\S+) away", zero),
    ("07_replicas_mnist", 1, r"^held out: (\d+)% right", at_least(90)),
    ("07_replicas_mnist", 1, r"two ranks' parameters are apart by (\S+)", zero),
    ("07_replicas_mnist", 1, r"at most (\S+) from the synchronous server's", zero),
    ("08_serving", 1, r"(\d+) of 1,000 held-out digits", at_least(800)),
    ("09_beyond_one_machine", 1, r"hello' after (\S+) ms", at_least(50)),
    ("09_beyond_one_machine", 5, r"at least (\d+) ms, the quickest round (\S+) ms", rising),
    ("09_beyond_one_machine", 1, r"the server knew it after (\S+) s", up_to(2)),
    ("09_beyond_one_machine", 1, r"the cut: worker (?:counted out|lost) (/job:worker/task:1)", bool),
    ("09_beyond_one_machine", 1, r"the cut: worker joined (/job:worker/task:1)", bool),
    ("09_beyond_one_machine", 1, r"degraded updates: (\d+)", at_least(1)),
]


def printed(name):
    """Return all that chapter `name` prints, one output after the other, and what it prints behind answers."""
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return "\n".join(line.rstrip("\n") for output in outputs for line in words_of(output)) + "\n"


def words_of(output):
    """Return what an output prints: a stream's text, and of an answer what lies behind it."""
    if output.output_type == "stream":
        return [output.text]
    return map(
        unescape, re.findall(r'<div class="shown"><pre>(.*?)</pre>', output.get("data", {}).get("text/html", ""), re.S)
    )


def broken(text, often, pattern, holds):
    """Return why `text` does not bear out a statement, "" where it does."""
    found = [match.groups() for match in re.finditer(pattern, text, re.MULTILINE)]
    if len(found) != often:
        return f"{pattern!r} stands {len(found)} times in the outputs; the text speaks of {often}"
    wrong = [groups for groups in found if not holds(*groups)]
    return f"{pattern!r} found {wrong}" if wrong else ""


@pytest.mark.parametrize(("name", "often", "pattern", "holds"), SAID, ids=[f"{s[0][:2]}-{s[2][:30]}" for s in SAID])
def test_the_committed_output_bears_out_the_text(name, often, pattern, holds):
    assert not broken(printed(name), often, pattern, holds)


def test_a_number_that_does_not_bear_out_the_text_is_noticed():
    assert not broken("cells that differ: 0\n", 1, r"differ: (\d+)", zero)
    assert "[('3',)]" in broken("cells that differ: 3\n", 1, r"differ: (\d+)", zero)
    assert "0 times" in broken("True\n", 1, r"differ: (\d+)", zero)
    assert "found" in broken("9 ≤ 8\n", 1, r"(\d) ≤ (\d)", rising)
    assert not broken("8 ≤ 8\n", 1, r"(\d) ≤ (\d)", rising)


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("0*.ipynb")))
def test_no_chapter_shows_a_verdict_instead_of_a_number(name):
    said = [line for line in printed(name).splitlines() if re.search(r": \[?(True|False)\b(?!\))", line)]
    assert not said, "print the number, the message or the two values; what must hold of them stands in SAID"
