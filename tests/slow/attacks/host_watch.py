"""What a submission would like to reach on this machine, laid out as decoys, and whether anything touched it.

Nobody but an escaped submission has business with a decoy: the kernel tells (inotify) of every opening, reading and
writing; a server notes every caller; what users of sandboxes own outside is looked for afterwards.
"""

import contextlib
import ctypes
import os
import select
import socket
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path

from grader.sandbox.identity import FIRST_USER, USERS
from tests.helpers.sandboxes import left_since

#: IN_ACCESS, MODIFY, ATTRIB, CLOSE_WRITE, OPEN, MOVED_FROM, MOVED_TO, CREATE, DELETE, DELETE_SELF, MOVE_SELF
EVENTS = 0x001 | 0x002 | 0x004 | 0x008 | 0x020 | 0x040 | 0x080 | 0x100 | 0x200 | 0x400 | 0x800
TREASURE = "TREASURE-OF-THE-GRADER"


@dataclass
class Decoys:
    """A class's folder that nobody grades, and doors on which nobody knocks. `seen`: what touched them."""

    root: Path
    port: int = 0
    door: str = ""
    abstract: str = ""
    seen: list = field(default_factory=list)

    @property
    def secret(self):
        return self.root / "grading" / "secret"

    @property
    def gradebook(self):
        return self.root / "gradebook.db"

    @property
    def others(self):
        return self.root / "submitted" / "best_student" / "lab03_game_of_life" / "lab03_game_of_life.ipynb"


@contextlib.contextmanager
def decoys(folder):
    """Lay out `Decoys` under `folder` and watch them; within the `with`, `complaints` tells what happened to them."""
    made = Decoys(Path(folder) / "class")
    for path in (made.secret, made.gradebook, made.others, made.root / "marks.csv"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TREASURE)
        path.chmod(0o666)  # whoever sees it may write it: what keeps a submission out must not be this
    for place in [made.root.parent, *made.root.rglob("*")]:
        if place.is_dir():
            place.chmod(0o777)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_server(made))
        stack.enter_context(_watch(made))
        yield made


def complaints(made, before, patience=20):
    """Return what a submission did outside of its sandbox, in words; `before`, `patience`: see `left_since`."""
    found = [f"touched: {one}" for one in made.seen]
    found += [f"left behind: {one}" for one in left_since(before, patience)]
    for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", str(made.root)):
        found += [f"a sandbox's user owns {path}" for path in _owned_by_sandboxes(place)]
    found += [f"a sandbox's user listens: {line}" for line in _sockets_of_sandboxes()]
    return found


def _owned_by_sandboxes(place):
    with contextlib.suppress(FileNotFoundError), os.scandir(place) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if _is_sandboxs(entry.stat(follow_symlinks=False).st_uid):
                    yield entry.path


def _sockets_of_sandboxes():
    for kind in ("tcp", "tcp6", "udp", "udp6", "raw"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
                if _is_sandboxs(int(line.split()[7])):
                    yield f"{kind} {line.split()[1]}"


def _is_sandboxs(user):
    return FIRST_USER <= user < FIRST_USER + USERS


@contextlib.contextmanager
def _server(made):
    """Doors by TCP, UDP, a path and an abstract name; whoever knocks is noted."""
    made.door, made.abstract = str(made.root / "door"), f"\0decoy-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        made.port = tcp.getsockname()[1]
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", made.port))
        by_path, by_name = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        by_path.bind(made.door)
        by_name.bind(made.abstract)
        os.chmod(made.door, 0o777)
        for one in (by_path, by_name):
            one.listen()
        with _thread(lambda stop: _answer([tcp, udp, by_path, by_name], stop, made)):
            yield


def _answer(doors, stop, made):
    while True:
        ready, _, _ = select.select([*doors, stop], [], [])
        knocked = [door for door in ready if door is not stop]
        if not knocked:
            return  # and not before: whoever knocked just before the end is noted, too
        for door in knocked:
            made.seen.append(f"a caller at {door.getsockname()!r}")
            if door.type == socket.SOCK_STREAM:
                door.accept()[0].close()
            else:
                door.recv(65536)


@contextlib.contextmanager
def _watch(made):
    """Note every event of the kernel's about the decoys' files and folders."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.inotify_init1(os.O_CLOEXEC)
    names = {}
    for place in [made.root, *made.root.rglob("*")]:
        number = library.inotify_add_watch(descriptor, os.fsencode(place), EVENTS)
        if number < 0:
            raise OSError(ctypes.get_errno(), f"{place} can't be watched")
        names[number] = place
    try:
        with _thread(lambda stop: _note(descriptor, stop, names, made)):
            yield
    finally:
        os.close(descriptor)


def _note(descriptor, stop, names, made):
    while True:
        ready, _, _ = select.select([descriptor, stop], [], [])
        if descriptor in ready:
            data = os.read(descriptor, 65536)
            while data:
                number, mask, _, length = struct.unpack_from("iIII", data)
                name = data[16 : 16 + length].rstrip(b"\0").decode(errors="replace")
                made.seen.append(f"{names.get(number)}/{name} (event {mask:#x})")
                data = data[16 + length :]
        elif stop in ready:
            return


@contextlib.contextmanager
def _thread(work):
    stop, tell = os.pipe()
    thread = threading.Thread(target=work, args=(stop,), name="host-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.write(tell, b"!")
        thread.join()
        os.close(stop)
        os.close(tell)
