"""From a lab's source to its notebooks: the release that students get, and the solution that teachers keep.

`python -m grader.lab.release` (`make labs`) writes `labs/LAB/LAB.ipynb`, committed, and `build/labs/LAB.ipynb`
with the solutions, not committed. The same source gives the same bytes. The release carries nbgrader's metadata.
"""

import argparse
import ast
import re
import shutil
import sys
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

import nbformat

from grader.lab.secret_draw import drawing
from grader.lab.source import Cell, LabError, check_id, load_lab
from grader.lab.spec import VALUE, Lab, Marking

#: In the lab's first text: becomes the table of exercises.
POINTS = "<!-- points -->"
#: The files whose imports are followed; a check that looks for a counterexample loads `strategies` by name.
PUBLIC = ("checks", "strategies")
#: Never for students: the text with the solutions, the marking, the wrong answers.
PRIVATE = ("lab", "marking", "wrong")
SCHEMA = 3  # nbgrader's, since 0.6
_TOKENS = re.compile(r"[0-9a-z]+|[^0-9a-z]+")
KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def release_notebook(lab: Lab) -> nbformat.NotebookNode:
    """Return the notebook that students get: stubs, no marking, no outputs. `lab` is as `load_lab` returns it."""
    return _notebook(lab, lambda cell: cell.text)


def solution_notebook(lab: Lab) -> nbformat.NotebookNode:
    """Return the same notebook with the solutions in place, not executed."""
    return _notebook(lab, lambda cell: cell.solution)


def notebook_with(lab: Lab, answers: Mapping[str, str]) -> nbformat.NotebookNode:
    """Return the release with `answers`, exercise -> source text of its cell, in place: a submission."""
    return _notebook(lab, lambda cell: answers.get(cell.exercise, cell.text) if cell.role == "exercise" else cell.text)


def text_of(notebook: nbformat.NotebookNode) -> str:
    """Return the notebook as the text that is written."""
    return nbformat.writes(notebook, version=4, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write_release(lab: Lab, folder: str | Path) -> Path:
    """Write the release of `lab`, and the files that go with it, into `folder`; return the notebook's path."""
    path = _write(Path(folder) / f"{lab.name}.ipynb", release_notebook(lab))
    for name in (*lab.files, *check_files(lab.folder)):
        if (path.parent / name).resolve() != lab.folder / name:
            shutil.copyfile(lab.folder / name, path.parent / name)
    return path


def write_solution(lab: Lab, folder: str | Path) -> Path:
    """Write the notebook with solutions into `folder`; return its path. It is the teacher's: never publish it."""
    return _write(Path(folder) / f"{lab.name}.ipynb", solution_notebook(lab))


def check_files(folder: Path) -> list[str]:
    """Return the names of `checks.py`, `strategies.py` and all files of `folder` that they import, in order.

    Raises LabError where one of them imports a file that is the teacher's.
    """
    stems, unread = set(), [stem for stem in PUBLIC if (folder / f"{stem}.py").is_file()]
    while unread:
        stem = unread.pop()
        if stem in PRIVATE:
            raise LabError(f"{folder.name}: its checks import {stem}.py, which is not for students.")
        stems.add(stem)
        unread += [sibling for sibling in _siblings(folder, stem) if sibling not in stems]
    return sorted(f"{stem}.py" for stem in stems)


def _siblings(folder, stem):
    """Return the stems of the files in `folder` that `stem`.py imports, wherever in it the import stands."""
    tree = ast.parse((folder / f"{stem}.py").read_text(encoding="utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names |= {node.module.partition(".")[0]} if node.module else {alias.name for alias in node.names}
    return sorted(name for name in names if (folder / f"{name}.py").is_file())


def difference(lab: Lab) -> str | None:
    """Return None when the release in the lab's folder is made from its source as it stands, else what to do."""
    path = lab.folder / f"{lab.name}.ipynb"
    if not path.exists():
        return f"{path.name} is missing: run `make labs` and commit it."
    if path.read_text(encoding="utf-8") != text_of(release_notebook(lab)):
        return f"{path.name} was not made from lab.py and marking.py as they stand: run `make labs` and commit it."
    return None


def lab_folders(root: str | Path) -> list[Path]:
    """Return the folders under `root` that hold a lab, in order."""
    return sorted(path.parent for path in Path(root).glob("*/lab.py"))


def _notebook(lab, text):
    cells, table = [], _table(lab) if any(POINTS in cell.text for cell in lab.source.cells) else ""
    for cell, following in zip_longest(lab.source.cells, lab.source.cells[1:]):
        shown = text(cell)
        if cell.role == "text":
            shown = shown.replace(POINTS, table) + _promise(lab, following)
        cells.append(_cell(cell, shown, lab))
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={**KERNEL, "course": {"lab": lab.name}})
    nbformat.validate(notebook)
    return notebook


def _cell(cell, text, lab):
    make = nbformat.v4.new_code_cell if cell.type == "code" else nbformat.v4.new_markdown_cell
    metadata = {"tags": ["notebook-only"]} if cell.role == "notebook-only" else {}
    nbgrader = nbgrader_metadata(cell, lab)
    if nbgrader is not None:
        metadata["nbgrader"] = nbgrader
    return make(text, id=cell.id, metadata=metadata)


def nbgrader_metadata(cell: Cell, lab: Lab) -> dict | None:
    """Return nbgrader's metadata of a `Cell` of `lab` (an exercise's answer or check), or None for any other."""
    kind = {"schema_version": SCHEMA, "task": False, "grade": False, "solution": False, "locked": False}
    if cell.exercise is None:
        return None
    if cell.role == "exercise":
        # a person's marks hang on the answer itself; all others on the check below it
        by_hand = lab.exercise(cell.exercise).manual
        own = {"points": cell.points} if by_hand else {}
        return {**kind, "grade": by_hand, "solution": True, "grade_id": cell.exercise, **own}
    points = lab.source.cell(cell.exercise).points
    return {**kind, "grade": True, "locked": True, "grade_id": check_id(cell.exercise), "points": points}


def _promise(lab, cell):
    """Return the line under an exercise's text: its points and its oracle."""
    if cell is None or cell.role != "exercise":
        return ""
    exercise = lab.exercise(cell.exercise)
    checked = "Read by a person." if exercise.manual else f"Checked against: {exercise.statement.oracle}."
    return f"\n\n*{cell.points:g} point{'' if cell.points == 1 else 's'}. {checked}*"


def _table(lab):
    rows = [f"| {n} | `{e.name}` | {e.points:g} | {marked_by(e)} |" for n, e in enumerate(lab.exercises, start=1)]
    head = ["| | exercise | points | marked by |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, f"| | | **{lab.points:g}** | |"])


def marked_by(exercise: Marking) -> str:
    """Return the kind of evidence that `exercise` must give, and where it is taken."""
    if exercise.manual:
        return "a person reads it"
    kind = _together([exercise.kind(case).describe() for case in exercise.cases(drawing(b"table", exercise.name))])
    if exercise.host is not None:
        return f"{kind}; and what a second process saw: {exercise.host.seen.describe()}"
    if exercise.outside is not None:
        return f"{kind}; and its folder, as seen from outside"
    if exercise.race is not None:
        return f"{kind}; and its speed, as a ratio, timed outside: {exercise.race.times:g} times the reference's"
    return kind if exercise.call in (None, VALUE) else f"{kind}, from a run that the grader steers"


def _together(texts):
    """Return one text for all of `texts`: sizes that differ from case to case are `any`."""
    tokenised = [_TOKENS.findall(text) for text in dict.fromkeys(texts)]
    if len({len(tokens) for tokens in tokenised}) > 1:
        return " or ".join(dict.fromkeys(texts))
    return "".join(tokens[0] if len(set(tokens)) == 1 else "any" for tokens in zip(*tokenised, strict=True))


def _write(path, notebook):
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text_of(notebook), encoding="utf-8", newline="\n")
    return unfinished.replace(path)


def main(arguments: list[str]) -> int:
    """Make, or with `--check` compare, the labs named or all under labs/; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m grader.lab.release", description=__doc__.splitlines()[0])
    parser.add_argument("labs", nargs="*", metavar="FOLDER", help="labs' folders (default: all in ./labs)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where release and source differ")
    parser.add_argument("--solutions", default="build/labs", metavar="DIR", help="where notebooks with solutions go")
    options = parser.parse_args(arguments)
    failed = False
    for folder in options.labs or lab_folders("labs"):
        try:
            lab = load_lab(folder)
            problem = difference(lab) if options.check else None
            if not options.check:
                print(write_release(lab, lab.folder), write_solution(lab, options.solutions), flush=True)
        except LabError as error:
            problem = str(error)
        if problem:
            failed = True
            print(problem, file=sys.stderr, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
