"""A clock that jumps for some processes only: libfaketime, never the machine's own clock."""

import contextlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from tests.helpers.namespaces import NotHereError

_PLACES = ("/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime", "/usr/lib64/faketime")


class Clock:
    """A wall clock for processes started with `environment`; `jump` moves it under them while they run."""

    def __init__(self, library, path):
        self._path = path
        self.environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(path),
            "FAKETIME_CACHE_DURATION": "1",  # read the file once a second
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # else each timed wait ends at once, and threads fight for the GIL
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # as when somebody sets a real clock: the monotonic one goes on
        }
        self.jump(0)

    def jump(self, seconds):
        """Set the clock so many seconds before or after the true time, in one moment."""
        new = self._path.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        os.replace(new, self._path)


@contextlib.contextmanager
def clock():
    """Within the `with`, a `Clock`; NotHereError where there is no libfaketime."""
    library = _library()
    with tempfile.TemporaryDirectory(prefix="course-clock-") as folder:
        yield Clock(library, Path(folder) / "time")


def _library():
    if sys.platform != "linux":
        raise NotHereError("a clock that jumps needs Linux and libfaketime")
    spec = importlib.util.find_spec("libfaketime")
    packages = [Path(spec.origin).parent / "vendor/libfaketime/src"] if spec else []
    for folder in [*packages, *map(Path, _PLACES)]:
        if (folder / "libfaketime.so.1").exists():
            return folder / "libfaketime.so.1"
    raise NotHereError("a clock that jumps needs libfaketime (`pip install libfaketime`, or your system's package)")
