"""What every worker is to have loaded; a program that can't be loaded takes no other with it."""

import logging
from collections import Counter
from pathlib import Path

from modelserver.front.worker_process import NotLoaded, WorkerLost, WorkerProcess

_log = logging.getLogger(__name__)
#: A program that so many workers had begun to load when they ended is given to no other.
_ATTEMPTS = 2


class Programs:
    """Programs by their numbers: of which folder each is, and of which signature."""

    def __init__(self) -> None:
        self._all: dict[int, tuple[Path, str]] = {}
        self._ended: Counter[int] = Counter()  # workers, while they loaded it

    def add(self, program: int, folder: Path, signature: str) -> None:
        """Have every worker load `program` from now on."""
        self._all[program] = folder, signature

    def remove(self, program: int) -> None:
        """Have no worker load it any more; nothing happens where none did."""
        self._all.pop(program, None)
        self._ended.pop(program, None)

    async def load(self, worker: WorkerProcess, program: int) -> None:
        """Load it in `worker`; raises NotLoaded, which it does for one that two workers ended at, or WorkerLost."""
        folder, signature = self._all[program]
        if self._ended[program] >= _ATTEMPTS:
            raise NotLoaded(f"{_ATTEMPTS} workers ended while they loaded {folder}")
        try:
            await worker.load(program, folder, signature)
        except WorkerLost as lost:
            self._ended[program] += lost.begun
            raise
        self._ended.pop(program, None)

    async def load_missing(self, worker: WorkerProcess, known: frozenset[int] = frozenset()) -> frozenset[int]:
        """Load all that `worker` lacks; return what it could not load, which is logged unless it is in `known`.

        Raises WorkerLost.
        """
        missing: set[int] = set()
        while lacking := self._all.keys() - worker.programs - missing:
            program = min(lacking)
            try:
                await self.load(worker, program)
            except NotLoaded as error:
                missing.add(program)
                if program not in known:
                    _log.error("worker %d goes without what it can't load: %s", worker.pid, error)
        return frozenset(missing)
