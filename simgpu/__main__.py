"""`python -m simgpu`: run a program on simulated GPUs, look at what it will meet, or measure a real GPU."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from simgpu.environment import MOST, bytes_of, count_of, model, visible
from simgpu.models.card import is_path
from simgpu.variables import GPUS, MEMORY, MODEL, REPORT, VISIBLE


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line `argv` asks (the process's own by default) and return the exit status."""
    parser, run = _parser()
    options = parser.parse_args(argv)
    if options.command == "doctor":
        from simgpu.doctor import examine

        return examine(options.files)
    if options.command == "calibrate":
        from simgpu.recording.command import calibrate_command

        return calibrate_command(options.device, options.out, options.seconds)
    try:
        command, environment = _run(options)
    except ValueError as error:
        run.error(str(error))
    sys.stdout.flush()
    if os.name == "posix":  # the program takes this process's place: signals and the exit status are its own
        os.execvpe(command[0], command, environment)
    return subprocess.call(command, env=environment)


def _parser():
    """Return the parser of the command line, and that of `run`."""
    parser = argparse.ArgumentParser(
        prog="simgpu",
        description="Simulated GPUs for PyTorch programs: values are the CPU's, devices and errors CUDA's.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a program, unchanged, on simulated GPUs", description=_run.__doc__)
    run.add_argument("--gpus", default="1", metavar="N", help=f"how many, 1 to {MOST} (1)")
    run.add_argument("--model", default="H200", metavar="NAME", help="a card's name, or its file card.json (H200)")
    run.add_argument("--memory", metavar="SIZE", help="bytes of each GPU, as in 2GiB: will the program fit?")
    run.add_argument("--quiet", action="store_true", help="say nothing at the end")
    run.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as in python -m")
    run.add_argument("program", metavar="PROGRAM", help="a Python file, or a command such as torchrun")
    run.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…", help="the program's own arguments")
    doctor = commands.add_parser("doctor", help="say what is here, and what a program will meet")
    doctor.add_argument("files", nargs="*", metavar="FILE", help="Python files to read; they are not run")
    calibrate = commands.add_parser("calibrate", help="measure a CUDA device, and write a card that --model takes")
    calibrate.add_argument("--device", default="cuda:0", metavar="NAME", help="which one (cuda:0)")
    calibrate.add_argument("--out", default="card.json", metavar="FILE", help="the card, a .json file (card.json)")
    calibrate.add_argument("--seconds", default="300", metavar="N", help="give up after so many, and write none (300)")
    return parser, run


def _run(options):
    """Run PROGRAM with its arguments; it and all that it starts find simulated GPUs when they import torch."""
    count = count_of(options.gpus, "--gpus")
    model(options.model, options.memory)  # raises here, once, rather than in every process
    if not entry_points(group="torch.backends", name="simgpu"):
        raise ValueError(
            "simgpu is not installed in this Python, so PyTorch doesn't start it: python -m pip install simgpu."
        )
    if not visible(count, os.environ):
        raise ValueError(f"{VISIBLE}={os.environ[VISIBLE]!r} hides all {count} GPUs: unset it, or name one of them.")
    chosen = str(Path(options.model).absolute()) if is_path(options.model) else options.model  # for any folder
    environment = {**os.environ, GPUS: str(count), MODEL: chosen, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
    environment.pop(MEMORY, None)
    environment.pop(REPORT, None)
    if options.memory is not None:
        environment[MEMORY] = str(bytes_of(options.memory))
    if not options.quiet:
        environment[REPORT] = "1"
    return _command(options), environment


def _command(options):
    if options.module:
        return [sys.executable, "-m", options.program, *options.arguments]
    file = Path(options.program)
    if file.is_file() and (file.suffix == ".py" or not os.access(file, os.X_OK)):
        return [sys.executable, options.program, *options.arguments]
    if (file / "__main__.py").is_file():
        return [sys.executable, options.program, *options.arguments]
    beside = Path(sys.executable).parent / file  # torchrun of this Python, before another one's
    command = str(beside) if file.name == options.program and beside.is_file() else shutil.which(options.program)
    if command is None:
        raise ValueError(f"PROGRAM {options.program!r}: there is no such file, and no such command on the PATH.")
    return [command, *options.arguments]


if __name__ == "__main__":
    sys.exit(main())
