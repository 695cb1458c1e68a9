"""A folder of a running sandbox, seen from outside: what lies in it, and what a crash could have left of it.

Nothing in the sandbox has a part in it: files are opened from here, below one descriptor, and followed through no link;
the kernel's notices (inotify) say in which order names came, went and were written. A file whose bytes changed without
a notice, as through `mmap`, was written in place. Linux only, where marks are made.
"""

import ctypes
import os
import stat
import struct
from dataclasses import dataclass
from typing import NamedTuple

MODIFIED, MOVED_FROM, MOVED_TO, MADE, REMOVED = 0x2, 0x40, 0x80, 0x100, 0x200  # of <sys/inotify.h>
ENTRIES, BYTES, DEPTH = 200, 1 << 20, 8  # the most that is read


class TooMuch(Exception):
    """The folder holds more than is read; the text says how much that is."""


class Entry(NamedTuple):
    """A file's bytes, a link's target or None for a folder; when it was changed, in nanoseconds; its inode."""

    data: bytes | str | None
    changed: int
    inode: int = 0


class Notice(NamedTuple):
    """Something that happened: `mask` of inotify, the path in the folder, and the cookie that joins a move's halves."""

    mask: int
    path: str
    cookie: int


class WatchedFolder:
    """The folder at a path, from now on. Use it in a `with`; it can be looked at when its sandbox is gone, too."""

    def __init__(self, path: str) -> None:
        """Raises OSError where there is no such folder, or no inotify to be had."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._notices = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._notices < 0:
            os.close(self._folder)
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self._watched: dict[int, str] = {}  # number of a watch -> path of its folder
        self.entries: dict[str, Entry] = {}  # as of the last look
        try:
            self.look()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> "WatchedFolder":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._notices)
        os.close(self._folder)

    def look(self) -> list[dict[str, Entry]]:
        """Look again: `entries` are what lies there now. Return the `moments` since the last look, none if all is as
        it was. Raises TooMuch."""
        notices, before = self._taken_notices(), self.entries
        self.entries = {}
        self._read_folder(self._folder, "")
        return moments(before, self.entries, notices) if notices or _data(before) != _data(self.entries) else []

    def _read_folder(self, folder, path):
        mask = MODIFIED | MOVED_FROM | MOVED_TO | MADE | REMOVED
        watch = self._libc.inotify_add_watch(self._notices, b"/proc/self/fd/%d" % folder, mask)
        self._watched[watch] = path
        for name in sorted(os.listdir(folder)):
            whole = path + name
            if len(self.entries) >= ENTRIES or whole.count("/") >= DEPTH:
                raise TooMuch(f"more than {ENTRIES} files, or folders more than {DEPTH} deep")
            try:
                self._read_entry(folder, name, whole)
            except OSError:  # it went away just now, or its mode forbids it
                continue

    def _read_entry(self, folder, name, whole):
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        is_folder, data = stat.S_ISDIR(about.st_mode), None
        if stat.S_ISLNK(about.st_mode):
            data = os.readlink(name, dir_fd=folder)
        elif is_folder or stat.S_ISREG(about.st_mode):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | is_folder * os.O_DIRECTORY
            descriptor = os.open(name, flags, dir_fd=folder)
            try:
                if is_folder:
                    self.entries[whole] = Entry(None, about.st_mtime_ns, about.st_ino)
                    self._read_folder(descriptor, f"{whole}/")
                    return
                data = _read(descriptor, BYTES - sum(len(e.data) for e in self.entries.values() if e.data))
            finally:
                os.close(descriptor)
        else:
            return  # a pipe or a socket keeps nothing
        self.entries[whole] = Entry(data, about.st_mtime_ns, about.st_ino)

    def _taken_notices(self):
        taken = []
        while True:
            try:
                data = os.read(self._notices, 1 << 16)
            except BlockingIOError:
                return taken
            while data:
                watch, mask, cookie, length = struct.unpack_from("iIII", data)
                name, data = os.fsdecode(data[16 : 16 + length].rstrip(b"\0")), data[16 + length :]
                if name:
                    taken.append(Notice(mask, self._watched.get(watch, "") + name, cookie))


def _read(descriptor, most):
    pieces: list[bytes] = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
        most -= len(piece)
        if most < 0:
            raise TooMuch(f"more than {BYTES:,} bytes in all")
    return b"".join(pieces)


def _data(entries):
    return {path: entry.data for path, entry in entries.items()}


# ---- what a crash could have left ------------------------------------------------------------------------------------


@dataclass
class _File:
    """A file, under whatever names: what it `ends` as, and whether it was `made` and `written` since."""

    ends: bytes | str | None
    made: bool = False
    written: bool = False


def moments(before: dict[str, Entry], after: dict[str, Entry], notices: list[Notice]) -> list[dict[str, Entry]]:
    """Return what a crash could have left between `before` and `after`, in order, neither of the two among them.

    A file that is written may be empty or cut; one that is appended to is cut in what is new, one that is written over
    may be part new and part old, and empty where its length changes. Where nothing lies in between: `before`.
    """
    states = _replayed(before, after, *_script(before, after, notices))
    latest = max([entry.changed for entry in after.values()], default=0)
    left, known = [], [_data(before), _data(after)]
    for state in states:
        if state not in known:
            known.append(state)
            as_before = {path: path in before and before[path].data == data for path, data in state.items()}
            left.append({p: before[p] if as_before[p] else Entry(data, latest) for p, data in sorted(state.items())})
    return left or [before]


def _script(before, after, notices):
    """Return the steps from `before` to `after`, (verb, path, more), and the files that made folders have by then."""
    files, steps = {path: _File(entry.data) for path, entry in before.items()}, []
    for number, (mask, path, cookie) in enumerate(notices):
        if mask & MADE:
            files[path] = _File(b"", made=True)
            steps.append(("make", path, files[path]))
        elif mask & MODIFIED:
            files.setdefault(path, _File(b"", made=True)).written = True
            steps.append(("write", path, files[path]))
        elif mask & MOVED_FROM:
            other = notices[number + 1] if number + 1 < len(notices) else Notice(0, "", 0)
            new = other.path if other.mask & MOVED_TO and other.cookie == cookie else None
            steps.append(("move", path, new))
            _move(files, path, new)
        elif mask & REMOVED:
            steps.append(("move", path, None))
            _move(files, path, None)
    written = {path: e.data for path, e in after.items() if path not in before or before[path].data != e.data}
    # of a file that is gone by now, such as a journal, nobody knows the bytes: most likely it had what is new
    likely = max([data for data in written.values() if isinstance(data, bytes)], key=len, default=b"")
    for _, _, file in steps:
        if isinstance(file, _File) and file.written:
            file.ends = likely
    inside, unseen = {}, []
    for path, entry in after.items():
        file = files.get(path)
        if file is None or not (file.written or file.made) and file.ends != entry.data:
            unseen.append(("write", path, _File(entry.data)))
        if file is not None:
            file.ends = entry.data
            if entry.data is None and file.made:
                inside[id(file)] = _below(path, after, files)
    below = {path + name for path, file in files.items() for name in inside.get(id(file), ())}
    steps += [step for step in unseen if step[1] not in below]
    return steps, inside


def _below(folder, after, files):
    """Return what lies in a folder that was made since, in the order in which it was made: nobody told of it."""
    names = [name for name in after if name.startswith(f"{folder}/") and name not in files]
    return {name[len(folder) :]: after[name].data for name in sorted(names, key=lambda name: after[name].inode)}


def _replayed(before, after, steps, inside):
    """Yield the states, path -> data, that the folder goes through."""
    state = _data(before)
    for verb, path, more in steps:
        if verb == "move":
            _move(state, path, more)
        elif verb == "make":
            state[path] = b"" if more.written else more.ends
            for name, data in inside.get(id(more), {}).items():  # of a folder that was made, in their order
                yield dict(state)
                yield from ({**state, path + name: half} for half in _halves(b"", data))
                state[path + name] = data
        else:
            yield from ({**state, path: half} for half in _halves(state.get(path, b""), more.ends))
            state[path] = more.ends
        yield dict(state)


def _move(tree, path, new):
    """Give the file or folder at `path`, with all that lies in it, another name; None: it is gone."""
    for old in [old for old in tree if old == path or old.startswith(f"{path}/")]:
        thing = tree.pop(old)
        if new is not None:
            tree[new + old[len(path) :]] = thing


def _halves(old, new):
    """Return what a crash could have left of a file that had the bytes `old` and was to have `new`."""
    if not isinstance(new, bytes) or not isinstance(old, bytes):
        return []
    if new.startswith(old):
        return [new[: len(old) + (len(new) - len(old)) // 2]] if old else [b"", new[: len(new) // 2]]
    first = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    last = len(new)
    while len(old) == len(new) and old[last - 1] == new[last - 1]:
        last -= 1
    middle = (first + last + 1) // 2
    return [*([b""] if len(old) != len(new) else []), new[:middle] + old[middle:]]
