"""Stand-ins, when marks are made, for packages that only show something and for rooms that a lab does not show.

`from tqdm.auto import tqdm` in the cell of an answer must not cost the answer because the grader's machine has no tqdm:
a bar passes its items on, a picture does nothing. `from course import check, life` must not cost it either where the
lab has `from course import check`: hidden rooms of `course` can be imported, and say why they are hidden when used.
Installed packages are found first; any other missing package stays missing.
"""

import importlib.abc
import importlib.machinery
import sys
import types

_BARS = ("tqdm", "rich.progress")
_PACKAGES = ("tqdm", "rich", "seaborn", "plotly", "bokeh", "altair", "alive_progress")
_PICTURES = ("course.draw", "course.widgets")  # not looked at when marks are made


class Nothing:
    """An object on which every operation does nothing."""

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key):
        return self

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Figure(Nothing):
    """A picture of `course.draw`: `with draw.figure() as (figure, axes):`."""

    def __enter__(self):
        return self, self


class Bar(Nothing):
    """A progress bar without a bar: it goes through its items."""

    def __init__(self, iterable=(), *_, **__):
        self.iterable, self.n = iterable, 0

    def __iter__(self):
        return iter(self.iterable)

    def __len__(self):
        return len(self.iterable)


def _absent(name):
    def absent(*_, **__):
        raise NotImplementedError(f"{name} is not there when this lab is marked: an answer can't build on it.")

    absent.__name__ = name.rpartition(".")[2]
    return absent


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        if whole.startswith("course."):
            return Figure() if whole.startswith(_PICTURES) else _absent(whole)
        if self.__name__.startswith(_BARS):
            return {"tqdm": Bar, "track": Bar, "trange": lambda *ends, **_: Bar(range(*ends))}.get(name, Nothing())
        return Nothing()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: it gets the names that no other one found."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("course.") or name.partition(".")[0] in _PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def install() -> None:
    """Let stand-ins be found from here on."""
    sys.meta_path.append(_Finder())
