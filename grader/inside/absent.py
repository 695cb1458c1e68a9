"""Rooms of `course` that a lab does not show: they can be imported, pictures do nothing, anything else says why not.

People write `from course import check, life` where the lab has `from course import check`. If that line failed, all
that its cell defines would be gone, and the marks with it. This text goes to the end of the visible `course`.
"""

import importlib.abc
import importlib.machinery
import sys
import types

#: Nobody looks at pictures when marks are made.
_SHOWN_ONLY = ("course.draw", "course.widgets")


class _Nothing:
    """Whatever is done with it does nothing."""

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
        return self, self  # `with draw.figure() as (figure, axes):`

    def __exit__(self, *_):
        return False


def _absent(name):
    def absent(*_, **__):
        raise NotImplementedError(f"{name} is not there when this lab is marked: an answer can't build on it.")

    absent.__name__ = name.rpartition(".")[2]
    return absent


class _Absent(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        return _Nothing() if whole.startswith(_SHOWN_ONLY) else _absent(whole)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on the path: it finds what nothing else of `course` did."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("course."):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Absent(spec.name)

    def exec_module(self, module):
        module.__path__ = []


sys.meta_path.append(_Finder())
