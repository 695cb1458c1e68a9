"""A store of objects in this process, at `strict://…`: no rename, no copy, no append; it can refuse, or fall silent."""

import contextlib
import threading

import fsspec
from fsspec.implementations.memory import MemoryFileSystem


class StrictStore(MemoryFileSystem):
    """Objects by their paths; `refuse(call, path)`, where a test sets it, raises what the store answers a call with."""

    protocol = "strict"
    store, pseudo_dirs = {}, [""]
    refuse = None
    silent = None  # an Event: calls wait until it is set

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(str(path).removeprefix("strict://"))

    def _asked(self, call, path):
        if StrictStore.silent is not None:
            StrictStore.silent.wait(60)
        if StrictStore.refuse is not None:
            StrictStore.refuse(call, str(path))

    def ls(self, path, detail=True, **more):
        self._asked("ls", path)
        return super().ls(path, detail, **more)

    def info(self, path, **more):
        self._asked("info", path)
        return super().info(path, **more)

    def cat_file(self, path, start=None, end=None, **more):
        self._asked("read", path)
        return self.store[path].getvalue() if path in self.store else self.open(path)

    def get_file(self, rpath, lpath, **more):
        self._asked("read", rpath)
        super().get_file(rpath, lpath, **more)

    def pipe_file(self, path, value, mode="overwrite", **more):
        self._asked("write", path)
        super().pipe_file(path, value, mode=mode, **more)

    def put_file(self, lpath, rpath, **more):
        self._asked("write", rpath)
        with open(lpath, "rb") as file:
            super().pipe_file(rpath, file.read())

    def rm_file(self, path):
        self._asked("remove", path)
        if path not in self.store:
            raise FileNotFoundError(path)
        del self.store[path]

    def _never(self, *_, **__):
        raise NotImplementedError("a store has no such call")

    mv = move = rename = copy = cp = cp_file = _never


@contextlib.contextmanager
def strict_store():
    """Within the `with`, the class of an empty store, at addresses such as strict://bucket/folder."""
    fsspec.register_implementation("strict", StrictStore, clobber=True)
    try:
        yield StrictStore
    finally:
        if StrictStore.silent is not None:
            StrictStore.silent.set()
        StrictStore.refuse = StrictStore.silent = None
        StrictStore.store.clear()


def objects(store=StrictStore):
    """Return the paths of all objects, in order."""
    return sorted(store.store)


def full(*calls, error=None):
    """Return a `refuse` that raises `error`, PermissionError by default, at these calls, at any where none is named."""

    def refuse(call, path):
        if not calls or call in calls:
            raise error or PermissionError(13, "no")

    return refuse


def fall_silent():
    """Have the store answer nothing until the `with` of `strict_store` ends, or the event that is returned is set."""
    StrictStore.silent = threading.Event()
    return StrictStore.silent
