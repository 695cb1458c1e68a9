"""Runs where nbgrader is installed: make its assignment, grade every submission by its own command, tell the scores.

`python drive_nbgrader.py WORK`: reads WORK/work.json, writes WORK/scores.json, {submission: {exercise: points}}.
"""

import json
import subprocess
import sys
from pathlib import Path

from nbformat import v4, write

LAB = "lab"


def cell(text, name, points=None, solution=False):
    about = {"grade_id": name, "locked": not solution, "schema_version": 3, "solution": solution, "task": False}
    about |= {"grade": points is not None} | ({"points": points} if points is not None else {})
    return v4.new_code_cell(text, metadata={"nbgrader": about})


def notebook(work, answers, tests):
    """Return the notebook: given cells, then for each exercise the cells before it, its answer and its tests."""
    cells = [v4.new_code_cell(text) for text in work["given"]]
    last = list(work["solutions"])[-1]
    before, answered, after = {}, {}, []
    for exercise, text in answers:
        if exercise:
            before[exercise], after, answered[exercise] = after, [], text
        else:
            after.append(text)
    for exercise in work["solutions"]:
        cells += [v4.new_code_cell(text) for text in before.get(exercise, ())]
        cells.append(cell(answered.get(exercise, ""), exercise, solution=True))
        cells += [v4.new_code_cell(text) for text in after if exercise == last]
        theirs = [(name, points, text if tests else "") for name, of, points, text in work["tests"] if of == exercise]
        cells += [cell(text, f"test_{name}", points) for name, points, text in theirs]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return v4.new_notebook(cells=cells, metadata=kernel)


def main(root):
    work = json.loads((root / "work.json").read_text())
    (root / "source" / LAB).mkdir(parents=True)
    solved = [[name, "### BEGIN SOLUTION\n" + text + "\n### END SOLUTION"] for name, text in work["solutions"].items()]
    write(notebook(work, solved, True), root / "source" / LAB / f"{LAB}.ipynb")
    for name, answers in work["submissions"].items():
        folder = root / "submitted" / name / LAB
        folder.mkdir(parents=True)
        write(notebook(work, answers, False), folder / f"{LAB}.ipynb")
    command = [sys.executable, "-m", "nbgrader"]
    subprocess.run([*command, "generate_assignment", LAB, "--create"], cwd=root, check=True)
    subprocess.run([*command, "autograde", LAB], cwd=root)  # 1 where a submission failed
    from nbgrader.api import Gradebook

    of = {f"test_{name}": exercise for name, exercise, _, _ in work["tests"]}
    scores = {}
    with Gradebook(f"sqlite:///{root}/gradebook.db") as book:
        for submission in book.assignment_submissions(LAB):
            found = scores.setdefault(submission.student.id, {})
            for grade in submission.notebooks[0].grades:
                found[of[grade.name]] = found.get(of[grade.name], 0.0) + (grade.score or 0.0)
    (root / "scores.json").write_text(json.dumps(scores))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
