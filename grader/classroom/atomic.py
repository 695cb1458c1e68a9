"""Writing that a power cut can't tear: afterwards a file is the old one or the new one, whole."""

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.classroom.folders import ClassError


def write(path: Path | str, data: str | bytes, mode: int = 420) -> None:
    """Put `data` (text or bytes) into the file at `path`, all of it or, if that fails, none."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:60]}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
    descriptor = os.open(path.parent, os.O_RDONLY)  # the new name must outlive a power cut too
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, data: object) -> None:
    """Put `data` into the file at `path` as JSON."""
    write(path, json.dumps(data, ensure_ascii=True, indent=1) + "\n", 0o600)


def read_json(path: Path) -> Any:
    """Return what the JSON file at `path` holds, or None where there is no such file or it is torn."""
    try:
        return json.loads(Path(path).read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def append_lines(path: Path, records: Sequence[dict]) -> None:
    """Add `records` to a file of JSON lines. A line torn by a power cut stays alone on its line and is skipped."""
    if not records:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(max(0, file.tell() - 1))  # it was opened at its end
        torn = file.read() not in (b"", b"\n")
        file.write(b"\n" * torn + "".join(json.dumps(record) + "\n" for record in records).encode())
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path) -> Iterator[Any]:
    """Yield the records of a file of JSON lines, without those that are torn."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the class's folder for this process, within the `with`. Raises ClassError where another process holds it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            at_work = f"another command is at work on {folder.parent} (process {lock.read().strip() or 'unknown'})"
            raise ClassError(f"{at_work}. Run this again when it is done.") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
