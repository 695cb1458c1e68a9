"""A folder in an object store, by its address: `s3://`, `gs://` or `abfs://`, by `fsspec` and the store's package.

A store has no rename, no append and no folders: an object is there whole, after one call, or not at all. So of files
that belong together the one that names the others is written last. Every call ends within a deadline and fails by an
OSError, as a disk's call would; what listings an `fsspec` file system remembers is not used.
"""

import errno
import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

from modelserver.deadlines import STORE_ANSWERS

_BYTES_A_SECOND = 1 << 20  # a line that is slower counts as broken
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs", "az": "abfs"}
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.S)
_NUMBERS = {FileNotFoundError: errno.ENOENT, FileExistsError: errno.EEXIST, PermissionError: errno.EACCES}


def is_address(folder: "str | os.PathLike | BucketPath") -> bool:
    """Whether `folder` is a store's address, with a `://`, and not a path of this machine."""
    return isinstance(folder, BucketPath) or _ADDRESS.fullmatch(os.fspath(folder)) is not None


def path_of(folder: "str | os.PathLike | BucketPath") -> "Path | BucketPath":
    """Return the `BucketPath` of an address, the `Path` of anything else; raises as `BucketPath` does."""
    return BucketPath(folder) if is_address(folder) else Path(folder)  # type: ignore[arg-type]


class BucketPath:
    """An address in a store, with that part of `pathlib.Path`'s methods that a store has.

    Each call raises OSError when the store refuses (FileNotFoundError, FileExistsError and PermissionError where it
    says so) and TimeoutError, an OSError too, when it has not answered in `STORE_ANSWERS` s and 1 s more a MiB.
    Raises ValueError for an address that no package of `fsspec` knows, ImportError, which names the extra to install,
    where its package is missing. Who may read and write is the store's own: its package finds your credentials.
    """

    _fs: Any
    _address: str

    def __init__(self, address: "str | os.PathLike | BucketPath"):
        if isinstance(address, BucketPath):
            self._fs, self._address = address._fs, address._address
            return
        self._fs = _file_system(os.fspath(address))
        self._address = os.fspath(address).rstrip("/")

    def __truediv__(self, name: str) -> "BucketPath":
        child = BucketPath(self)
        child._address = f"{self._address}/{name}"
        return child

    def __str__(self) -> str:
        return self._address

    def __repr__(self) -> str:
        return f"BucketPath({self._address!r})"

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self._address.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its last ending."""
        return os.path.splitext(self.name)[0]

    @property
    def suffix(self) -> str:
        """The last ending of the name, with its dot."""
        return os.path.splitext(self.name)[1]

    @property
    def parent(self) -> "BucketPath":
        """The address without its last part."""
        above = BucketPath(self)
        above._address = self._address.rpartition("/")[0]
        return above

    def iterdir(self) -> "Iterator[BucketPath]":
        """Yield what is directly below, objects and folders; nothing where there is nothing: no folder is empty."""
        self._fs.invalidate_cache()
        try:
            entries = {str(entry).rstrip("/") for entry in self._ask("_ls", detail=False)}
        except FileNotFoundError:
            return
        for entry in sorted(entries - {self._fs._strip_protocol(self._address)}):  # some stores have a mark of a folder
            yield self / entry.rpartition("/")[2]

    def is_dir(self) -> bool:
        """Return True: an address may always have objects below it. Whether its bucket is there, a call will tell."""
        return True

    def exists(self) -> bool:
        """Whether there is an object of this name, or any below it."""
        self._fs.invalidate_cache()
        try:
            self._ask("_info")
        except FileNotFoundError:
            return False
        return True

    def stat(self) -> Any:
        """Return an object with `st_size`, the bytes of this one."""
        self._fs.invalidate_cache()
        return SimpleNamespace(st_size=int(self._ask("_info")["size"] or 0))

    def mkdir(self, **_: Any) -> None:
        """Do nothing: a store has no folders of its own."""

    def read_bytes(self) -> bytes:
        """Return the object's content: of small ones, for the sake of the deadline."""
        return bytes(self._ask("_cat_file"))

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the object's content as text."""
        return self.read_bytes().decode(encoding)

    def contents(self) -> dict[str, bytes]:
        """Return name to content of all objects directly below: of small ones, which are asked for at a time."""
        paths = [path._address for path in self.iterdir()]
        if not paths:
            return {}
        paths = [self._fs._strip_protocol(path) for path in paths]
        contents = self._ask("_cat", nbytes=len(paths) * _BYTES_A_SECOND // 10, path=paths)
        return {path.rpartition("/")[2]: bytes(data) for path, data in contents.items()}

    def open(self, mode: str = "rb") -> BinaryIO:
        """Return the object's content as a file of this machine, which is gone when it is closed; `mode`: "rb"."""
        file, name = tempfile.mkstemp(prefix="bucket-")
        os.close(file)
        try:
            self.download(Path(name))
            if os.name == "nt":  # an open file can't be removed there
                return io.BytesIO(Path(name).read_bytes())
            return open(name, mode)  # type: ignore[return-value]
        finally:
            os.unlink(name)

    def download(self, file: Path) -> None:
        """Write the object's content to `file`, a path of this machine."""
        self._ask("_get_file", os.fspath(file), nbytes=self.stat().st_size)

    def upload(self, file: Path) -> None:
        """Make this the object with the content of `file`, a path of this machine; it is there whole, or as before."""
        self._ask("_put_file", os.fspath(file), nbytes=file.stat().st_size, from_here=True)

    def write_bytes(self, data: bytes, new: bool = False) -> None:
        """Make this the object with the content `data`; with `new`, FileExistsError where there is another already."""
        if not new:
            return self._ask("_pipe_file", data, nbytes=len(data))
        try:
            self._ask("_pipe_file", data, nbytes=len(data), mode="create")
        except TimeoutError:
            raise
        except OSError as error:
            try:
                if self.read_bytes() == data:
                    return None  # an answer was lost, and the package asked again
            except FileNotFoundError:
                raise error from None
            raise FileExistsError(errno.EEXIST, "there is one already", self._address) from None
        return None

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object; FileNotFoundError where there is none, unless `missing_ok`. (S3 doesn't tell.)"""
        try:
            self._ask("_rm_file")
        except FileNotFoundError:
            if not missing_ok:
                raise

    def _ask(
        self, call: str, *args: Any, nbytes: int = 0, from_here: bool = False, path: Any = None, **more: Any
    ) -> Any:
        """Return what the file system's method `call` returns for this address; OSError for whatever goes wrong."""
        from fsspec.asyn import sync

        seconds, path = STORE_ANSWERS + nbytes / _BYTES_A_SECOND, path or self._fs._strip_protocol(self._address)
        args = (*args, path) if from_here else (path, *args)
        try:
            return sync(self._fs.loop, getattr(self._fs, call), *args, timeout=seconds, **more)
        except TimeoutError:
            raise TimeoutError(
                errno.ETIMEDOUT, f"the store has not answered in {seconds:.0f} s", self._address
            ) from None
        except OSError as error:
            kind = next((kind for kind in _NUMBERS if isinstance(error, kind)), OSError)
            number = _NUMBERS.get(kind, error.errno or errno.EIO)
            raise kind(number, str(error.strerror or error) or kind.__name__, self._address) from error
        except Exception as error:  # each store's package has its own for no network, no credentials, no such host
            raise OSError(errno.EIO, f"{type(error).__name__}: {error}", self._address) from error


def _file_system(address):
    """Return the asynchronous file system of `fsspec` for an address."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    protocol, _, place = address.partition("://")
    if not place.strip("/"):
        raise ValueError(f"{address}: there is no bucket in this address. Give {protocol}://BUCKET/FOLDER.")
    try:
        fs, _ = url_to_fs(address)
    except ImportError as error:
        extra = _EXTRAS.get(protocol)
        install = f"pip install 'course[{extra}]'" if extra else str(error)
        raise ImportError(f"{address}: the package for {protocol}:// is missing: {install}.") from None
    except ValueError as error:
        raise ValueError(f"{address}: {error}. Give s3://, gs:// or abfs:// BUCKET/FOLDER, or a folder here.") from None
    return fs if fs.async_impl else AsyncFileSystemWrapper(fs, asynchronous=False)
