"""The file in which a study is kept: Optuna's journal, for one driver at a time, read with care and never half written.

Each line is one change as JSON, with a check sum (`seal`). Nothing in it is ever unpickled or run. A file that is not
such a journal, or that is damaged before its last line, is refused and left as it is. What a driver left half written
when it died is cut off: a last line without its end, and a last trial without all of its hyperparameters. No decision
rests on either.

Optuna's own lock is taken anew for each line, for 167 µs, and one that a killed process left keeps everyone out for
30 s. So the backend gets the driver's lock, `filelock`'s, which ends with its process: again takes 45 µs a line.

At a store's address a journal is many objects: `bucket_journal` has them, under the lock of checkpoints' folders.
"""

import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from optuna.storages.journal import BaseJournalBackend, JournalFileBackend

from course.training.checkpoint.folder_lock import lock_of
from course.tuning.bucket_journal import BucketJournal, content_of
from course.tuning.result import TuningError
from course.tuning.seal import check_sums, sealed
from course.tuning.space import Space
from modelserver.bucket import BucketPath, is_address

#: The name of the one study in a journal of the course; what else is in a file is another's.
STUDY = "course.tuning"
_BEGINS = b'{"op_code":0,'
_CREATE_TRIAL, _SET_PARAMETER = 4, 5  # Optuna's codes of two operations


class Journal(JournalFileBackend):
    """Optuna's file of lines, where an append that fails, on a full disk say, takes back what it had written.

    `lock`: held for as long as the driver runs. `whole`: the lines, and bytes, of the file that count, and their check
    sum; what comes after them is not read, and is cut off when the next line is written.
    """

    def __init__(self, path: Path, lock: FileLock, whole: tuple[int, int, int]):
        super().__init__(str(path), lock)  # type: ignore[arg-type]  # it has `acquire` and `release`, and may be taken again
        self._path = path
        self._lines: int | None
        self._lines, self._bytes, self._sum = whole

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any], None, None]:
        """Yield the changes from this number on; TuningError when the file is gone, or the disk refuses."""
        most = None if self._lines is None else max(0, self._lines - log_number_from)
        try:
            yield from islice(super().read_logs(log_number_from), most)
        except OSError as error:
            raise TuningError(f"tune(journal={str(self._path)!r}): it can't be read any more: {error}.") from error

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append the changes and wait until the disk has them; TuningError, and none of them, when it refuses."""
        try:
            if self._path.stat().st_size > self._bytes:
                _cut(self._path, self._bytes)
            self._lines, total, lines = None, self._sum, []
            for change in logs:
                line, total = sealed(change, total)
                lines.append(line)
            super().append_logs(lines)
            self._bytes, self._sum = self._path.stat().st_size, total
        except OSError as error:
            with suppress(OSError):  # the file is gone, and nothing of it half written
                _cut(self._path, self._bytes)
            raise TuningError(
                f"tune(journal={str(self._path)!r}): it can't be written: {error}. What was written before is whole: "
                "when there is space again, the same call goes on from it."
            ) from error


@contextmanager
def locked_journal(file: str | os.PathLike, space: Space) -> Iterator[BaseJournalBackend]:
    """Within the `with`, this driver alone has the journal `file`, or at that address; it is made where there is none.

    `space`: of its trials' hyperparameters. Raises ValueError, at once, for a file that another driver
    has, in this process too; for one that is not a journal of the course, or is damaged, which stays as it is; and for
    a place that can't be written. The lock, a file beside it, ends with the process that holds it.
    """
    if is_address(file):
        with lock_of(file, argument="tune(journal"):
            yield _in_bucket(BucketPath(file), space)
        return
    path = Path(file)
    lock = FileLock(f"{path}.lock", timeout=0, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"tune(journal={str(path)!r}): another driver is tuning with this journal. Wait for its end, or give each "
            "search a file of its own."
        ) from None
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        try:
            with path.open("ab"):  # whether it can be written, before anything starts
                pass
            journal = Journal(path, lock, _whole(path, path.read_bytes(), space))
        except OSError as error:
            raise _unusable(path, error) from error
        yield journal
    finally:
        lock.release()


def _in_bucket(folder, space):
    try:
        content = content_of(folder)
    except OSError as error:
        raise _unusable(folder, error) from error
    count, _, total = _whole(folder, content, space)
    return BucketJournal(folder, content, count, total)


def _unusable(path, error):
    return ValueError(
        f"tune(journal={str(path)!r}): it can't be used: {error}. Name a file of yours on a disk with space."
    )


def _whole(path, content, space):
    """Return how many lines, and bytes, of `content` are whole changes of a journal of the course, and their check sum.

    `path`: where it was read. ValueError where none is, or one is damaged.
    """
    *lines, rest = content.split(b"\n")
    sums = check_sums(lines)
    codes = [_code(line, first=number == 0) if sums[number][0] else None for number, line in enumerate(lines)]
    if codes[:1] == [None] or not lines and not rest.startswith(_BEGINS[: len(rest)]):
        raise ValueError(
            f"tune(journal={str(path)!r}): this file is not a journal of the course; it stays as it is. Name another "
            "file: a new one is made."
        )
    if None in codes:
        number = codes.index(None) + 1
        raise ValueError(
            f"tune(journal={str(path)!r}): line {number} is damaged; the file stays as it is. Name another file, "
            f"or a copy of this one that ends before line {number}."
        )
    count = len(lines)
    if _CREATE_TRIAL in codes:
        last = count - 1 - codes[::-1].index(_CREATE_TRIAL)  # a driver writes a trial's hyperparameters all at once
        written = [json.loads(lines[at]) for at in range(last, count) if codes[at] == _SET_PARAMETER]
        values = {change.get("param_name"): change.get("param_value_internal") for change in written}
        count = count if space.is_complete(values) else last
    return count, sum(len(line) + 1 for line in lines[:count]), sums[count - 1][1] if count else 0


def _code(line, first):
    """Return the code of the operation in a line of a journal of the course, None for any other line."""
    try:
        change = json.loads(line)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError too
        return None
    if not isinstance(change, dict) or not isinstance(change.get("worker_id"), str):
        return None
    code = change.get("op_code")
    is_legal = code == 0 and change.get("study_name") == STUDY if first else isinstance(code, int) and 2 <= code <= 9
    return code if is_legal else None


def _cut(path, size):
    with path.open("r+b") as file:
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())
