"""`python -m benchmarks [TOPIC …]`: hold the topics' contests, print the figures, write them as JSON and as a page.

Its exit status is said by `--help`.
"""

import importlib
import sys
import time
from pathlib import Path

import click

from benchmarks import machine, peers_environment, report, whole_file
from benchmarks.against import compared
from benchmarks.contest import LEFT_OUT, held
from benchmarks.page import page
from benchmarks.places import ROOT, Places
from course.signals import held_back

_TOPICS = Path(__file__).parent / "topics"
#: Topic -> its module; topics of one kind may have a room of their own.
TOPICS = {
    path.stem: ".".join(("benchmarks", "topics", *path.relative_to(_TOPICS).with_suffix("").parts))
    for path in sorted(_TOPICS.rglob("[a-z]*.py"), key=lambda path: path.stem)
}
#: Whole programs, trainings and faults take as long as they take: a quick run has these topics where they are named.
LONG = ("checkpoint", "grading", "recovery", "tuning")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("topics", nargs=-1, metavar="[TOPIC]…", type=click.Choice(list(TOPICS)))
@click.option(
    "--quick", is_flag=True, help="Smaller sizes, fewer rounds, without the topics that take long: three minutes."
)
@click.option("--peers", is_flag=True, help="First install what we are compared with into build/peers.")
@click.option("--against", type=click.Path(path_type=Path), metavar="FILE", help="Say what got slower since this JSON.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "build" / "bench",
    metavar="FOLDER",
    help="Where bench.json and bench.html are written: build/bench.",
)
def main(topics, quick, peers, against, out):
    """Measure each TOPIC beside its peers and its limit; without one all of them, with --quick those that are short.

    Exit status: 0 when all was measured; 1 when something of ours got slower than in --against, beyond noise; 2 for a
    wrong command line; 3 when one of ours gave no figure, or a wrong answer; 130 when it was interrupted (Ctrl-C),
    which leaves the files as they were.
    """
    before = None
    if against:
        try:
            before = report.read(against)
        except report.NotAReport as problem:
            raise click.UsageError(str(problem)) from None
        if before["quick"] != quick:
            kind, remedy = ("a quick run", "add") if before["quick"] else ("a whole run", "leave out")
            raise click.UsageError(
                f"--against {against}: that was {kind}, of other sizes than this one: {remedy} --quick."
            )
    try:
        sys.exit(_measured(topics or [one for one in TOPICS if not (quick and one in LONG)], quick, peers, before, out))
    except KeyboardInterrupt:
        click.echo(f"\nInterrupted. {out} has no figures of this run.", err=True)
        sys.exit(130)


def _measured(topics, quick, peers, before, out):
    """Measure, print and write; return the exit status."""
    if peers:
        peers_environment.install(click.echo)
    places = Places(out)
    began, about, busy, before_it = time.monotonic(), machine.about(), [], machine.busy()
    for line in _head(about, quick):
        click.echo(line)
    results = []
    for topic in topics:
        results += _topic(topic, quick, places)
        after_it = machine.busy()
        busy.append({"topic": topic, **after_it, "used": max(before_it["used"], after_it["used"])})
        before_it = after_it
    told = {"version": 2, "quick": quick, "machine": about, "versions": _versions(results), "busy": busy}
    told |= {"seconds": round(time.monotonic() - began, 1), "results": results}
    return _finish(told, before, out)


def _head(about, quick):
    yield f"{about['processor']}, {about['cores']} cores, {about['vectors']}, {about['system']}"
    yield f"Python {about['python']}, commit {about['commit'] or 'unknown'}, {about['date']}"
    if quick:
        yield "quick: smaller sizes, fewer rounds, without the peers that are slow to start; so the figures are rough"
        yield f"(a quick run has {', '.join(LONG)} only where they are named)"
    yield "● ours  ○ peer  | limit; the best of the rounds, and its ratio to the limit (or to the first peer)"


def _topic(topic, quick, places):
    module, began, found = importlib.import_module(TOPICS[topic]), time.monotonic(), []
    click.echo(f"\n{topic}: {module.__doc__.splitlines()[0]}")
    for contest in module.contests(quick, places):
        for result in held(topic, contest, places, click.echo, quick):
            found.append(result)
            click.echo("\n".join(report.lines(result)))
    click.echo(f"({time.monotonic() - began:.0f} s)")
    return found


def _versions(results):
    return {name: version for result in results for one in result.entries for name, version in one.versions.items()}


def _finish(told, before, out):
    for line in report.warnings(told["busy"]):
        click.echo(line)
    changes = compared(before, told) if before else []
    drawn = page(told, changes)
    with held_back():
        report.write(out / "bench.json", told)
        whole_file.write_text(out / "bench.html", drawn)
    for change in changes:
        if change.verdict != "as before":
            click.echo(str(change))
    click.echo(f"\n{told['seconds']:.0f} s. {out / 'bench.json'} and {out / 'bench.html'} have it all.")
    lost = [
        f"{result.title}: {one.name}: {one.problem}"
        for result in told["results"]
        for one in result.entries
        if one.kind == "ours" and one.problem != LEFT_OUT and (one.problem or not one.figures)
    ]
    for line in lost:
        click.echo(f"OURS FAILED: {line}")
    return 1 if any(change.verdict == "slower" for change in changes) else 3 if lost else 0


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
