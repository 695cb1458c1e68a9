"""What the notebook's own `check` says of a lab's answers, asked in a process of its own.

The answers are the teacher's, but wrong ones: they may hang or end the process that runs them. An answer that does is
"stopped", and the rest are asked in the next process.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.lab.published import beside

#: For one answer, its check included. A check compares with slow references, and imports torch the first time.
SECONDS = 120

PROGRAM = """
import contextlib, io, json, sys

from course.checks import shrink as smaller

job = json.load(sys.stdin)
said, out = [], sys.stdout
if not job["smaller"]:
    smaller.SMALLER = 0

def verdict(exercise, text):
    # the whole lab again: an answer may build on another, and must not be helped by what the last one left
    names = {"__name__": "__main__"}
    for role, of, cell in job["cells"]:
        if role == "check":
            if of == exercise:
                *before, last = cell.strip().splitlines()
                exec("\\n".join(before), names)
                return eval(last, names).state
        elif role == "exercise" and of == exercise:
            exec(compile(text, "<answer>", "exec"), names)
        else:
            exec(compile(cell, "<cell>", "exec"), names)

for exercise, text in job["answers"]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            state = verdict(exercise, text)
        except BaseException as failure:
            state = f"raised {type(failure).__name__}: {failure}"
    print(json.dumps(state), file=out, flush=True)
"""


def verdicts(lab, answers, smaller=True):
    """Return the state of the check's verdict, or what happened instead, for each (exercise, cell's text).

    Without `smaller` a check looks for no smaller counterexample than the first: half the time, and the same states.
    """
    cells = [(c.role, c.exercise, c.solution) for c in lab.source.cells if c.role in ("given", "exercise", "check")]
    said, left = [], list(answers)
    while left:
        found = _ask(cells, left, beside(lab), smaller)
        said += found or ["stopped"]  # who was asked first and said nothing; after others it may have been the time
        left = list(answers)[len(said) :]
    return said


def _ask(cells, answers, files, smaller):
    job = json.dumps({"cells": cells, "answers": answers, "smaller": smaller})
    with tempfile.TemporaryDirectory() as place:
        for path, name in files:
            shutil.copyfile(path, Path(place, name))
        try:
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                **{"input": job, "capture_output": True, "text": True, "timeout": SECONDS, "cwd": place},
            )
            told = done.stdout
        except subprocess.TimeoutExpired as late:
            told = (late.stdout or b"").decode()
    return [json.loads(line) for line in told.splitlines()]
