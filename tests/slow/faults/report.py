"""The report of many trials: a row a kind, and the seeds of what failed."""

from statistics import median

from tests.slow.faults.outcome import ENDS


def line(outcome):
    """Return one trial as a line."""
    stood = "" if outcome.standstill is None else f", stood still {outcome.standstill:.2f} s"
    notes = f": {outcome.notes}" if outcome.notes else ""
    words = [f"seed {outcome.seed:>4}  {outcome.kind:<34} {outcome.end:<12} {outcome.seconds:5.1f} s{stood}{notes}"]
    return "\n".join([*words, *(f"           ! {complaint}" for complaint in outcome.complaints)])


def table(outcomes, kinds, seconds):
    """Return the table and what failed, as text."""
    heads = ["fault", "trials", "median s", "worst s", "limit s", *ENDS]
    rows = [_row(kind, [outcome for outcome in outcomes if outcome.kind == kind.name]) for kind in kinds]
    rows = [row for row in rows if row[1] != "0"] + [_totals(outcomes)]
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    lines = [_aligned(row, widths) for row in [heads, *rows]]
    failed = [trial for trial in outcomes if trial.failed]
    again = "".join(
        f"\n  python -m tests.slow.faults --seed {trial.seed}   # {trial.kind}: {trial.end}" for trial in failed
    )
    missing = [trial for trial in outcomes if trial.end == "not here"]
    lines += [f"not tried here: {trial.kind} (seed {trial.seed}): {trial.notes}" for trial in missing]
    last = f"failed: {len(failed)}{again}" if failed else "no hang, no wrong answer, no leak"
    return "\n".join([*lines, f"{len(outcomes)} faults in {seconds:.0f} s; {last}"])


def _row(kind, outcomes):
    stood = [outcome.standstill for outcome in outcomes if outcome.standstill is not None]
    figures = [f"{median(stood):.2f}", f"{max(stood):.2f}"] if stood else ["–", "–"]
    return [kind.name, str(len(outcomes)), *figures, f"{kind.limit:g}" if kind.limit else "–", *_ends(outcomes)]


def _totals(outcomes):
    return ["all", str(len(outcomes)), "", "", "", *_ends(outcomes)]


def _ends(outcomes):
    return [str(sum(outcome.end == end for outcome in outcomes) or "·") for end in ENDS]


def _aligned(row, widths):
    words = [word.rjust(width) for word, width in zip(row, widths, strict=True)]
    return "  ".join([row[0].ljust(widths[0]), *words[1:]])
