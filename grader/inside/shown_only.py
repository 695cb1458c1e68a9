"""Packages that only show something, where they aren't installed: a bar passes its items on, a picture does nothing.

`from tqdm.auto import tqdm` in the cell of an answer must not cost the answer because the grader's machine has no tqdm.
What is installed is found first; any other package that is missing is missing.
"""

import importlib.abc
import importlib.machinery
import sys
import types

_BARS = ("tqdm", "rich.progress")
_PACKAGES = ("tqdm", "rich", "seaborn", "plotly", "bokeh", "altair", "alive_progress")


class Nothing:
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
        return self

    def __exit__(self, *_):
        return False


class Bar(Nothing):
    """A progress bar without a bar: it goes through its items."""

    def __init__(self, iterable=(), *_, **__):
        self.iterable, self.n = iterable, 0

    def __iter__(self):
        return iter(self.iterable)

    def __len__(self):
        return len(self.iterable)


def _range(*arguments, **_):
    return Bar(range(*arguments))


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__.startswith(_BARS):
            return {"tqdm": Bar, "track": Bar, "trange": _range}.get(name, Nothing())
        return Nothing()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on the path: it finds what nothing else did."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in _PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def install():
    """Let such packages be found from here on."""
    sys.meta_path.append(Finder())
