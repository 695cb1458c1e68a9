"""What a run measured, as lines for a terminal and as JSON: written, read back, held to its schema."""

import dataclasses
import json
from functools import cache
from pathlib import Path

import fastjsonschema

from benchmarks import machine, whole_file
from benchmarks.figures import Entry, Result, Target

SCHEMA = Path(__file__).with_name("schema.json")
SIGNS = {"ours": "●", "peer": "○", "limit": "|"}


class NotAReport(ValueError):
    """A file that is no benchmark's JSON: the text says why."""


def lines(result: Result) -> list[str]:
    """Return a result as text: a line a contestant, one a target."""
    told, reference = [heading(result)], result.reference()
    for one in result.entries:
        told.append(f"  {SIGNS[one.kind]} {one.name:<46} {_figures(result, one, reference)}")
    return told + [f"    {line}" for line in target_lines(result)]


def heading(result: Result) -> str:
    """Return a result's title with its unit, threads and rounds."""
    better = "" if result.better == "more" else ", less is better"
    threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
    return f"{result.title}: {result.unit}{better}; {threads}, {result.rounds} rounds"


def target_lines(result: Result) -> list[str]:
    """Return a line for each target: what is to be kept, what is, and the verdict."""
    told = []
    for target in result.targets:
        kept, figure = result.kept(target), result.best(target.ours)
        if target.beside:
            spread = result.ratio(target.ours, target.beside)
            figure = spread.best if spread else None
        verdict = {True: "kept", False: "MISSED", None: "can't be told"}[kept]
        told.append(f"target {target.ours} {target}: {short(figure)} {verdict}")
    return told


def warnings(busy: list[dict]) -> list[str]:
    """Return a line for each topic before or after which others used more of the machine than `machine.BUSY`."""
    return [
        f"WARNING: before or after {one['topic']} others used {one['used']:.0%} of the machine: its figures are rough"
        for one in busy
        if one["used"] > machine.BUSY
    ]


def _figures(result, one, reference):
    if not one.figures:
        return one.problem or "no figure"
    text = f"{short(result.best(one.name)):>9}"
    if reference and reference != one:
        spread = result.ratio(one.name, reference.name)
        if spread:
            text += (
                f"  {times(spread.best):>8}× {reference.name} (median {times(spread.median)}, half of the rounds in "
            )
            text += f"{times(spread.low)}–{times(spread.high)})"
    return text + (f"  [{one.problem}]" if one.problem else "")


def short(value: float | None) -> str:
    """Return a figure in three digits, a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def times(value: float) -> str:
    """Return a ratio in three digits, one below a hundredth as a fraction."""
    return f"1/{1 / value:,.0f}" if 0 < value < 0.01 else short(value)


def write(path: Path, report: dict) -> None:
    """Write the report, a dict of the schema with `Result`s, as JSON."""
    plain = {**report, "results": [dataclasses.asdict(one) for one in report["results"]]}
    plain = json.loads(json.dumps(plain))
    _check()(plain)
    whole_file.write_text(path, json.dumps(plain, indent=1))


def read(path: Path) -> dict:
    """Return the report of a file that `write` wrote; raises NotAReport."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        _check()(plain)
    except (OSError, ValueError) as error:  # JsonSchemaValueException is a ValueError
        raise NotAReport(
            f"{path}: not the JSON of a benchmark ({error}). `make bench` writes build/bench/bench.json"
        ) from error
    return {**plain, "results": [_result(one) for one in plain["results"]]}


def _result(plain):
    entries = tuple(Entry(**{**one, "samples": tuple(one["samples"])}) for one in plain["entries"])
    return Result(**{**plain, "entries": entries, "targets": tuple(Target(**one) for one in plain["targets"])})


@cache
def _check():
    return fastjsonschema.compile(json.loads(SCHEMA.read_text(encoding="utf-8")))
