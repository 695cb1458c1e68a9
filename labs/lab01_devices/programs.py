"""Programs as `traced` writes them, run on numbers: what they give, where each op ran, how many bytes moved where.

A program comes from the one who answers. It is read line by line as text of one form, and nothing of it is evaluated.
"""

import re

import numpy as np

_LINE = re.compile(r"(\w{1,8}) = (?:(\w{1,8})\.(?:to\((cpu|cuda:[01])\)|relu\(\))|(\w{1,8}) @ (\w{1,8}))")


class Run:
    """A program as `traced` writes it, run on numbers: `result`, its `device`, ops `computed` and bytes `moved`."""

    def __init__(self, lines, values):
        """`values`: name -> array, on the CPU. Raises ValueError for a line that is no line of a program."""
        self.computed, self.moved = [], {}
        there = {name: (value, "cpu") for name, value in values.items()}
        for line in lines[:-1]:
            self._line(line, there)
        last = re.fullmatch(r"return (\w{1,8})", lines[-1] if lines else "")
        if last is None or last[1] not in there:
            raise ValueError("the program returns nothing that it made")
        self.result, self.device = there[last[1]]

    def _line(self, line, there):
        found = _LINE.fullmatch(line)
        names = [name for name in found.group(2, 4, 5) if name] if found else []
        if not found or found[1] in there or not all(name in there for name in names):
            raise ValueError(f"{line!r} is no line of a program")
        (value, device), *others = (there[name] for name in names)
        if found[3]:
            there[found[1]] = value, found[3]
            self.moved[found[3]] = self.moved.get(found[3], 0) + 4 * value.size * (device != found[3])
            return
        if others:
            if others[0][1] != device or value.shape[1] != others[0][0].shape[0]:
                raise ValueError(f"{line!r}: its factors do not meet")
            value = value @ others[0][0]
        else:
            value = np.maximum(value, 0)
        there[found[1]] = value, device
        self.computed.append((line, device))


def program_complaint(lines, shapes, wanted, words):
    """Return None when the program gives `wanted(*values)` on the CPU, all computed on cuda:0, no byte moved twice.

    `wanted` is a function of the inputs, called `words` where they are told. The inputs may move there once each, the
    result home once.
    """
    for seed in range(5):  # one draw may hide a lost relu, or end in zeros
        draw = np.random.default_rng(seed)
        values = {name: draw.integers(-3, 4, shape).astype(float) for name, shape in shapes.items()}
        result = wanted(*values.values())
        try:
            with np.errstate(all="ignore"):  # a program that squares a hundred times is wrong, and no more
                run = Run(lines, values)
        except ValueError as problem:
            return str(problem)
        if run.result.shape != result.shape or not np.array_equal(run.result, result):
            return f"the result is not {words}"
    for line, device in run.computed:
        if device != "cuda:0":
            return f"{line!r} runs on {device}, not on cuda:0"
    if run.device != "cpu":
        return f"the result is on {run.device}; it should be back on the CPU"
    most = {"cuda:0": 4 * sum(value.size for value in values.values()), "cpu": 4 * result.size}
    for device, moved in run.moved.items():
        if moved > most.get(device, 0):
            return f"{moved} bytes move to {device}; {most.get(device, 0)} are enough"
    return None
