"""Files that are no notebook of this lab, or hardly one: each gets a state and a sentence, and no points."""

import json

from tests.helpers.submissions import Submission


def _solved(notebook):
    return notebook.solve().json


#: name -> (bytes made from the solved notebook as JSON, state). None of them deserves a point.
FILES = {
    "zero bytes": (lambda solved: b"", "unreadable"),
    "blanks": (lambda solved: b" \r\n\t" * 100, "unreadable"),
    "half a notebook": (lambda solved: json.dumps(solved).encode()[: len(json.dumps(solved)) // 2], "unreadable"),
    "a program": (lambda solved: b"import os\nos.system('touch /tmp/sandbox-was-here')\n", "unreadable"),
    "a zip file": (lambda solved: b"PK\x03\x04" + bytes(range(256)) * 40, "unreadable"),
    "a pickle": (lambda solved: b"cos\nsystem\n(S'touch /tmp/sandbox-was-here'\ntR.", "unreadable"),
    "JSON that is no notebook": (lambda solved: b'{"score": 20, "state": "graded"}', "unreadable"),
    "a list": (lambda solved: json.dumps(solved["cells"]).encode(), "unreadable"),
    "a number of a million digits": (lambda solved: b'{"cells": [], "nbformat": ' + b"9" * 1_000_000 + b"}", None),
    "JSON a hundred thousand deep": (lambda solved: b"[" * 100_000 + b"]" * 100_000, "unreadable"),
    "a format of the future": (lambda solved: json.dumps({**solved, "nbformat": 99}).encode(), "unreadable"),
    "a hundred megabytes": (lambda solved: json.dumps(solved).encode() + b" " * 100_000_000, "refused"),
    "ten million values": (lambda solved: b'{"nbformat": 4, "cells": [' + b"0," * 9_999_999 + b"0]}", "refused"),
    "ten thousand cells": (lambda solved: json.dumps({**solved, "cells": solved["cells"] * 400}).encode(), "refused"),
    "cells that are no cells": (
        lambda solved: json.dumps({"nbformat": 4, "cells": [1, None, "x", []]}).encode(),
        "missing",
    ),
    "a page of HTML": (lambda solved: b"<!doctype html><script>alert(1)</script>", "unreadable"),
    "text in an old code page": (lambda solved: '{"cells": ["é"]}'.encode("latin-1"), "unreadable"),
    "cells without a source": (
        lambda solved: json.dumps({"nbformat": 4, "cells": [{"cell_type": "code"}, {"source": {"a": 1}}]}).encode(),
        "missing",
    ),
}


def _of(name, make, state):
    return Submission(name, lambda notebook, host: make(_solved(notebook)), states={"*": state} if state else {})


FILED = [_of(name, make, state) for name, (make, state) in FILES.items()]
