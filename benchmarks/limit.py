"""The limit: what a tuned C program reaches on this machine, built from `limits/*.c` by the system's compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.process import ContestantFailed

SOURCES = Path(__file__).parent / "limits"
#: As the compiler calls this processor, and the first one that had no more than these vectors.
PROCESSORS = {"": "-march=native", "AVX2": "-march=haswell"}
BUILD = 120.0  # seconds for the compiler, which needs two


def compiler() -> str | None:
    """Return the path of the system's C compiler (CC, else cc; clang on macOS), or None."""
    return shutil.which(os.environ.get("CC") or ("clang" if sys.platform == "darwin" else "cc"))


def built(name: str, folder: Path, vectors: str = "") -> Path:
    """Return the program of `limits/name.c`, built into `folder` unless it is newer than its sources.

    With threads where the compiler knows OpenMP, else with one; for this processor, or for one that has no more than
    `vectors`. Raises ContestantFailed where it can't be built.
    """
    program, source = folder / f"{name}{vectors}", SOURCES / f"{name}.c"
    newest = max(path.stat().st_mtime for path in SOURCES.iterdir())
    if program.exists() and program.stat().st_mtime > newest:
        return program
    found = compiler()
    if found is None:
        raise ContestantFailed(f"there is no C compiler here ({os.environ.get('CC') or 'cc'}): install gcc or clang")
    folder.mkdir(parents=True, exist_ok=True)
    said = ""
    processor = PROCESSORS[vectors]
    for flags in ([processor, "-fopenmp"], [processor], [processor] if vectors else []):
        command = [found, "-std=gnu11", "-O3", *flags, "-o", str(program), str(source), "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ContestantFailed(f"{found} could not be run: {error}") from error
        if done.returncode == 0:
            return program
        said = done.stderr.strip()
    raise ContestantFailed(f"{found} could not build {source.name}: {said[-300:]}")
