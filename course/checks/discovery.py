"""The checks that came with a notebook: its lab's `checks.py`, and the files that it imports, lie in the same folder.

A lab's folder is made a package, so `checks.py` says `from .oracles import …` wherever the folder lies: in a checkout,
in a student's download, in the grader. The package's name has the folder's path in it, so labs of one name don't meet.
"""

import contextlib
import hashlib
import importlib
import importlib.util
import os
import re
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from course.checks.exercise import Exercise

#: Where this process was when the engine was loaded: a cell may go elsewhere (`%cd`) between `import` and `check`.
STARTED_IN = Path.cwd()
#: Where a checkout has its labs; nothing is there where the course was installed without them.
CHECKOUT_LABS = Path(__file__).resolve().parents[2] / "labs"
#: package -> the files that it was loaded from, as they were then.
_LOADED: dict[str, dict[Path, bytes]] = {}


def exercises_beside(folder: str | Path | None = None) -> dict[str, Exercise]:
    """Return name -> `Exercise` of `checks.py`, and of files called `…_checks.py`, in `folder`, in alphabetical order.

    Without a `folder` it is the notebook's: the first that has checks of the working directory, the directory in which
    the engine was loaded, and the one that Jupyter names. The files are run, as the notebook beside them is. Raises
    ValueError that names a file which fails or has no EXERCISES.
    """
    for place in _notebook_folders() if folder is None else [Path(folder)]:
        files = [path for path in sorted(place.glob("*checks.py")) if re.fullmatch(r"(.+_)?checks", path.stem)]
        if files:
            return {name: exercise for path in files for name, exercise in _exercises(path).items()}
    return {}


def exercises_of_the_checkout() -> dict[str, Exercise]:
    """Return name -> `Exercise` of all labs of the checkout, for a notebook that was copied without its checks."""
    folders = sorted(path.parent for path in CHECKOUT_LABS.glob("*/checks.py"))
    return {name: exercise for folder in folders for name, exercise in exercises_beside(folder).items()}


def load_part(folder: str | Path, stem: str) -> ModuleType:
    """Return the module `stem`.py of a lab's folder, loaded again when a Python file of the folder has changed.

    Raises FileNotFoundError where there is none, and passes on what running it raises.
    """
    folder = Path(folder).resolve()
    if not (folder / f"{stem}.py").is_file():
        raise FileNotFoundError(f"{folder} has no {stem}.py")
    place = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    package = f"{re.sub(r'[^0-9A-Za-z]', '_', folder.name)}_at_{place}"
    files = {path: path.read_bytes() for path in sorted(folder.glob("*.py"))}
    if _LOADED.get(package) != files:
        _make_package(package, folder, files)
        _LOADED[package] = files
    return importlib.import_module(f"{package}.{stem}")


def _notebook_folders():
    # JupyterLab and Notebook name the notebook's path to the kernel, which may run elsewhere
    session = os.environ.get("JPY_SESSION_NAME", "")
    return [Path.cwd(), STARTED_IN, *([Path(session).parent] if os.path.isabs(session) else [])]


def _exercises(path):
    try:
        return load_part(path.parent, path.stem).EXERCISES
    except Exception as failure:  # a lab's own file: whatever it raises, the reader must learn which one it was
        why = f"{type(failure).__name__}: {failure}"
        raise ValueError(f"check: {path.name}, beside this notebook, can't be used: {why}") from failure


def _make_package(package, folder, files):
    import cloudpickle

    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]
    sys.path_importer_cache.pop(str(folder), None)  # what it knows of the folder may be older than a file
    for path in files:
        # bytecode is known by its source's second and size: too coarse for a file that is being edited
        with contextlib.suppress(OSError):
            os.unlink(importlib.util.cache_from_source(str(path)))
    spec = ModuleSpec(package, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    sys.modules[package] = module_from_spec(spec)
    # a function of it may be handed to a Dask task: the worker has no such package, so functions go as code
    cloudpickle.register_pickle_by_value(sys.modules[package])
