"""The verdicts of all ops as a page: counts by way and dtype, then what is refused, and why."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.slow.conformance.operators.walk import AGREES, ALONE, APART, BEYOND, DIFFERS, REFUSED, SAME, Verdict

VERDICTS = (AGREES, ALONE, SAME, REFUSED, BEYOND, APART, DIFFERS)
TOP = """# Operators: what agrees on a simulated GPU

Torch tests itself by a database of its operators, with sample arguments for each. Here each op is called on the CPU and
on a simulated `cuda` from the same numbers: by position, by keyword, with `out=` of the right size and of none, in
place, as a method, on memory with gaps, with gradients, and wrongly. Values, dtype, shape, strides, device,
flags and what was written to the arguments are compared; of random results, all but the numbers. `make conformance`
made this page with torch {torch}, samples of each op and way in float32: {most}, in other dtypes a
third of that, one at least.

- **agrees**: the CPU's result, where CUDA leaves it; a wrong call raises the error that torch's tests expect of CUDA.
- **CUDA's alone**: CUDA has the dtype and the CPU lacks it; the numbers are the CPU's in a wider one, within rounding.
- **same refusal**: the CPU refuses it as well, by an error of the same kind.
- **refused**: the CPU has it, simulated GPUs say that they don't; below, with the reason.
- **beyond CUDA**: it agrees with the CPU, but torch's tests say that CUDA lacks the dtype.
- **torch's own fault**: the CPU's outcome is not the one to reach; below, with the reason.
- **differs**: anything else. There must be none.

In all: {all}.

Of these `make long` calls one sample each by position, with `out=` and in place, in float32: {quick}.

Apart from these, `make fuzz` draws functions of torch and methods of a tensor, and calls them with odd arguments: other
types and sizes, numbers at the edges of int64, tensors in other places or of a simulation that has ended, some in
another thread. Half of the results are used: handed out, written to, saved, their storage made larger. Meanwhile
glibc checks the heap. On 23 November 2026, with torch 2.13.0, 435,000 calls of eight seeds were made:
122,325 gave a result, 312,499 were refused, 175 were left out. One failed inside simgpu, another harmed the heap by
torch's own fault, and a third gave more numbers than the fuzz can read. The first was mended, the second is left out
and the third isn't read any more; the repeated calls, and those around them, ended as they should. Six functions are
left out with arguments that harm torch alone on the CPU: `tests/slow/conformance/fuzz/harmful.py` lists them, with the
reasons.

"""
#: The ways in which `make long` calls each op.
QUICK = ("positional", "out", "in place")


def page(verdicts: Iterable[Verdict], quick: Iterable[Verdict], torch: str, most: int) -> str:
    """Return the page as Markdown; `quick` are the verdicts of `QUICK` with one sample each, in float32."""
    every = list(verdicts)
    total = Counter(verdict.verdict for verdict in every)
    counts: dict[tuple, Counter] = defaultdict(Counter)
    for verdict in every:
        counts[verdict.way, verdict.dtype][verdict.verdict] += 1
    rows = [[way, dtype, *(str(row[name]) for name in VERDICTS)] for (way, dtype), row in sorted(counts.items())]
    parts = [
        TOP.format(torch=torch, most=most, all=counted(total), quick=quick_counts(quick)),
        markdown(["way", "dtype", *VERDICTS], rows),
        "\n## What is refused, and what is torch's own fault\n\n",
        markdown(["op", "verdict", "ways", "reason"], reasons(every, (REFUSED, APART, DIFFERS))),
        "\n## Beyond CUDA\n\n",
        markdown(["dtype", "ops"], beyond(every)),
    ]
    return "".join(parts)


def quick_counts(verdicts: Iterable[Verdict]) -> str:
    """Return how many verdicts there are of each kind, in words."""
    return counted(Counter(verdict.verdict for verdict in verdicts))


def counted(total: Counter) -> str:
    """Return counts of verdicts in words.

    >>> counted(Counter({"agrees": 1200, "differs": 0}))
    '1,200 agrees, 0 CUDA’s alone, 0 same refusal, 0 refused, 0 beyond CUDA, 0 torch’s own fault, 0 differs'
    """
    return ", ".join(f"{total[name]:,} {name.replace(chr(39), chr(0x2019))}" for name in VERDICTS)


def reasons(verdicts: Sequence[Verdict], which: Sequence[str]) -> list[list[str]]:
    """Return a row for each op and reason: the op, the verdict, its ways and dtypes, the reason."""
    groups: dict[tuple, list[str]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.verdict in which:
            groups[verdict.op, verdict.verdict, verdict.reason].append(f"{verdict.way} {verdict.dtype}")
    return [
        [f"`{op}`", verdict, ", ".join(ways) if len(ways) < 4 else f"{len(ways)} ways", reason.replace("|", "\\|")]
        for (op, verdict, reason), ways in sorted(groups.items())
    ]


def beyond(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """Return a row for each dtype with the ops that run in it here, and not on CUDA."""
    groups: dict[str, set[str]] = defaultdict(set)
    for verdict in verdicts:
        if verdict.verdict == BEYOND:
            groups[verdict.dtype].add(verdict.op)
    return [[dtype, ", ".join(f"`{op}`" for op in sorted(ops))] for dtype, ops in sorted(groups.items())]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table.

    >>> print(markdown(["a", "b"], [["1", "2"]]), end="")
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [head, ["---"] * len(head), *rows]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    return text.replace("| --- " * len(head) + "|", "|---" * len(head) + "|")
