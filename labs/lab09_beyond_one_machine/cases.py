"""What lab 09 asks about, the smallest first: jobs and queues, ends of lives, tasks and where their data lie."""

import numpy as np

from course.checks.exercise import Case

# ---- workers and walltime --------------------------------------------------------------------------------------------


def a_job(serial, pieces, piece, start=0, join=0):
    """Return what was measured of a program: seconds, and a count of pieces."""
    return {"serial": serial, "pieces": pieces, "piece": piece, "start": start, "join": join}


def queue(name, workers, minutes, price=1, wait=0):
    """Return one queue's limits, price and wait."""
    return {"name": name, "workers": workers, "minutes": minutes, "price": price, "wait": wait}


def choices(draw):
    """Return `Case`s of (job, budget, queues) in the groups walltime, budget and queues."""
    cases = [Case(one, edge=True, group=group) for group, each in fixed_choices().items() for one in each]
    for group in ("walltime", "budget", "queues"):
        for _ in range(3):
            job = a_job(*(int(draw.integers(*ends)) for ends in ((0, 900), (1, 400), (1, 90), (0, 300), (0, 40))))
            names = ["short", "long", "night"][: 1 if group != "queues" else 3]
            queues = [
                queue(name, *(int(draw.integers(*ends)) for ends in ((1, 65), (10, 300), (1, 9), (0, 2000))))
                for name in names
            ]
            budget = 10**6 if group == "walltime" else int(draw.integers(50, 4000))
            cases.append(Case((job, budget, queues), group=group))
    return cases


def fixed_choices():
    """Return group -> (job, budget, queues): the cases that everybody gets, the smallest first."""
    ten = a_job(0, 10, 60)
    return {
        "walltime": [
            (a_job(48, 0, 1), 100, [queue("short", 1, 10)]),
            (a_job(49, 0, 1), 100, [queue("short", 1, 10)]),
            (a_job(0, 2, 48), 100, [queue("short", 4, 10)]),
            (ten, 100, [queue("short", 4, 60)]),
            (a_job(60, 10, 60, 30, 5), 100, [queue("short", 10, 60)]),
            (a_job(0, 8, 30, 0, 20), 100, [queue("short", 8, 60)]),
            (ten, 100, [queue("short", 10, 2)]),
            (ten, 100, [queue("short", 10, 1)]),
        ],
        "budget": [
            (ten, 13, [queue("short", 10, 60)]),
            (ten, 14, [queue("short", 10, 60)]),
            (ten, 12, [queue("short", 10, 60)]),
            (ten, 40, [queue("short", 10, 60, price=3)]),
            (a_job(600, 10, 60, 60), 60, [queue("short", 10, 60)]),
            (a_job(48, 0, 1), 1, [queue("short", 1, 10)]),
            (a_job(60, 10, 60, 30, 5), 60, [queue("short", 10, 60)]),
            (a_job(0, 2, 48), 4, [queue("short", 4, 10)]),
            (ten, 16, [queue("short", 4, 60)]),
            (ten, 100, [queue("short", 10, 1)]),
        ],
        "queues": [
            (ten, 100, [queue("short", 2, 60), queue("long", 4, 60)]),
            (ten, 100, [queue("short", 4, 60), queue("long", 4, 60, price=2)]),
            (ten, 100, [queue("short", 4, 60, price=2), queue("long", 4, 60)]),
            (ten, 100, [queue("short", 4, 60), queue("long", 4, 60)]),
            (ten, 100, [queue("short", 10, 60, wait=600), queue("long", 2, 60)]),
            (ten, 100, [queue("short", 10, 1), queue("long", 2, 60)]),
            (ten, 16, [queue("short", 10, 60, wait=60), queue("long", 5, 60), queue("night", 1, 60)]),
            (a_job(48, 0, 1), 1, [queue("short", 1, 10), queue("long", 1, 10)]),
            (a_job(60, 10, 60, 30, 5), 90, [queue("short", 10, 60, price=3), queue("long", 10, 60, price=2)]),
            (a_job(0, 2, 48), 4, [queue("short", 4, 10), queue("long", 4, 10)]),
            (ten, 12, [queue("short", 4, 60), queue("long", 9, 60)]),
            (a_job(100, 9, 60), 100, [queue("short", 4, 60), queue("long", 2, 60)]),
        ],
    }


# ---- a job that is killed --------------------------------------------------------------------------------------------


def lives(draw):
    """Return `Case`s of (steps, every, first state) whose plan says how the job's lives end, in three groups."""
    fixed = [
        ("killed", 1, 1, []),
        ("killed", 3, 1, [("kill", 1)]),
        ("killed", 6, 2, [("kill", 3), ("kill", 5)]),
        ("killed", 5, 3, [("kill", 1), ("kill", 3)]),
        ("killed", 6, 2, [("kill", 3), ("back", 5, 2)]),
        ("killed", 3, 1, [("kill", 1), ("back", 2, 1)]),
        ("torn", 4, 2, [("tear", 4, 1)]),
        ("torn", 8, 2, [("tear", 4, change) for change in range(1, 5)]),
        ("torn", 6, 2, [("tear", 2, 2), ("tear", 4, 3), ("kill", 4)]),
        ("torn", 4, 9, [("tear", 4, 1)]),
        ("torn", 6, 2, [("tear", 2, 1), ("back", 5, 2)]),
        ("warned", 4, 9, [("term", 1)]),
        ("warned", 6, 4, [("term", 2), ("kill", 3)]),
        ("warned", 5, 9, [("term", 4)]),
        ("warned", 9, 3, [("term", 1), ("back", 5, 2)]),
    ]
    cases = [life(*given, int(draw.integers(1 << 40)), edge=True) for given in fixed]
    for group, what in (("killed", "kill"), ("torn", "tear"), ("warned", "term")):
        every = int(draw.integers(2, 5))
        at = sorted(int(one) for one in draw.integers(every, 4 * every - 2, 3))
        ends = [(what, one, int(draw.integers(1, 4))) for one in at]
        cases.append(life(group, 4 * every + 1, every, ends, int(draw.integers(1 << 40))))
    return cases


def life(group, steps, every, ends, seed, edge=False):
    """Return the `Case` of a job of `steps` steps, whose lives end so: (what, step[, count]), as `Machine` says.

    `seed`: of what a step makes of a state, which nobody can know who does not ask for it. Where lives are torn in a
    row, the last changes of a save, which give files their names, are counted first, when marks are made.
    """
    plan = {"seed": seed, "steps": steps, "ends": [[*end, 1][:3] for end in ends]}
    plan["backwards"] = sum(end[0] == "tear" for end in ends) > 2
    return Case((steps, every, 1 if edge else seed % 1000), edge=edge, group=group, plan=plan)


# ---- tasks and their data --------------------------------------------------------------------------------------------


def placings(draw):
    """Return `Case`s of (lies, slots) in the groups room and full."""
    fixed = {
        "room": [
            ([{0: 5}], [1, 1]),
            ([{1: 5}], [1, 1]),
            ([{0: 5, 1: 7}], [2, 2]),
            ([{1: 4}, {1: 6}], [0, 2]),
            ([{0: 3, 1: 3, 2: 4}, {}], [2, 2, 2]),
        ],
        "full": [
            ([{0: 5}, {0: 9}], [1, 1]),
            ([{0: 9, 1: 8}, {0: 5}], [1, 1]),
            ([{0: 9, 1: 8}, {0: 5, 2: 1}, {1: 4}], [1, 1, 1]),
            ([{0: 6}, {0: 6, 1: 5}, {0: 6, 1: 1}], [2, 1]),
        ],
    }
    cases = [Case(one, edge=True, group=group) for group, each in fixed.items() for one in each]
    for group in ("room", "full", "full", "full"):
        nodes = int(draw.integers(3, 5))
        slots = [int(one) for one in draw.integers(1, 4, nodes)]
        tasks = sum(slots) if group == "full" else min(slots)
        slots = [tasks] * nodes if group == "room" else slots
        cases.append(Case((lying(draw, tasks, nodes), slots), group=group))
    return cases


def lying(draw, tasks, nodes):
    """Return for each task node -> bytes of its input there; few nodes have most of the data."""
    liked = draw.dirichlet([0.7] * nodes)
    return [
        {int(node): int(draw.integers(1, 1000)) for node in draw.choice(nodes, int(draw.integers(1, 4)), p=liked)}
        for _ in range(tasks)
    ]


def schedules(draw):
    """Return `Case`s of (seconds, lies, slots, speed) in the groups legal, few and many."""
    one = np.array([[0.0, 1.0], [1.0, 0.0]])
    slow = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [8.0, 1.0, 0.0]])
    fixed = [
        ("legal", [2.0], [{0: 4}], [1], np.zeros((1, 1))),
        ("legal", [2.0, 1.0], [{0: 4}, {}], [1, 2], one),
        ("few", [2.0], [{0: 4}], [1, 1], one),
        ("few", [2.0, 2.0], [{0: 4}, {0: 4}], [1, 1], one),
        ("few", [5.0, 5.0], [{0: 4}, {0: 4}], [1, 1], one),
        ("few", [3.0, 3.0, 2.0, 2.0, 2.0], [{}] * 5, [2, 0], one),
        ("few", [4.0, 4.0, 4.0], [{0: 8}, {0: 8}, {0: 8}], [1, 1, 1], slow),
        ("few", [4.0, 4.0], [{0: 8, 1: 8}, {0: 8, 1: 2}], [1, 0, 1], slow),
    ]
    cases = [Case(tuple(given), edge=True, group=group) for group, *given in fixed]
    for group, tasks, slots in (("legal", 9, [2, 1, 2]), ("few", 6, [2, 1, 1]), ("few", 5, [1, 1, 2])):
        cases.append(Case(scheduled(draw, tasks, slots), group=group))
    return cases + [Case(scheduled(draw, 60, slots), group="many") for slots in ([4, 4, 4], [1, 2, 3, 4], [6, 2])]


def scheduled(draw, tasks, slots):
    """Return the arguments of a schedule that is drawn: computing and moving take about as long."""
    nodes = len(slots)
    speed = np.round(draw.uniform(20, 400, (nodes, nodes)))
    np.fill_diagonal(speed, 0.0)
    return np.round(draw.uniform(1, 10, tasks), 1).tolist(), lying(draw, tasks, nodes), list(slots), speed
