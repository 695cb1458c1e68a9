"""`make conformance`: every op of torch's database on both devices, in every way; it writes a page of docs."""

import os
import time
from collections import Counter
from pathlib import Path

import click
import torch

from tests.slow.conformance.operators.shares import Walk, walked
from tests.slow.conformance.operators.table import QUICK, counted, page
from tests.slow.conformance.operators.walk import DIFFERS
from tests.slow.conformance.operators.ways import DTYPES, WAYS

PAGE = Path(__file__).resolve().parents[4] / "docs" / "operators_of_torch.md"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--most", default=3, show_default=True, help="Samples of an op and way in float32; a third in others.")
@click.option("--way", "ways", multiple=True, default=WAYS, help="Only this way.")
@click.option("--dtype", "dtypes", multiple=True, default=tuple(DTYPES), help="Only this dtype.")
@click.option("--parts", default=os.cpu_count() or 1, show_default=True, help="Processes.")
@click.option("--write/--no-write", default=True, help="Write the page.")
def main(most, ways, dtypes, parts, write):
    """Say each difference; exit with 1 when there is one."""
    began, verdicts = time.monotonic(), []
    for verdict in walked(Walk(tuple(ways), tuple(dtypes), most), parts):
        verdicts.append(verdict)
        if len(verdicts) % 1000 == 0:
            click.echo(f"{len(verdicts)} verdicts in {time.monotonic() - began:.0f} s")
        if verdict.verdict == DIFFERS:
            click.echo(f"{verdict.op}, {verdict.way}, {verdict.dtype}: {verdict.reason}")
    click.echo(f"{counted(Counter(verdict.verdict for verdict in verdicts))} in {time.monotonic() - began:.0f} s")
    if write:
        quick = walked(Walk(QUICK, ("float32",), 1), parts)
        PAGE.write_text(page(verdicts, quick, torch.__version__.partition("+")[0], most), encoding="utf-8")
        click.echo(f"written: {PAGE}")
    raise SystemExit(1 if any(verdict.verdict == DIFFERS for verdict in verdicts) else 0)


if __name__ == "__main__":
    main(prog_name="python -m tests.slow.conformance.operators")
