"""Models at a store's address: a version is uploaded with its list of checksums last, and served from a copy of it.

A store has no rename. What makes a version whole is that list, which is read first; the object `.claim`, which only
one caller can create, gives a number to one export alone.
"""

import logging
import os
import shutil
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from modelserver.bucket import BucketPath
from modelserver.deadlines import BUCKET_LOOKED_AT_EVERY, STORE_ANSWERS
from modelserver.versions.checksums import NAME, DamagedVersion, listed_names, verified_names
from modelserver.versions.pin import PIN, held_in, hold
from modelserver.versions.publish import MODEL, model_folder, prune
from modelserver.versions.version import numbers

_CLAIM = ".claim"
_COPIES = 3  # of a model: the newest, which are judged by one another
_log = logging.getLogger(__name__)


def uploaded(folder: Path, model: BucketPath, keep: int) -> BucketPath:
    """Make the whole version in `folder` the next one of `model`, at an address; return its own. `keep` stay.

    Raises OSError when the store refuses; no version has appeared then.
    """
    target = None
    try:
        target = _claimed(model)
        for path in sorted(folder.iterdir(), key=lambda path: (path.name == NAME, path.name)):
            (target / path.name).upload(path)
    except BaseException as error:  # an interrupt too
        if target is not None:
            with suppress(OSError):
                _remove(target, [*(path.name for path in folder.iterdir()), _CLAIM])
        if isinstance(error, OSError):
            text = f"{error.strerror}: no version of {model.name} was written. Export again when the store takes it"
            raise type(error)(error.errno, text, error.filename) from error
        raise
    try:
        _prune(model, keep)
    except OSError as error:  # the new one is there
        _log.warning("old versions of %s stay: %s", model, error)
    return target


@contextmanager
def copied(directory: BucketPath, folder: Path) -> Iterator[None]:
    """Within the `with`, `folder` has copies of the newest versions at `directory`, and of what each model is held at.

    The first copies are there when it begins; OSError when the store refuses them. A thread looks for new ones; a store
    that is lost later is logged, and the copies stay.
    """
    copies, end = _Copies(directory, folder), threading.Event()
    copies.look(end)
    thread = threading.Thread(target=_keep_looking, args=(copies, end), name="bucket-models", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join(STORE_ANSWERS)


def fetched(version: BucketPath, model: Path) -> Path:
    """Copy the version at an address into the `model`'s folder here, whole and as its checksums say; return its folder.

    Raises DamagedVersion, FileNotFoundError for one that is not complete, OSError when the store refuses.
    """
    aside = model / f".fetched.{uuid.uuid4().hex}"
    aside.mkdir(mode=0o755)
    try:
        (aside / NAME).write_bytes((version / NAME).read_bytes())
        for name in listed_names(aside):
            (version / name).download(aside / name)
        verified_names(aside)
        for path in aside.iterdir():
            path.chmod(0o644)
        os.rename(aside, model / version.name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return model / version.name


class _Copies:
    def __init__(self, directory, folder):
        self._directory, self._folder = directory, folder
        self._damaged: dict[str, bytes] = {}  # a version's address -> the list of checksums that it doesn't fit

    def look(self, end):
        """Copy what is new at the address, until the event `end` is set."""
        for model in self._directory.iterdir():
            if MODEL.fullmatch(model.name) and not end.is_set():
                self._look_at(model, end)

    def _look_at(self, model, end):
        names = {path.name for path in model.iterdir()}
        there = [number for number in numbers(model)] if names else []
        if not there:
            return
        here = model_folder(self._folder, model.name)
        newest = max(numbers(here), default=0)
        held = held_in(model) if PIN in names else None
        wanted = {number for number in there if number > newest} & set(there[-_COPIES:]) | ({held} & set(there))
        for number in sorted(wanted - set(numbers(here))):
            if not end.is_set():
                self._fetch(model / str(number), here)
        hold(here, held)
        prune(here, _COPIES)

    def _fetch(self, version, here):
        try:
            checksums = (version / NAME).read_bytes()
            if self._damaged.get(str(version)) == checksums:
                return
            fetched(version, here)
            _log.info("%s is copied", version)
        except FileNotFoundError:
            return  # it is being written, or was removed
        except DamagedVersion as error:
            self._damaged[str(version)] = checksums
            _log.error("%s is not copied: %s", version, error)


def _keep_looking(copies, end):
    lost = ""
    while not end.wait(BUCKET_LOOKED_AT_EVERY):
        try:
            copies.look(end)
            lost = ""
        except OSError as error:
            if str(error) != lost and not end.is_set():
                _log.error("the store can't be looked at, what is served stays: %s", error)
            lost = str(error)
        except Exception:  # the store's package may raise anything; the next look may go well
            _log.exception("the store can't be looked at, what is served stays")


def _claimed(model):
    """Return the address of the next version of `model`, which is this caller's alone."""
    number, claim = max(numbers(model), default=0), uuid.uuid4().hex.encode()
    while True:
        number += 1
        with suppress(FileExistsError):
            (model / str(number) / _CLAIM).write_bytes(claim, new=True)
            return model / str(number)


def _prune(model, keep):
    held = held_in(model)
    for number in numbers(model)[:-keep]:
        version = model / str(number)
        names = [path.name for path in version.iterdir()]
        if number != held and NAME in names:  # one without it may be on its way
            _remove(version, names)


def _remove(version, names):
    """Remove these objects of a version: the list of checksums first, that no version lacks a file; the claim last."""
    for name in sorted(names, key=lambda name: (name != NAME, name == _CLAIM)):
        (version / name).unlink(missing_ok=True)
