"""Looks for new versions, and for the file that names the one to serve; never serves one that is not whole."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from modelserver.deadlines import VERSIONS_LOOKED_AT_EVERY
from modelserver.front.metrics import Metrics
from modelserver.front.models import Model, Models, NotTaken, NoWorker
from modelserver.versions.pin import pinned
from modelserver.versions.version import numbers

_log = logging.getLogger(__name__)
#: At its start a server looks at so many of the newest versions, the oldest first: each is judged by the one before.
_AT_START = 3


class Watcher:
    """Looks at `directory` again and again, one version at a time."""

    def __init__(self, directory: Path, models: Models, metrics: Metrics):
        self._directory, self._models, self._metrics = directory, models, metrics
        self._refused: dict[tuple[str, int], tuple] = {}
        self._unseen: dict[Path, str] = {}  # what could not be looked at, and why
        self.looked = asyncio.Event()

    async def watch(self) -> None:
        """Look, for ever; `looked` is set after the first time."""
        while True:
            with self._going_on(self._directory):
                await self.look()
            self.looked.set()
            await asyncio.sleep(VERSIONS_LOOKED_AT_EVERY)

    async def look(self) -> None:
        """Look once: for new models, and at each model's folder; one that can't be looked at holds up no other."""
        folders = [path for path in sorted(self._directory.iterdir()) if not path.name.startswith(".")]
        for folder in folders:
            with self._going_on(folder):
                if folder.name not in self._models.all and folder.is_dir() and (there := numbers(folder)):
                    self._models.all[folder.name] = Model(folder.name, folder, awaited=set(there))
        self._models.listed = True
        for model in [self._models.all[path.name] for path in folders if path.name in self._models.all]:
            with self._going_on(model.folder):
                await self._look_at(model)
            model.awaited.clear()

    @contextmanager
    def _going_on(self, folder: Path) -> Iterator[None]:
        """Within the `with`, an error at `folder` is logged, once for as long as it stays the same."""
        try:
            yield
        except OSError as error:  # a disk that is gone for a while; what is loaded goes on
            if self._unseen.get(folder) != str(error):
                _log.error("%s can't be looked at: %s", folder, error)
            self._unseen[folder] = str(error)
        except Exception as error:  # numpy, zipfile and torch raise any error at what lies in a folder; requests go on
            if self._unseen.get(folder) != repr(error):
                _log.exception("%s can't be looked at", folder)
            self._unseen[folder] = repr(error)
        else:
            self._unseen.pop(folder, None)

    async def _look_at(self, model: Model) -> None:
        held = pinned(model.folder)
        current = model.current.version.number if model.current else 0
        if held is not None:
            if held != current:
                await self._try(model, held, by_command=True)
            if model.current is not None:
                return
        fresh = [number for number in numbers(model.folder) if number > current]
        if not current:
            fresh = fresh[-_AT_START:]
        model.awaited = set(fresh)
        if not current:
            for number in fresh:
                await self._try(model, number)
            return
        for number in reversed(fresh):  # the newest good one; those before it are not needed
            if await self._try(model, number):
                return

    async def _try(self, model: Model, number: int, by_command: bool = False) -> bool:
        """Take a version up, unless it was refused and hasn't changed since; return whether it is served now."""
        key, stamp = (model.name, number), (_stamp(model.folder / str(number)), by_command)
        if self._refused.get(key) == stamp:
            model.awaited.discard(number)
            return False
        try:
            await self._models.take_up(model, number, by_command)
        except NotTaken as error:
            if not isinstance(error, NoWorker):
                self._refused[key] = stamp
            self._metrics.refused[model.name] += 1
            served = f"version {model.current.version.number} stays" if model.current else "nothing is served"
            _log.error("%s version %d is refused, %s: %s", model.name, number, served, error)
            model.problem = f"version {number}: {error}" if model.current is None else ""
            return False
        finally:
            model.awaited.discard(number)
        self._refused.pop(key, None)
        return True


def _stamp(folder):
    """Return what changes when anything in a version's folder does."""
    states = []
    for path in (folder, *sorted(folder.glob("*"))):
        try:
            state = path.stat()
        except OSError:
            continue
        states.append((path.name, state.st_mtime_ns, state.st_ctime_ns, state.st_size))
    return tuple(states)
