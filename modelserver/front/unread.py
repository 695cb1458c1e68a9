"""Answers that their callers don't read: past a limit for all together, those that wait longest are given up."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass

_log = logging.getLogger(__name__)


@dataclass
class _Answer:
    size: Callable[[], int]
    give_up: Callable[[], object]
    counted: int = 0


class Unread:
    """Answers that were written and are not read yet: `limit` bytes together, or one answer that is larger."""

    def __init__(self, limit: int):
        self._limit, self._counted = limit, 0
        self._waiting: dict[Hashable, _Answer] = {}

    def add(self, reader: Hashable, size: Callable[[], int], give_up: Callable[[], object]) -> None:
        """Count the answer to `reader`, of which `size()` bytes wait; `give_up()` is called if it has to go."""
        self._count(self._waiting.setdefault(reader, _Answer(size, give_up)))
        if self._counted <= self._limit:
            return
        for answer in self._waiting.values():
            self._count(answer)  # some of it may have been read meanwhile
        for waiting in list(self._waiting)[:-1]:
            if self._counted <= self._limit:
                return
            answer = self._waiting[waiting]
            if answer.counted:
                text = "an answer is given up with %d bytes that are not read: all together are %d"
                _log.warning(text, answer.counted, self._counted)
                answer.give_up()
            self.remove(waiting)

    def remove(self, reader: Hashable) -> None:
        """Forget the answer to `reader`, which was read or given up."""
        if (answer := self._waiting.pop(reader, None)) is not None:
            self._counted -= answer.counted

    def _count(self, answer):
        size = answer.size()
        self._counted += size - answer.counted
        answer.counted = size
