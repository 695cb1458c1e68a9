"""Reading a download, a zip or its unpacked folder, file by file: nothing of it is unpacked onto the disk.

Names inside are compared and never opened as paths; sizes are counted while reading, not believed.
"""

import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from grader.classroom.folders import ClassError, shown
from grader.submission.read import LIMIT, Unreadable

FILES = 50_000
TOTAL = 8 * 1024**3  # bytes unpacked, over the whole download
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)


@dataclass
class Download:
    """An open download: `names` inside it, and `read(name)`."""

    names: list
    _read: Callable[[str], IO[bytes]]
    _budget: int = TOTAL

    def read(self, name: str) -> bytes:
        """Return the bytes of the file so called. Raises Unreadable; ClassError for a download that is too large."""
        try:
            with self._read(name) as file:
                data = file.read(LIMIT + 1)
        except _BROKEN as error:
            raise Unreadable(f"it can't be read from the download: {error}.") from None
        self._budget -= len(data)
        if self._budget < 0:
            raise ClassError(f"the download unpacks to more than {TOTAL / 1e9:.0f} GB: it is no class's. Look into it.")
        if len(data) > LIMIT:
            raise Unreadable(f"it is larger than {LIMIT / 1e6:.0f} MB, the most that is read.")
        return data


@contextmanager
def open_download(path: Path | str) -> Iterator[Download]:
    """Open the download at `path`, a zip file or a folder, within the `with`. Raises ClassError for what is neither."""
    path = Path(path)
    if path.is_dir():
        yield _folder(path)
        return
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        problem = f"there is no {path}. Name the zip that you downloaded, or the folder it was unpacked to."
        raise ClassError(problem) from None
    except _BROKEN as error:
        raise ClassError(f"{path} is neither a zip nor a folder ({error}). Download it again.") from None
    with archive:
        yield _zip(path, archive)


def _zip(path, archive):
    _few(path, len(archive.infolist()))
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    counts = Counter(entry.filename for entry in entries)

    def read(name):
        # nobody can say which of two entries by one name is meant: neither is read
        if counts[name] > 1:
            raise ValueError("two files have this name")
        entry = archive.getinfo(name)
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise ValueError("it is a symbolic link")
        if entry.flag_bits & 1:
            raise ValueError("it is encrypted")
        return archive.open(entry)

    return Download(list(counts), read)


def _folder(path):
    names = []
    for place, folders, files in os.walk(path, followlinks=False):
        folders.sort()
        names += [os.path.relpath(os.path.join(place, file), path) for file in sorted(files)]
        _few(path, len(names))

    def read(name):
        descriptor = os.open(path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(descriptor, "rb")
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            file.close()
            raise ValueError("it is no plain file")
        return file

    return Download(names, read)


def _few(path, count):
    if count > FILES:
        raise ClassError(f"{shown(str(path))} has more than {FILES} files: it is no class's download. Look into it.")
