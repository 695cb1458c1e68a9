"""A study's journal at a store's address. A store has no append: each change is an object, whole or not there.

Objects are numbered, and one that is there is never written again, so two drivers can't mix their changes even where
both believe that the journal is theirs. Joined in the order of their names, they are the lines of a journal's file.
"""

import json
import re
from typing import Any

from optuna.storages.journal import BaseJournalBackend

from course.tuning.result import TuningError
from course.tuning.seal import sealed
from modelserver.bucket import BucketPath

_NAME = re.compile(r"change-(\d{9})\.json")


class BucketJournal(BaseJournalBackend):
    """The changes in `folder`, which one driver has: read once, by `content`, and then kept here as they are written.

    `content`: the lines of all objects. `whole`: how many of them count, with the check sum `total`; the others are
    removed before the next one is written.
    """

    def __init__(self, folder: BucketPath, content: bytes, whole: int, total: int):
        self._folder, self._objects, self._sum = folder, content.count(b"\n"), total
        self._changes = [json.loads(line) for line in content.split(b"\n")[:whole]]

    def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
        """Return the changes from this number on."""
        return self._changes[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write each change and wait until the store has it; TuningError when it refuses, or another driver writes."""
        try:
            for number in range(self._objects - 1, len(self._changes) - 1, -1):  # what a driver left half written
                _object(self._folder, number).unlink(missing_ok=True)
            for change in logs:
                change, total = sealed(change, self._sum)
                line = json.dumps(change, separators=(",", ":")).encode() + b"\n"
                _object(self._folder, len(self._changes)).write_bytes(line, new=True)
                self._changes.append(change)
                self._sum = total
            self._objects = len(self._changes)
        except FileExistsError as error:
            raise TuningError(
                f"tune(journal={str(self._folder)!r}): another driver writes into this journal: {error}. What this one "
                "had written is whole. Let one of them go on, and give each search a journal of its own."
            ) from error
        except OSError as error:
            raise TuningError(
                f"tune(journal={str(self._folder)!r}): it can't be written: {error}. What was written before is whole: "
                "when the store answers again, the same call goes on from it."
            ) from error


def content_of(folder: BucketPath) -> bytes:
    """Return the lines of the journal in `folder`, b"" for a new one; ValueError where an object is missing."""
    contents = {int(match[1]): data for name, data in folder.contents().items() if (match := _NAME.fullmatch(name))}
    for number in range(len(contents)):
        if number not in contents or contents[number].count(b"\n") != 1 or not contents[number].endswith(b"\n"):
            raise ValueError(
                f"tune(journal={str(folder)!r}): {_object(folder, number)} is missing or damaged; all stays as it is. "
                "Name another journal."
            )
    return b"".join(contents[number] for number in range(len(contents)))


def _object(folder, number):
    return folder / f"change-{number:09d}.json"
