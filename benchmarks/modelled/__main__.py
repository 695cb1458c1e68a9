"""`make calibrate`: record a card and compare its model with the card on 40 programs; on a real one, write the page."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.modelled.measuring import measured
from benchmarks.modelled.modelling import Modelled, modelled
from benchmarks.modelled.programs import PROGRAMS
from benchmarks.modelled.table import Origin, compared, lines, page
from benchmarks.whole_file import write_text
from simgpu import model_for
from simgpu.recording.command import calibrate_command
from simgpu.variables import GPUS, VISIBLE

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "modelled_and_measured.md"
MISSING = (
    "The table of modelled against measured seconds is missing: this PyTorch finds no CUDA device, and nothing is "
    "written that was not measured. On a machine with an NVIDIA GPU: make calibrate, or, with any PyTorch for CUDA, "
    "python -m benchmarks.modelled."
)


def main(given: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 when all was compared, 1 when the time was over, 2 where there is no CUDA device."""
    options = _options(given)
    names = options.programs or list(PROGRAMS)
    if options.model:
        print(json.dumps(modelled(model_for(options.model), options.part, names, _progress("modelled", names))))
        return 0
    if not torch.cuda.is_available():
        print(MISSING, file=sys.stderr)
        return 2
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"--out={str(options.out)!r}: no folder can be made there: {error.strerror}.", file=sys.stderr)
        return 2
    card = options.out / "card.json"
    status = calibrate_command(options.device, str(card), str(options.seconds))
    if status:
        return status
    try:
        place, say = torch.device(options.device), _progress("measured", names)
        seconds = measured(place, options.seconds, options.part, names, say)
    except TimeoutError as error:
        print(error, file=sys.stderr)
        return 1
    rows = compared(_in_a_process_of_its_own(card, options.part, names), seconds)
    told = json.loads(card.read_text(encoding="utf-8"))
    origin = Origin(told["hardware"], told["simulated"], told["driver"], told["torch"], told["date"])
    print("\n".join(lines(rows, origin)))
    if options.write and options.part == 1 and len(rows) == len(PROGRAMS) and not origin.simulated:
        write_text(PAGE, page(rows, origin))
        print(f"written: {PAGE}")
    return 0


def _options(given):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.modelled", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="only these, without the page (all of them)")
    parser.add_argument("--device", default="cuda:0", metavar="NAME", help="which one (cuda:0)")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "modelled", metavar="FOLDER", help="for card.json (build/modelled)"
    )
    parser.add_argument(
        "--seconds", type=float, default=300.0, metavar="N", help="at most, card and programs each (300)"
    )
    parser.add_argument("--part", type=int, default=1, metavar="N", help="smaller programs, without the page (1)")
    parser.add_argument("--no-write", dest="write", action="store_false", help="leave the page of docs as it is")
    parser.add_argument("--model", metavar="CARD", help="say what this card's model says, as JSON, and no more")
    options = parser.parse_args(given)
    if not 1 <= options.part <= 32:
        parser.error(f"--part={options.part}: give a whole number from 1 to 32.")
    for name in options.programs:
        if name not in PROGRAMS:
            parser.error(f"PROGRAM {name!r}: there is none by that name. Use {', '.join(PROGRAMS)}.")
    return options


def _in_a_process_of_its_own(card, part, names):
    """Return name -> `Modelled`; a process that has used a real device, or a simulated one, is no place for it."""
    environment = {name: text for name, text in os.environ.items() if name != GPUS} | {VISIBLE: ""}
    command = [sys.executable, "-m", "benchmarks.modelled", "--model", str(card.absolute()), "--part", str(part)]
    done = subprocess.run(
        [*command, *names], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=3600
    )
    return {name: Modelled(*found) for name, found in json.loads(done.stdout).items()}


def _progress(what, names):
    order = {name: place for place, name in enumerate(names, 1)}
    return lambda name: print(f"{what}: {order[name]} of {len(order)}, {name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
