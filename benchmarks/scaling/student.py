"""`python -m benchmarks.scaling.student`: what it costs to mark one submission of each lab.

What is marked is the lab's own solutions, by `python -m grader grade` with its sandboxes, one at a time. Start and end
of the grader are taken off: a class of one is measured as well.
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.scaling.memory import proportional, tree
from grader.lab.release import lab_folders, solution_notebook, text_of
from grader.lab.source import load_lab

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Cost:
    """What a marking took: `seconds`; `peak`, bytes (PSS) of all processes; `disk`, bytes that it left."""

    seconds: float
    peak: int
    disk: int


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--count", default=4, show_default=True, type=click.IntRange(2), help="Submissions of each lab.")
@click.option("--lab", "only", help="This one only.")
def main(count: int, only: str | None) -> None:
    """Print a row for each lab: seconds, most memory, disk, of one submission more."""
    click.echo("lab | s a submission | most MB | kB left")
    for folder in lab_folders(ROOT / "labs"):
        if only in (None, folder.name):
            one, many = marked(folder, 1), marked(folder, count)
            seconds, left = (many.seconds - one.seconds) / (count - 1), (many.disk - one.disk) / (count - 1)
            click.echo(f"{folder.name} | {seconds:.1f} | {many.peak / 1e6:.0f} | {left / 1000:.0f}")


def marked(folder: Path, count: int) -> Cost:
    """Return the `Cost` of marking `count` submissions of the lab in `folder`. Raises RuntimeError where it fails."""
    lab = load_lab(folder)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "source").mkdir()
        (root / "class.toml").write_text(f'labs = "{folder.parent}"\n')
        for number in range(count):
            place = root / "submitted" / f"student{number}" / folder.name
            place.mkdir(parents=True)
            (place / f"{folder.name}.ipynb").write_text(text_of(solution_notebook(lab)), encoding="utf-8")
        command = [sys.executable, "-m", "grader", "grade", scratch, "--lab", folder.name]
        began = time.monotonic()
        with open(root / "said", "w") as said:
            process, peak = subprocess.Popen(command, stdout=said, stderr=said), 0
            while process.poll() is None:
                peak = max(peak, proportional(tree(process.pid)))
                time.sleep(0.2)
        if process.returncode:
            raise RuntimeError(f"{folder.name}: {(root / 'said').read_text()[-500:]}")
        seconds = time.monotonic() - began
        disk = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        return Cost(seconds, peak, disk)


if __name__ == "__main__":
    main()
