"""The checks that came with a notebook: `checks.py`, or `…_checks.py`, and the files that it imports, lie beside it.

The folder of a lab, or of the chapters, is made a package, so its files say `from .oracles import …` wherever it lies:
in a checkout, in a student's download, in the grader. The package's name has the folder's path in it, so labs of one
name don't meet.
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
#: Where chapters and labs lie; neither is there where the course was installed without them.
CHECKOUT = Path(__file__).resolve().parents[2]
#: package -> the files that it was loaded from, as they were then.
_LOADED: dict[str, dict[Path, bytes]] = {}


def check_files(folder: str | Path | None = None) -> list[Path]:
    """Return `checks.py`, and the files called `…_checks.py`, of `folder`, in alphabetical order.

    Without a `folder` it is the notebook's: the first that has checks of the working directory, the directory in which
    the engine was loaded, and the one that Jupyter names.
    """
    for place in _notebook_folders() if folder is None else [Path(folder)]:
        if files := [path for path in sorted(place.glob("*checks.py")) if re.fullmatch(r"(.+_)?checks", path.stem)]:
            return files
    return []


def check_files_of_the_checkout() -> list[Path]:
    """Return those of all chapters and labs of the checkout, for a notebook that was copied without its checks."""
    folders = [CHECKOUT / "notebooks", *sorted(CHECKOUT.glob("labs/*"))]
    return [path for folder in folders for path in check_files(folder)]


def exercises_in(path: Path) -> dict[str, Exercise]:
    """Return name -> `Exercise` of a file of checks. It is run, as the notebook beside it is.

    Raises ValueError that names a file which fails or has no EXERCISES.
    """
    try:
        return load_part(path.parent, path.stem).EXERCISES
    except Exception as failure:  # a lab's own file raises whatever it likes; the reader must learn which one it was
        why = f"{type(failure).__name__}: {failure}"
        raise ValueError(f"check: {path.name}, beside this notebook, can't be used: {why}") from failure


def load_part(folder: str | Path, stem: str) -> ModuleType:
    """Return the module `stem`.py of a lab's folder, loaded again when a Python file of the folder has changed.

    Its name is put together here because the folder may lie anywhere; no room of the course is imported by it. Raises
    FileNotFoundError where there is none, and passes on what running it raises.
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
