"""Whether a server's record of what a client sent and slept keeps to the rules of lab 08's last exercise."""

import json

from .scripts import HARMLESS
from .server_host import RAISES
from .words import of_plan

NEAR = 1e-6  # seconds


def judge_call(case, got):
    """Return None, or what the record shows; `got.seen` is that, and `got.gave` (status, name of the error)."""
    reading = _Reading(case)
    for what, _, seconds, text in got.seen:
        complaint = reading.send(seconds, text) if what == "send" else reading.sleep(seconds)
        if complaint:
            break
    else:
        complaint = reading.end(tuple(got.gave))
    return None if complaint is None else f"{complaint} ({of_plan(case.plan)})"


class _Reading:
    """A record read line by line: the time, what was sent, and what came of it, by the script alone."""

    def __init__(self, case):
        (self.request, self.deadline), self.group = case.arguments, case.group
        self.script, self.now = case.plan["script"], case.plan["start"]
        self.sent, self.slept, self.came, self.after = 0, 0.0, None, None

    def sleep(self, seconds):
        self.slept += seconds
        self.now += seconds

    def send(self, timeout, text):
        """Return what is wrong with sending this now, or None, and go on to what comes of it."""
        complaint = self._complaint(timeout, text)
        self.came, takes, self.after = self.script[min(self.sent, len(self.script) - 1)]
        if takes >= timeout or self.came == "silent":
            self.came, takes, self.after = "silent", timeout, None
        self.sent, self.slept, self.now = self.sent + 1, 0.0, self.now + takes
        return complaint

    def _complaint(self, timeout, text):
        if json.loads(text) != self.request:
            return f"request {self.sent + 1} was sent as {text}, not as it is"
        if self.now >= self.deadline:
            return f"request {self.sent + 1} was sent at {self.now:.6g}, and the deadline is {self.deadline:.6g}"
        if self.group == "deadline" and abs(timeout - (self.deadline - self.now)) > NEAR:
            return (
                f"request {self.sent + 1} had a timeout of {timeout:.6g} s; there were {self.deadline - self.now:.6g}"
            )
        if not self.sent:
            return None
        if not self._may_go_out_again():
            return f"it was sent again after {self._words()}"
        low, high = self._pause()
        if self.group != "again" and not low - NEAR <= self.slept <= high + NEAR:
            return f"pause {self.sent} was {self.slept:.6g} s; after {self._words()} it is {low:.6g} to {high:.6g} s"
        return None

    def end(self, gave):
        """Return what is wrong with the end, or None: what is left undone, and what the call gave."""
        if not self.sent:
            if self.now < self.deadline:
                return "nothing was sent"
            due = (None, "TimeoutError")
        else:
            if self._may_go_out_again() and self.now + self._pause()[1] + NEAR < self.deadline:
                return f"it gave up after {self._words()}, with {self.deadline - self.now:.6g} s left"
            due = (None, RAISES[self.came]) if self.came in RAISES else (self.came, "")
        if self.slept > 0:
            return f"it slept for {self.slept:.6g} s and sent nothing afterwards"
        return None if gave == due else f"expected {f'it to raise {due[1]}' if due[1] else f'the answer {due[0]}'}"

    def _may_go_out_again(self):
        return self.came in ("refused", 429, 503) or (self.came == "lost" and self.request in HARMLESS)

    def _pause(self):
        """Return the shortest and the longest pause that is due now, in seconds."""
        step, wait = 0.1 * 2 ** (self.sent - 1), self.after or 0.0
        return max(wait, step / 2), wait + step

    def _words(self):
        return RAISES.get(self.came) or f"the answer {self.came}"
