"""How lab 08 is marked: loads, events, histograms, a writer's work and a server's script are drawn for each submission.

The watcher's folder is compared from outside of the sandbox. The server of the last exercise is in a sandbox of the
grader's own, and the clock with it: what was sent and slept is its record. No second is measured.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from grader.lab.spec import Host, Lab, Marking
from grader.marking.messages import Answer
from grader.marking.result_types import Array, Integer, List_, Number, Optional_, Text, Tuple_
from grader.marking.watched_folder import Entry

from .checks import EXERCISES

HERE = Path(__file__).parent
DRIVERS = (HERE / "driver.py").read_text(encoding="utf-8")

ASKING = f"""
{DRIVERS}

def drive(entry, port, request, deadline):
    import json
    import socket

    with socket.create_connection(("127.0.0.1", port), timeout=15) as link, link.makefile("rb") as answers:
        def ask(**question):
            link.sendall(json.dumps(question).encode() + b"\\n")
            return json.loads(answers.readline() or b'{{"error": "the server is gone"}}')

        return drive_call(entry, ask, request, deadline)
"""


def looked(case, submission):
    """Return the `Answer` of a watcher to a writer's work: the folder is laid, and compared after each look, here."""
    served, steps = case.arguments
    there, looks = {}, []
    for number, (what, *about) in enumerate(steps):
        if what == "restart":
            served = 0
        elif what == "look":
            laid = {path: Entry(data, changed) for path, (data, changed) in sorted(there.items())}
            answer = submission.lay(laid)
            answer = submission.call(served) if answer.kind == "laid" else answer
            if answer.kind != "value":
                return replace(answer, kind="raised") if answer.kind == "ended" else answer
            served = answer.value
            untouched = not submission.look() and _is_as_laid(submission.entries, laid)
            looks.append((served, untouched))
        else:
            there = _worked(there, number * 10**9, what, *about)
    return Answer("value", looks)


def _is_as_laid(entries, laid):
    return {path: entry.data for path, entry in entries.items()} == {path: entry.data for path, entry in laid.items()}


def _worked(there, now, what, name, more=None):
    """Return path -> (bytes, None for a folder; when it was changed) after one thing of the writer's, at `now`."""
    below = {path: entry for path, entry in there.items() if path == name or path.startswith(f"{name}/")}
    if what in ("rename", "remove"):
        moved = {more + path[len(name) :]: entry for path, entry in below.items()} if what == "rename" else {}
        return {path: entry for path, entry in there.items() if path not in below} | moved
    if what == "sums":
        sums = {file: hashlib.sha256(text.encode()).hexdigest() for file, text in more.items()}
        name, more = f"{name}/checksums.json", json.dumps(sums)
    folder = name.rpartition("/")[0]
    return there | ({folder: (None, now)} if folder else {}) | {name: (more.encode(), now)}


LAB = Lab(
    "lab08_serving",
    title="Serving",
    exercises=[
        Marking(EXERCISES["latencies"], lambda case: Array("float64", case.arguments[0].shape)),
        Marking(
            EXERCISES["batcher"],
            List_(Tuple_(Text(20), List_(Integer()))),
            groups={"rows": 0.5, "signatures": 0.25, "given up": 0.25},
        ),
        Marking(EXERCISES["quantile"], Number(), groups={"one": 0.5, "several": 0.25, "restarted": 0.25}),
        Marking(
            EXERCISES["newest"],
            Integer(),
            outside=looked,
            groups={"come and go": 0.5, "half written": 0.25, "rolled back": 0.25},
        ),
        Marking(
            EXERCISES["call"],
            Tuple_(Optional_(Integer()), Text(40)),
            host=Host(
                call=ASKING,
                source=(HERE / "server_host.py").read_text(encoding="utf-8"),
                seen=List_(Tuple_(Text(10), Number(), Number(), Text(2000))),
            ),
            groups={"again": 0.4, "pauses": 0.2, "deadline": 0.4},
        ),
    ],
)
