"""The other process of `at_home`: runs a notebook's cells, then its checks; a line of JSON for each exercise."""

import ast
import json
import sys
from pathlib import Path

from grader.inside.cells import Notebook

UNREACHED = "It was not checked: this check, or a cell or a check before it, did not come to an end."


def main(path: str) -> None:
    """Read [[text, points], …] from stdin, run it, write the verdicts to the file at `path` as they come."""
    cells = [(called(text), text, points) for text, points in json.load(sys.stdin)]
    checks = [cell for cell in cells if cell[0] is not None]
    notebook = Notebook()
    sys.path.insert(0, "")
    with Path(path).open("w", encoding="utf-8") as answers:
        for name, _, points in checks:
            _answer(answers, name, "wrong", points, UNREACHED)
        for number, (name, text, _) in enumerate(cells):
            if name is None:
                notebook.run(number, text)
        notebook.run_again([text for _, text, _ in cells])
        for name, text, points in checks:
            _answer(answers, *_verdict(notebook, name, text, points))


def called(text: str) -> str | None:
    """Return the exercise whose check is the cell's last line, or None.

    >>> called("check(step)"), called("check(total, 'mean')"), called("step(board)")
    ('step', 'mean', None)
    """
    try:
        last = ast.parse(text).body[-1]
    except (SyntaxError, IndexError):
        return None
    call = last.value if isinstance(last, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check" and call.args):
        return None
    exercise = call.args[1] if len(call.args) > 1 else call.args[0]
    return str(exercise.value) if isinstance(exercise, ast.Constant) else getattr(exercise, "id", None)


def _verdict(notebook, name, text, points):
    notebook.names.pop("_", None)
    errors = dict(notebook.errors)
    notebook.run(-1, text)
    verdict = notebook.names.get("_")
    if -1 in notebook.errors or not hasattr(verdict, "state"):
        earlier = "; ".join(errors.values())
        error = notebook.errors.get(-1, "its check said nothing")
        return name, "wrong", points, error + f" ({earlier})" * bool(earlier)
    return name, {"passed": "right", "not yet": "missing"}.get(verdict.state, "wrong"), points, verdict.message


def _answer(file, name, kind, points, reason):
    score = points if kind == "right" and points is not None else 0.0
    file.write(json.dumps([name, kind, score, points, reason]) + "\n")
    file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
