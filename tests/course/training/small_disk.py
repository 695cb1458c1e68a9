"""A small disk of its own for a test: a tmpfs, mounted and unmounted; only Linux and root can have one."""

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helpers.namespaces import NotHereError

_PREFIX = "course-disk-"


@contextlib.contextmanager
def small_disk(megabytes=1):
    """Within the `with`, a folder that holds so many megabytes and not more; NotHereError where none can be had."""
    if sys.platform != "linux":
        raise NotHereError("a small disk is a tmpfs, which Linux has")
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "course-small-disk", folder]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotHereError(f"no small disk (tmpfs) can be mounted here: {done.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def sweep(folder):
    """Unmount what a killed process may have left of `small_disk` in its folder for temporary files."""
    for disk in Path(folder).glob(f"{_PREFIX}*"):
        subprocess.run(["umount", "--lazy", disk], capture_output=True, check=False)
