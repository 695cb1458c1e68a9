"""Checks that come with a lab: a class that keeps its labs to itself publishes `LAB_checks.py` beside the notebook."""

import importlib.util
from pathlib import Path


def exercises_beside(folder="."):
    """Return name -> `Exercise` of every file in `folder` whose name ends with `_checks.py`, in alphabetical order.

    Such a file is run, as the notebook beside it is. Raises ValueError that names a file which fails or has no
    EXERCISES.
    """
    found = {}
    for path in sorted(Path(folder).glob("*_checks.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            found.update(module.EXERCISES)
        except Exception as failure:  # somebody's file: whatever it raises, the reader must learn which one it was
            why = f"{type(failure).__name__}: {failure}"
            raise ValueError(f"check: {path.name}, beside this notebook, can't be used: {why}") from failure
    return found
