"""The sandbox's main program: set up, run the cells, then answer one question after another until the pipe closes.

Messages that it sends, each a byte and what follows it (text is a length of 4 bytes and UTF-8):
`i` text: the set-up failed (before any cell ran); `c` number of 4 bytes: this cell begins; `r` text: all cells were
run, their errors as JSON; and as answers `v` evidence, `e` text: the answer raised, `k` text: it gave something of
another kind, `a` text: there is no such name, `s` evidence: it asks for a step, `l`: a folder was laid as asked. The
grader trusts none of them: it reads, and judges the values.
"""

import contextlib
import importlib
import json
import os
import shutil
import struct
import sys
import traceback

from . import stand_ins
from .cells import Notebook, in_short
from .values import NotThat, encode, unpack

TEXT = 4096  # bytes of text in an answer
REPORT = 65536  # bytes of all cells' errors
_WORK = os.getcwd()


def main(requests: int, evidence: int) -> None:
    """Serve on the two pipe ends until the other side closes them."""
    try:
        setup = unpack(_take_message(requests))
        _prepare(setup)
    except BaseException as failure:
        traceback.print_exc()
        _send(evidence, b"i", _text(in_short(failure)))
        return
    notebook = Notebook(lambda number: _send(evidence, b"c", struct.pack("<I", number)))
    for number, text in enumerate(setup["cells"]):
        notebook.run(number, text)
    notebook.run_again(setup["cells"])
    _send(evidence, b"r", _report(notebook.errors))
    while True:
        request = unpack(_take_message(requests))
        if "lay" in request:
            _send(evidence, *_laid(request["lay"], request["entries"]))
        else:
            _send(evidence, *_answer(notebook, request, requests, evidence))


def _prepare(setup):
    sys.path.insert(0, "")  # as in a notebook, modules may lie in the working directory
    stand_ins.install()
    os.environ["PIP_RETRIES"] = "0"  # `!pip install` finds no network at once, rather than after its five tries
    for name, data in setup["files"].items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "wb") as file:
            file.write(data)
    for name in setup["imports"]:
        importlib.import_module(name)


def _answer(notebook, request, requests, evidence):
    entry = request["entry"]
    if entry not in notebook.names:
        return b"a", _text(entry)
    try:
        _lay(request["files"])
        if request["drive"] is None:
            steps = [] if request["steps"] is None else [_stepping(request["steps"], requests, evidence)]
            folder = [] if request["folder"] is None else [os.path.join(_WORK, request["folder"])]
            got = notebook.names[entry](*folder, *request["arguments"], *steps)
        else:
            driver = {"__name__": "driver"}
            exec(compile(request["drive"], "<driver>", "exec"), driver)
            got = driver["drive"](notebook.names[entry], *request["arguments"])
    except BaseException as failure:
        if request["steps"] is None or not isinstance(failure, SystemExit):
            return b"e", _text(in_short(failure))
        got = None  # a program in steps may end as a script does
    try:
        return b"v", encode(request["evidence"], got)
    except BaseException as failure:
        return b"k", _text(str(failure) if isinstance(failure, NotThat) else in_short(failure))


def _stepping(kind, requests, evidence):
    """Return the function that an answer calls for a step: the grader does it, and says what comes of it."""

    def step(*numbers):
        try:
            data = encode(kind, numbers)
        except NotThat as problem:
            raise ValueError(f"step takes {len(kind['kinds'])} whole numbers, not {problem}") from None
        _send(evidence, b"s", data)
        answer = unpack(_take_message(requests))
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["state"]

    return step


def _laid(name, entries):
    """Make the folder `name` anew: path -> (bytes, or the target of a link, or None for a folder; nanoseconds)."""
    try:
        os.chdir(_WORK)
        shutil.rmtree(name, ignore_errors=True)
        os.mkdir(name)
        for path, (data, _) in entries.items():  # a folder stands before what lies in it
            place = os.path.join(name, path)
            if data is None:
                os.mkdir(place)
            elif isinstance(data, str):
                os.symlink(data, place)
            else:
                with open(place, "wb") as file:
                    file.write(data)
        for path, (_, changed) in reversed(entries.items()):
            os.utime(os.path.join(name, path), ns=(changed, changed), follow_symlinks=False)
    except BaseException as failure:
        return b"e", _text(in_short(failure))
    return (b"l",)


def _lay(files):
    if files:
        os.chdir(_WORK)  # wherever the cells went since
    for name, data in files.items():
        with open(os.path.basename(name), "wb") as file:
            file.write(data)


def _report(errors):
    # a notebook of a thousand failing cells must still fit
    limit = REPORT // (6 * max(1, len(errors))) - 16
    data = json.dumps([[number, text[: max(0, limit)]] for number, text in errors.items()]).encode()
    return struct.pack("<I", len(data)) + data


def _text(text):
    data = text.encode("utf-8", "replace")[:TEXT]
    return struct.pack("<I", len(data)) + data


def _send(evidence, *parts):
    with contextlib.suppress(Exception):  # the student may have put anything in its place
        sys.stdout.flush()
    data = memoryview(b"".join(parts))
    while data:
        data = data[os.write(evidence, data) :]


def _take_message(requests):
    (length,) = struct.unpack("<Q", _take(requests, 8))
    return _take(requests, length)


def _take(requests, length):
    data = bytearray()
    while len(data) < length:
        piece = os.read(requests, min(length - len(data), 1 << 20))
        if not piece:
            os._exit(0)  # the grader is done; threads and exit hooks that the cells left behind don't matter any more
        data += piece
    return bytes(data)
