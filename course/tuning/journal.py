"""The file in which a study is kept: Optuna's journal, for one driver at a time, read with care and never half written.

Each line is one change as JSON. Nothing in it is ever unpickled or run. A file that is not such a journal, or that is
damaged before its last line, is refused and left as it is. A last line without its end is what a driver left that died
while it wrote: no decision rests on it, and it is cut off.
"""

import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from course.tuning.result import TuningError

#: The name of the one study in a journal of the course; what else is in a file is another's.
STUDY = "course.tuning"
_BEGINS = b'{"op_code":0,'


class Journal(JournalFileBackend):
    """Optuna's file of lines, where an append that fails, on a full disk say, takes back what it had written.

    `whole`: how many bytes of the file are whole lines; what comes after them is cut off when the next line is written.
    """

    def __init__(self, path: Path, whole: int):
        super().__init__(str(path), _Held(str(path)))
        self._path, self._whole = path, whole

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any], None, None]:
        """Yield the changes from this number on; TuningError when the file is gone, or the disk refuses."""
        try:
            yield from super().read_logs(log_number_from)
        except OSError as error:
            raise TuningError(f"tune(journal={str(self._path)!r}): it can't be read any more: {error}.") from error

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append the changes and wait until the disk has them; TuningError, and none of them, when it refuses."""
        try:
            if self._path.stat().st_size > self._whole:
                _cut(self._path, self._whole)
            super().append_logs(logs)
            self._whole = self._path.stat().st_size
        except OSError as error:
            with suppress(OSError):  # the file is gone, and nothing of it half written
                _cut(self._path, self._whole)
            raise TuningError(
                f"tune(journal={str(self._path)!r}): it can't be written: {error}. What was written before is whole: "
                "when there is space again, the same call goes on from it."
            ) from error


class _Held(JournalFileOpenLock):
    """No lock for each line: `locked_journal` has the file for as long as the driver runs."""

    def acquire(self):
        return True

    def release(self):
        pass


@contextmanager
def locked_journal(given: str | os.PathLike) -> Iterator[Journal]:
    """Within the `with`, this driver alone has the journal at the path `given`, which is made where there is none.

    Raises ValueError, at once, for a file that another driver has, in this process too; for one that is not a journal
    of the course, or is damaged, which stays as it is; and for a place that can't be written. The lock, a file beside
    it, ends with the process that holds it, however that ends.
    """
    path = Path(given)
    lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"tune(journal={str(given)!r}): another driver is tuning with this journal. Wait for its end, or give each "
            "search a file of its own."
        ) from None
    except OSError as error:
        raise _unusable(given, error) from error
    try:
        yield _opened(path, given)
    finally:
        lock.release()


def _opened(path, given):
    try:
        with path.open("ab"):  # whether it can be written, before anything starts
            pass
        return Journal(path, _checked(path.read_bytes(), given))
    except OSError as error:
        raise _unusable(given, error) from error


def _unusable(given, error):
    return ValueError(
        f"tune(journal={str(given)!r}): it can't be used: {error}. Name a file of yours on a disk with space."
    )


def _checked(content, given):
    """Return how many bytes of `content` are whole lines of a journal of the course; ValueError for another file."""
    *lines, rest = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if number == 1 and not _is_change(line, first=True):
            raise _foreign(given)
        if not _is_change(line, first=number == 1):
            raise ValueError(
                f"tune(journal={str(given)!r}): line {number} is damaged; the file stays as it is. Name another file, "
                f"or a copy of this one that ends before line {number}."
            )
    if not lines and not rest.startswith(_BEGINS[: len(rest)]):
        raise _foreign(given)
    return len(content) - len(rest)


def _foreign(given):
    return ValueError(
        f"tune(journal={str(given)!r}): this file is not a journal of the course; it stays as it is. Name another "
        "file: a new one is made."
    )


def _is_change(line, first):
    try:
        change = json.loads(line)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError too
        return False
    if not isinstance(change, dict) or not isinstance(change.get("worker_id"), str):
        return False
    code = change.get("op_code")
    if first:
        return code == 0 and change.get("study_name") == STUDY
    return isinstance(code, int) and 2 <= code <= 9


def _cut(path, size):
    with path.open("r+b") as file:
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())
