"""How lab 08's answers are driven: a batcher by calls, a watcher by a writer at work, a client by what a server says.

The same text drives them in the notebook and in the sandbox of a submission, so it needs the standard library only, and
holds no answer.
"""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace


def drive_batcher(entry, limit, room, events):
    """Return what each call gave, (word, batch), one of them empty; None on a stub.

    `events`: ("take", now, number, rows, signature, until) and ("idle", now).
    """
    batcher, told = entry(limit, room), []
    for what, now, *request in events:
        if what == "take":
            number, rows, signature, until = request
            one = SimpleNamespace(number=number, rows=rows, signature=signature, until=until)
            said = batcher.take(one, now)
            told.append((said, []))
        else:
            said = batcher.idle(now)
            told.append(("", said))
        if said is None or said is ...:
            return None
        if what == "idle":
            told[-1] = ("", list(said))  # as it is now, whatever the batcher does with its list later
    return told


def drive_newest(entry, served, steps):
    """Return for each look (the version to serve, whether the folder was left as it was); None on a stub.

    `steps`: ("write", path, text), ("sums", folder, {name: text}), ("rename", path, new), ("remove", path),
    ("restart",) and ("look",).
    """
    told = []
    with tempfile.TemporaryDirectory() as place:
        for what, *about in steps:
            if what == "restart":
                served = 0
            elif what == "look":
                before = _listed(place)
                served = entry(place, served)
                if served is ... or served is None:
                    return None
                told.append((served, _listed(place) == before))
            else:
                _work(Path(place), what, *about)
    return told


def _work(place, what, name, more=None):
    """Do one thing of the writer's."""
    path = place / name
    if what == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(more, encoding="utf-8")
    elif what == "sums":
        path.mkdir(exist_ok=True)
        sums = {file: hashlib.sha256(text.encode()).hexdigest() for file, text in more.items()}
        (path / "checksums.json").write_text(json.dumps(sums), encoding="utf-8")
    elif what == "rename":
        path.rename(place / more)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _listed(place):
    """Return what is in the folder: path -> bytes, None for a folder."""
    paths = sorted(Path(place).rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def drive_call(entry, ask, request, deadline):
    """Return (status of the answer that came of a call, "") or (None, name of the error that it raised).

    `ask(do=…, …)` asks the server, which has the clock: it returns a dictionary.
    """

    def asked(**question):
        told = ask(**question)
        if "error" in told:
            raise ValueError(told["error"])
        return told

    def send(request, timeout):
        told = asked(do="send", request=request, seconds=float(timeout))
        if told["raises"]:
            errors = {kind.__name__: kind for kind in (ConnectionRefusedError, ConnectionResetError, TimeoutError)}
            raise errors[told["raises"]](told["why"])
        return SimpleNamespace(status=told["status"], retry_after=told["retry_after"])

    def clock():
        return asked(do="clock")["now"]

    def sleep(seconds):
        asked(do="sleep", seconds=float(seconds))

    try:
        answer = entry(dict(request), send, clock, sleep, deadline)
    except (ConnectionError, TimeoutError) as failure:
        return None, type(failure).__name__
    return answer.status, ""
