"""How often a wrong answer passes: it is asked what is drawn for many secrets, in one sandbox.

A wrong answer that the questions of one secret catch may be right on those of another; marks must not be a lottery.
What everybody is asked, the edge cases, is asked once.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.lab.secret_draw import drawing
from grader.lab.spec import Lab, Marking
from grader.marking.questions import SandboxedSubmission, Stopped

SECRETS = 200
SLOW_SECRETS = 3  # for what works against a host, or is called from outside: a question takes seconds


def passes(
    lab: Lab, exercise: Marking, cells: Sequence[str], gets: float, sandbox: Callable, secrets: int = SECRETS
) -> int:
    """Return for how many of `secrets` the answer in `cells` gets more than the share `gets` of its points.

    A race is taken as lost. Whatever stops the sandbox is a wrong answer; the rest is asked in a new one.
    """
    asked = _Asked(lab, exercise, cells, sandbox)
    try:
        return sum(asked.share(number) > gets + 1e-9 for number in range(secrets))
    finally:
        asked.close()


class _Asked:
    """One answer, asked secret after secret; `share` of the points that it gets for one."""

    def __init__(self, lab, exercise, cells, sandbox):
        self._lab, self._cells, self._sandbox = lab, cells, sandbox
        self._exercise = replace(exercise, race=None)
        self._raced = exercise.race is not None
        self._whole = exercise
        self._edges: dict[int, bool] = {}  # number of an edge case -> whether the answer is right
        self._submission = None

    def share(self, number):
        secret = hashlib.sha256(f"self-test, secret {number}".encode()).digest()
        cases = self._exercise.cases(drawing(secret, self._exercise.name))
        lost: set[str] = set()
        right = []
        for place, case in enumerate(cases):
            known = self._edges.get(place) if case.edge else None
            if known is None:
                known = case.group not in lost and self._is_right(case)
                if case.edge:
                    self._edges[place] = known
            lost |= set() if known else {case.group}
            right.append(known)
        return self._whole.share(cases, right, self._raced)

    def _is_right(self, case):
        try:
            if self._submission is None:
                seconds = SECRETS * self._exercise.seconds
                self._submission = SandboxedSubmission(self._lab, self._cells, self._sandbox, seconds)
                self._submission.run_cells()
            answer = self._submission.ask(self._exercise, case)
            return answer.kind == "value" and self._exercise.statement.complaint(case, answer.value) is None
        except Stopped:
            self.close()
            return False
        except Exception:  # a judge that fails at a wrong answer's value: wrong
            return False

    def close(self):
        if self._submission is not None:
            self._submission.__exit__(None, None, None)
            self._submission = None
