"""What lab 09's answers are: every choice tried, a job's record read line by line, and places of tasks gone through."""

from dataclasses import dataclass
from functools import cache
from itertools import groupby

from course.checks.compare import show

from .machine import mixed

# ---- workers and walltime --------------------------------------------------------------------------------------------


def tried_choices(job, budget, queues):
    """Try every number of workers and every walltime of every queue; of those that fit, the first in the order."""
    fit = []
    for place, queue in enumerate(queues):
        for workers in range(1, queue["workers"] + 1):
            seconds = job["start"] + workers * job["join"] + job["serial"]
            seconds += max(len(range(one, job["pieces"], workers)) for one in range(workers)) * job["piece"]
            for minutes in range(1, queue["minutes"] + 1):
                credits = workers * minutes * queue["price"]
                if 4 * 60 * minutes >= 5 * seconds and credits <= budget:
                    fit.append((queue["wait"] + seconds, credits, workers, place, minutes))
                    break
    if not fit:
        return "", 0, 0
    *_, workers, place, minutes = sorted(fit)[0]
    return queues[place]["name"], workers, minutes


# ---- a job that is killed --------------------------------------------------------------------------------------------


def judge_job(case, got):
    """Return None, or what the machine's record shows of a job; `got.seen` is that record."""
    steps, every, first = case.arguments
    states = [first]
    for number in range(steps):
        states.append(mixed(case.plan["seed"], number, states[-1]))
    bounds, bound = [], Bound(0, 0, "it was the first")
    for life, rows in groupby(got.seen, key=lambda row: row[1]):
        bounds.append(bound)
        complaint, bound = _judge_life(life, list(rows), states, every, bounds)
        if complaint is not None:
            return f"{complaint} (steps 0 to {steps - 1}, a checkpoint every {every})"
    return _judge_end(got, len(case.plan["ends"]), states)


@dataclass(frozen=True)
class Bound:
    """Where a life may begin: with step `least` to `most`, and `why`."""

    least: int
    most: int
    why: str


def _judge_life(life, rows, states, every, bounds):
    """Return a complaint or None, and where the next life may begin; `bounds` are those of the lives up to this one."""
    steps, asked, warned, bound = len(states) - 1, None, None, bounds[-1]
    for what, _, step, state in rows:
        if what == "step":
            complaint = _judge_step(life, step, state, states, asked, warned, bounds[-1])
            if complaint is not None:
                return complaint, bound
            asked = step
            bound = Bound(bound.least, step + 1, bound.why)
        elif what == "change" and state:
            return f"life {life} left something outside of the folder", bound
        elif what == "change" and asked is not None and warned is None and step % every and step != steps:
            return f"life {life} changed a file after step {step - 1}; no checkpoint is due then", bound
        elif what == "kill":
            bound = Bound(step // every * every, step, f"life {life} was killed in step {step}")
        elif what == "tear":
            bound = Bound((step - 1) // every * every, step, f"life {life} was killed as it saved step {step - 1}")
        elif what == "term":
            bound, warned = Bound(step, step + 1, f"life {life} was warned in step {step}"), step
        elif what == "back":
            bound = bounds[state - 1]
            bound = Bound(bound.least, bound.most, f"its folder was put back to what life {state} found")
    return None, bound


def _judge_step(life, step, state, states, asked, warned, bound):
    """Return None, or why a life that `asked` for a step before, or None, must not ask for this one."""
    if warned is not None:
        return f"life {life} was warned in step {warned}, and asked for step {step} after it"
    if asked is None and not bound.least <= step <= bound.most:
        due = f"step {bound.least}" if bound.most == bound.least else f"a step from {bound.least} to {bound.most}"
        return f"life {life} began with step {step}; {bound.why}, so {due} is due"
    if asked is not None and step != asked + 1:
        return f"life {life} asked for step {step} after step {asked}"
    if not 0 <= step < len(states) - 1:
        return f"life {life} asked for step {step}"
    if state != states[step]:
        return f"life {life} asked for step {step} with {state}; expected {states[step]}"
    return None


def _judge_end(got, ends, states):
    """Return None, or what is wrong with how the last lives ended, and with what they returned."""
    lives, asked = got.seen[-1][1], max([row[2] for row in got.seen if row[0] == "step"], default=-1)
    if asked < len(states) - 2:
        when = f"after step {asked}" if asked >= 0 else "before its first step"
        return f"life {lives} ended by itself {when}; the last one is step {len(states) - 2}"
    if any(row[0] == "step" for row in got.seen if row[1] == lives):
        return f"life {lives} came after the job was done, and did steps again"
    if len(got.gave) != lives or not any(row[0] == "change" for row in got.seen):
        return f"expected {lives} lives, and files that are written by open()"
    for life, (_, gave) in list(enumerate(got.gave, start=1))[-2:]:
        if gave != states[-1]:
            return f"life {life} returned {show(gave)}; expected the last state, {states[-1]}"
    return None


# ---- tasks and their data --------------------------------------------------------------------------------------------


def judge_placing(case, got):
    """Return None, or what is wrong with the nodes of tasks: too many on one, or bytes moved for nothing."""
    lies, slots = case.arguments
    if len(got) != len(lies) or not all(type(node) is int and 0 <= node < len(slots) for node in got):
        return f"expected a list of {len(lies)} nodes, each from 0 to {len(slots) - 1}"
    for node, room in enumerate(slots):
        if got.count(node) > room:
            return f"node {node} has {got.count(node)} tasks and {room} slots"
    moved, fewest = sum(map(_moved, lies, got)), fewest_bytes(lies, slots)
    return None if moved == fewest else f"{moved} bytes move; {fewest} are enough"


def _moved(lies, node):
    return sum(size for at, size in lies.items() if at != node)


def fewest_bytes(lies, slots):
    """Return the fewest bytes that must move: task after task, for every number of slots that may be left."""

    @cache
    def fewest(task, left):
        if task == len(lies):
            return 0
        ways = [node for node, room in enumerate(left) if room]
        return min(
            _moved(lies[task], node) + fewest(task + 1, (*left[:node], left[node] - 1, *left[node + 1 :]))
            for node in ways
        )

    return fewest(0, tuple(slots))


def took(seconds, lies, speed, node):
    """Return the seconds of one task on a node: its input fetched, piece by piece, then computed."""
    return seconds + sum(size / speed[at][node] for at, size in lies.items() if at != node)


def judge_schedule(case, got):
    """Return None, or what is wrong with a schedule: an illegal place, or an end later than what is asked for."""
    seconds, lies, slots, speed = case.arguments
    places = {(node, slot) for node, many in enumerate(slots) for slot in range(many)}
    if len(got) != len(seconds):
        return f"expected {len(seconds)} places, one for each task"
    for task, place in enumerate(got):
        if tuple(place) not in places:
            return f"task {task} is at {tuple(place)}; there are {show(sorted(places))}"
    ends = dict.fromkeys(places, 0.0)
    for task, place in enumerate(got):
        ends[tuple(place)] += took(seconds[task], lies[task], speed, place[0])
    end = max(ends.values())
    if case.group == "few" and end > best_end(*case.arguments) * (1 + 1e-9):
        return f"it ends after {end:.4g} s; the best one after {best_end(*case.arguments):.4g} s"
    if case.group == "many" and end > 1.1 * (greedy := greedy_end(*case.arguments)):
        bound = f"none before {bound_end(*case.arguments):.4g} s"
        return f"it ends after {end:.4g} s; by the rule of the text {greedy:.4g} s are enough, and {bound}"
    return None


def best_end(seconds, lies, slots, speed):
    """Return the earliest end of all schedules: task after task, every set of ends that slots may then have."""
    reached = {tuple((node, 0.0) for node, many in enumerate(slots) for _ in range(many))}
    for task in range(len(seconds)):
        reached = {
            tuple(sorted((*ends[:at], (node, end + took(seconds[task], lies[task], speed, node)), *ends[at + 1 :])))
            for ends in reached
            for at, (node, end) in enumerate(ends)
        }
    return min(max(end for _, end in ends) for ends in reached)


def greedy_end(seconds, lies, slots, speed):
    """Return the end of the schedule by the text's rule: the longest task first, where it ends first."""
    nodes = [node for node, many in enumerate(slots) for _ in range(many)]
    lasts = [[took(one, lie, speed, node) for node in nodes] for one, lie in zip(seconds, lies, strict=True)]
    ends = [0.0] * len(nodes)
    for row in sorted(lasts, key=min, reverse=True):
        at = min(range(len(nodes)), key=lambda place: ends[place] + row[place])
        ends[at] += row[at]
    return max(ends)


def bound_end(seconds, lies, slots, speed):
    """Return a time before which no schedule ends: the longest task where it is quickest, or all shared out evenly."""
    nodes = [node for node, many in enumerate(slots) if many]
    quickest = [min(took(one, lie, speed, node) for node in nodes) for one, lie in zip(seconds, lies, strict=True)]
    return max(max(quickest), sum(quickest) / sum(slots))
