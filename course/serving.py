"""Deprecated: `course.serving` is `modelserver` now, and this name goes with the next version.

`from course.serving import Client` and `import course.serving.client` give modelserver's own modules.
"""

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.util import spec_from_loader

import modelserver
from modelserver import *  # noqa: F403

warnings.warn("course.serving is now modelserver: import that instead", DeprecationWarning, stacklevel=2)
__path__: list[str] = []


class _Moved(MetaPathFinder, Loader):
    """Finds a module of `course.serving` in `modelserver`: the same one, not a second of it."""

    def find_spec(self, fullname, path, target=None):
        return spec_from_loader(fullname, self) if fullname.startswith(f"{__name__}.") else None

    def exec_module(self, module):
        sys.modules[module.__name__] = import_module(module.__name__.replace(__name__, modelserver.__name__, 1))


sys.meta_path.append(_Moved())
