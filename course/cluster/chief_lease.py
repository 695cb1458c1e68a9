"""A lease: at most one has it at any time, it ends when it is not renewed, and every new holder's term is higher.

The scheduler keeps the leases (`Leases`) on its own monotonic clock; whoever wants one asks again and again (`Lease`).
(Dask's `Semaphore` has leases as well, but no term by which a late message of a former holder can be refused.)
After C. Gray and D. Cheriton, "Leases: an efficient fault-tolerant mechanism", SOSP 1989.
"""

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course.cluster.spec import by_numbers

_LOG = logging.getLogger(__name__)
#: A lease holds so long after it was last renewed, at most: a scheduler that starts anew gives nothing away for as
#: long, because a lease that its predecessor gave may still hold.
LEASE_LASTS = 3.0
#: A candidate must ask at least so often.
LEASE_ASKED_EVERY = 0.5
#: A candidate that asked so lately is live, and may win a free lease.
LEASE_CANDIDATE_LIVES = 1.0
#: From the first question on, a candidate of a lower index may still turn up and win.
LEASE_SETTLES = 0.5


@dataclass
class _State:
    """One lease: who has it until when, the highest term ever heard of, candidate -> (first, last time it asked)."""

    holder: str | None = None
    term: int = 0
    highest: int = 0
    until: float = 0.0
    candidates: dict = field(default_factory=dict)


class Leases:
    """The scheduler's side; every method answers at once. `clock`: seconds that never go back.

    A scheduler that has just started gives nothing away for `grace` seconds: a candidate may still hold a lease that
    its predecessor gave. Its terms begin at `first`, by default the wall clock's milliseconds: higher than its
    predecessor's, unless the clock was set back, and then candidates that remember a later one set it right.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, grace: float = LEASE_LASTS, first: int | None = None
    ):
        self._clock = clock
        self._leases: dict[str, _State] = {}
        self._opens = clock() + grace
        self._first = int(time.time() * 1000) if first is None else first

    def ask(self, name: str, holder: str, term: int = 0, seconds: float = LEASE_LASTS) -> dict[str, Any]:
        """Renew or take the lease `name` for `holder`, if it is its; return {"holder", "term", "left"} as it is then.

        `holder`: begins with a task's name; among those who want a free lease the lowest wins. `term`: the highest
        that the holder knows of (a scheduler that was started again knows none). `left`: seconds; 0 where it is free.
        """
        now, lease = self._clock(), self._lease(name)
        first = lease.candidates.get(holder, (now, now))[0]
        lease.candidates = {
            candidate: times for candidate, times in lease.candidates.items() if now - times[1] <= LEASE_CANDIDATE_LIVES
        }
        lease.candidates[holder] = (first, now)
        lease.highest = max(lease.highest, term)
        renews = now < lease.until and holder == lease.holder
        takes = now >= lease.until and now >= self._opens and self._wins(lease, holder, now)
        if takes or (renews and lease.term < lease.highest):  # an earlier scheduler gave a later term
            if takes and lease.holder is not None:
                _LOG.info("lease %s of %s, term %d: expired", name, _task(lease.holder), lease.term)
            lease.holder, lease.term = holder, lease.highest + 1
            lease.highest = lease.term
            _LOG.info("lease %s: granted to %s, term %d", name, _task(holder), lease.term)
        if takes or renews:
            lease.until = now + seconds
        held = now < lease.until
        return {"holder": lease.holder if held else None, "term": lease.highest, "left": max(0.0, lease.until - now)}

    def release(self, name: str, holder: str) -> None:
        """Give the lease back, where `holder` has it; `holder` is no longer a candidate."""
        lease = self._lease(name)
        lease.candidates.pop(holder, None)
        if holder == lease.holder:
            _LOG.info("lease %s of %s, term %d: given back", name, _task(holder), lease.term)
            lease.holder, lease.until = None, self._clock()

    def _lease(self, name):
        return self._leases.setdefault(name, _State(highest=self._first))

    def _wins(self, lease, holder, now):
        settled = now - min(first for first, _ in lease.candidates.values()) >= LEASE_SETTLES
        return settled and holder == min(lease.candidates, key=by_numbers)


class Lease:
    """One candidate's side: call `renew` at least every half second, and act only while `mine`.

    `ask(name=, holder=, term=, seconds=)` and `give(name=, holder=)` reach the scheduler's `Leases`. Not for several
    threads at once. A new object is a new candidate, also for the same task: a process that was restarted does not
    inherit what its predecessor held. Raises ValueError for `seconds` longer than `LEASE_LASTS`.
    """

    def __init__(
        self,
        ask: Callable[..., dict[str, Any]],
        give: Callable[..., None],
        name: str,
        task: str,
        seconds: float = LEASE_LASTS,
        clock: Callable[[], float] = time.monotonic,
    ):
        if not 0 < seconds <= LEASE_LASTS:  # a scheduler that starts anew waits only so long for old leases to end
            raise ValueError(f"lease(seconds={seconds!r}): more than 0 and at most {LEASE_LASTS:g} seconds")
        self._ask, self._give, self._clock = ask, give, clock
        self.name, self.seconds = name, seconds
        self._me = f"{task}#{uuid.uuid4().hex}"
        self._until = 0.0
        #: The highest term heard of; the own one while `mine`.
        self.term = 0
        #: The task that had the lease when the scheduler was last asked, None where none had.
        self.holder: str | None = None

    @property
    def mine(self) -> bool:
        """Whether this candidate holds it now: false, by its own clock, when it was not renewed in time."""
        return self._clock() < self._until

    @property
    def seconds_left(self) -> float:
        """Seconds for which this candidate still holds it; 0 when it does not."""
        return max(0.0, self._until - self._clock())

    def renew(self) -> bool:
        """Ask for the lease, or for more time; return `mine`. Raises OSError when the scheduler does not answer."""
        before = self.holder
        sent_at = self._clock()  # before the question: the scheduler's time begins later, so this one ends first
        answer = self._ask(name=self.name, holder=self._me, term=self.term, seconds=self.seconds)
        self.term = max(self.term, answer["term"])
        self.holder = answer["holder"] and _task(answer["holder"])
        self._until = sent_at + answer["left"] if answer["holder"] == self._me else 0.0
        if self.holder != before:
            state = f"held by {self.holder}, term {self.term}" if self.holder else f"no longer held by {before}"
            _LOG.info("lease %s: %s", self.name, state)
        return self.mine

    def release(self) -> None:
        """Give the lease back; the next candidate has it in a moment. Raises OSError like `renew`."""
        self._until = 0.0
        self._give(name=self.name, holder=self._me)


def _task(holder):
    return holder.partition("#")[0]
