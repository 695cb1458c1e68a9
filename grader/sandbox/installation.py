"""Which folders of this machine Python needs to run: its base installation, the installed packages, system libraries.

A checkout is never among them: `.pth` files are not read inside, and `course`, wherever it stands, is covered.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

#: Shown as they are. /usr/bin for what `!ls` runs; its setuid programs have no effect under "no new privileges".
SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share/zoneinfo")
#: Links into /usr on most machines, folders on some.
OLD_NAMES = ("/bin", "/lib", "/lib32", "/lib64")
#: From /etc only what the dynamic loader and libc read; the last says which processors there are: else torch warns.
MACHINE = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/sys/devices/system/cpu")

#: The packages of which a submission sees at most what its lab allows (`visible_course.py`).
PACKAGES = ("/site-packages", "/dist-packages")
OWN_PACKAGES = ("course", "grader", "modelserver", "simgpu")
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installation:
    """`executable` runs inside; `folders` are shown read-only under their own paths; `packages` go on `sys.path`;
    `covered` are files and folders inside of those that must not be seen."""

    executable: str
    folders: tuple[str, ...]
    packages: tuple[str, ...]
    covered: tuple[str, ...]


def this_python() -> Installation:
    """Return the `Installation` of the Python that runs this, without this checkout's own packages."""
    # the real file: a virtual environment's is a link to it, and its settings are read by `site`, which stays out
    executable = os.path.realpath(sys.executable)
    packages = [path for path in map(os.path.realpath, sys.path) if path.endswith(PACKAGES) and os.path.isdir(path)]
    base = os.path.realpath(sys.base_prefix)
    wanted = [executable, os.path.join(base, "lib"), os.path.join(base, sys.platlibdir), *packages]
    folders = _outermost([path for path in [*SYSTEM, *wanted] if os.path.exists(path)])
    checkout = [os.path.join(folder, name) for folder in (str(CHECKOUT), *packages) for name in OWN_PACKAGES]
    covered = map(os.path.realpath, checkout)
    existing = {path for path in covered if os.path.exists(path) and any(_inside(path, folder) for folder in folders)}
    return Installation(executable, tuple(folders), tuple(packages), tuple(sorted(existing)))


def _outermost(paths):
    """Drop those that stand inside of another; keep the order."""
    every = list(dict.fromkeys(paths))
    return [path for path in every if not any(other != path and _inside(path, other) for other in every)]


def _inside(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")
