"""Runs where otter-grader is installed: make its assignment, grade every submission as `otter run`, tell the scores.

`python drive_otter.py WORK`: reads WORK/work.json, writes WORK/scores.json, {submission: {exercise: points}}.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path

from nbformat import read, v4, write

#: Seconds for one submission: Otter itself waits for ever for a notebook whose Python has stopped to answer.
PATIENCE = 300
HIDDEN = '""" # BEGIN TEST CONFIG\nhidden: true\npoints: {}\n""" # END TEST CONFIG\n'


def master(work):
    """Return the notebook that `otter assign` makes the assignment of: one question an exercise, its tests hidden."""
    raw, code = v4.new_raw_cell, v4.new_code_cell
    cells = [
        raw("# ASSIGNMENT CONFIG\ninit_cell: true\nexport_cell: false\ncheck_all_cell: false\nenvironment: null\n")
    ]
    cells += [code(text) for text in work["given"]]
    for exercise, text in work["solutions"].items():
        points = sum(points for _, of, points, _ in work["tests"] if of == exercise)
        cells += [raw(f"# BEGIN QUESTION\nname: {exercise}\npoints: {points}"), raw("# BEGIN SOLUTION")]
        cells += [code(f"# exercise: {exercise}\n# BEGIN SOLUTION\n{text}\n# END SOLUTION"), raw("# END SOLUTION")]
        cells.append(raw("# BEGIN TESTS"))
        cells += [code(HIDDEN.format(points) + text) for _, of, points, text in work["tests"] if of == exercise]
        cells += [raw("# END TESTS"), raw("# END QUESTION")]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return v4.new_notebook(cells=cells, metadata=kernel)


def answered(released, answers):
    """Return the students' notebook with `answers` in it, and the cells between them; those at the end come last."""
    cells, waiting = [], list(answers)
    for cell in released.cells:
        exercise = cell.source.split("\n")[0].removeprefix("# exercise: ") if cell.cell_type == "code" else ""
        place = next((n for n, (name, _) in enumerate(waiting) if name and name == exercise), None)
        if place is not None:
            cells += [v4.new_code_cell(text) for _, text in waiting[:place]]
            cell.source, waiting = waiting[place][1], waiting[place + 1 :]
        cells.append(cell)
    released.cells = cells + [v4.new_code_cell(text) for _, text in waiting]
    return released


def main(root):
    work = json.loads((root / "work.json").read_text())
    write(master(work), root / "lab.ipynb")
    command = [sys.executable, "-m", "otter", "assign", "--no-pdfs", "--no-run-tests", "lab.ipynb", "dist"]
    subprocess.run(command, cwd=root, check=True)
    from otter.run import main as run

    (archive,) = (root / "dist" / "autograder").glob("*.zip")
    scores: dict = {}
    signal.signal(signal.SIGALRM, _too_long)
    for name, answers in work["submissions"].items():
        folder = root / "submissions" / name
        folder.mkdir(parents=True)
        os.chdir(folder)
        write(answered(read(root / "dist" / "student" / "lab.ipynb", 4), answers), "lab.ipynb")
        print("grading", name, flush=True)
        signal.alarm(PATIENCE)
        try:
            with open("said.txt", "w") as said, contextlib.redirect_stdout(said):
                run("lab.ipynb", autograder=str(archive), output_dir=str(folder), no_logo=True)
            tests = json.loads((folder / "results.json").read_text())["tests"]
            scores[name] = {one["name"]: one["score"] for one in tests if one["name"] in work["solutions"]}
        except Exception:  # the grader itself failed on it, or waits for ever: no mark
            traceback.print_exc()
            scores[name] = {}
        signal.alarm(0)
    (root / "scores.json").write_text(json.dumps(scores))


def _too_long(*_):
    raise TimeoutError(f"not graded in {PATIENCE} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
