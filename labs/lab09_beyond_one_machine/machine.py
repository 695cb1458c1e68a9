"""The machine that lab 09's job runs on: it does the steps, ends the job's lives by plan, and keeps the record.

`Machine` is asked directly by the notebook's check; marking runs this text in the grader's own sandbox and asks over a
socket. Standard library only.
"""

import hashlib

MOST = 400  # lines on record; who wants more is told that this is enough
LARGEST = 1 << 62


def mixed(seed, step, state):
    """Return the state that a step makes of `state`: a whole number below 2⁴⁸ that only the machine can work out."""
    return int.from_bytes(hashlib.sha256(f"{seed} {step} {state}".encode()).digest()[:6], "big")


class Machine:
    """Runs the lives of one job by a plan: {"seed", "steps", "ends": [[what, step, count], …]}.

    An end is "kill" (in that step), "back" (the same, and the next life finds the folder as life `count` found it),
    "term" (a warning in that step) or "tear" (killed at the `count`-th change of a file after that many steps). After
    the last of them a life may run to its end, and the job is begun once more.
    `record` has [what, life, step, state] for "begin", "step", "change" (state 1: outside of the folder) and each end.
    """

    def __init__(self, plan):
        self.seed, self.steps, self.ends = plan["seed"], plan["steps"], plan["ends"]
        self.record, self.life, self.done, self.asked, self.changes = [], 0, 0, None, 0
        self.over, self.again = True, False

    def ask(self, do, step=0, state=0):
        """Return the answer to one question, a dictionary; {"error": why} for one that can't be answered."""
        if len(self.record) >= MOST:
            return {"error": f"{MOST} steps and changes of files are enough"}
        return {"begin": self._begin, "step": self._step, "change": self._change}[do](step, state)

    def _begin(self, *_):
        """Begin the next life, if there is one: not after a life that ended by itself, and not once more again."""
        if not self.over:
            if self.again or self.done < self.steps:
                return {"more": False}
            self.again = True
        what, _, count = self._end() or ("", 0, 0)
        self._note("begin")
        self.life, self.over, self.asked, self.changes = self.life + 1, False, None, 0
        return {"more": True, "back": count if what == "back" else 0}

    def _step(self, step, state):
        if not all(type(one) is int and abs(one) < LARGEST for one in (step, state)):
            return {"error": "step(number, state) takes two whole numbers"}
        self._note("step", step, state)
        if self.over:  # it was warned, or is dead: no more is done for it
            return {"then": "kill"}
        self.asked = step
        what, at, count = self._end() or ("", self.steps, 0)
        then = {"kill": "kill", "back": "kill", "term": "term"}.get(what, "") if step >= at else ""
        if then:
            self._die(what, step, count)
        if then != "kill" and step < self.steps:
            self.done = max(self.done, step + 1)
        return {"then": then, "state": mixed(self.seed, step, state)}

    def _change(self, _, outside):
        """A file is about to be opened for writing, renamed or removed; or something is left outside of the folder."""
        done = -1 if self.asked is None or self.over else self.asked + 1
        self._note("change", done, int(bool(outside)))
        if done < 0 or outside:
            return {"then": ""}
        what, at, count = self._end() or ("", self.steps, 0)
        self.changes += done >= at
        if what != "tear" or done < at or self.changes < count:
            return {"then": ""}
        self._die("tear", done)
        return {"then": "tear"}

    def _end(self):
        """Return how this life ends; None where it runs to its end."""
        return self.ends[self.life - 1] if 0 < self.life <= len(self.ends) else None

    def _die(self, what, step, count=0):
        self._note(what, step, count)
        self.over = True

    def _note(self, what, step=0, state=0):
        self.record.append([what, self.life + (what == "begin"), step, state])
