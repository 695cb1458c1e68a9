"""What plausible wrong answers to lab 09 look like, and the slow specifications: the lab's self-test marks them all.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit, Wrong

SPECIFICATION = {
    "choose": """
def choose(job, budget, queues):
    best, found = None, ("", 0, 0)
    for queue in queues:
        for workers in range(1, queue["workers"] + 1):
            rounds = 0
            while rounds * workers < job["pieces"]:
                rounds += 1
            seconds = job["start"] + workers * job["join"] + job["serial"] + rounds * job["piece"]
            for minutes in range(queue["minutes"] + 1):
                if minutes * 60 * 4 < seconds * 5 or workers * minutes * queue["price"] > budget:
                    continue
                this = (queue["wait"] + seconds, workers * minutes * queue["price"], workers)
                if best is None or this < best:
                    best, found = this, (queue["name"], workers, minutes)
    return found
""",
    "job": """
def job(folder, steps, every, first, step):
    class Warned(Exception):
        pass

    def handler(number, frame):
        raise Warned

    states = {0: first}
    for name in os.listdir(folder):
        try:
            with open(os.path.join(folder, name)) as file:
                number, state, end = file.read().split()
            if end == "end":
                states[int(number)] = int(state)
        except ValueError:
            pass
    done = max(states)
    state = states[done]

    def save():
        with open(os.path.join(folder, f"after {done}"), "w") as file:
            file.write(f"{done} {state} end")

    signal.signal(signal.SIGTERM, handler)
    try:
        while done < steps:
            state, done = step(done, state), done + 1
            if done % every == 0 or done == steps:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                save()
                signal.signal(signal.SIGTERM, handler)
    except Warned:
        save()
        raise SystemExit
    return state
""",
    "near_data": """
def near_data(lies, slots):
    from functools import cache

    @cache
    def best(task, left):
        if task == len(lies):
            return 0, ()
        ways = []
        for node in range(len(left)):
            if left[node]:
                rest, nodes = best(task + 1, left[:node] + (left[node] - 1,) + left[node + 1:])
                ways.append((rest + lies[task].get(node, 0), (node, *nodes)))
        return max(ways)

    return list(best(0, tuple(slots))[1])
""",
    "schedule": """
def schedule(seconds, lies, slots, speed):
    places = [(n, s) for n in range(len(slots)) for s in range(slots[n])]
    took = {}
    for t in range(len(seconds)):
        for n in range(len(slots)):
            took[t, n] = seconds[t]
            for m in lies[t]:
                if m != n:
                    took[t, n] += lies[t][m] / speed[m][n]
    if len(seconds) <= 6:
        best = None
        for chosen in itertools.product(places, repeat=len(seconds)):
            end = max(sum(took[t, p[0]] for t, p in enumerate(chosen) if p == place) for place in places)
            if best is None or end < best[0]:
                best = end, chosen
        return list(best[1])
    left, plan, ends = set(range(len(seconds))), {}, dict.fromkeys(places, 0.0)
    while left:
        t = max(left, key=lambda t: (min(took[t, n] for n, s in places), -t))
        place = min(places, key=lambda p: ends[p] + took[t, p[0]])
        ends[place] += took[t, place[0]]
        plan[t] = place
        left.remove(t)
    return [plan[t] for t in range(len(seconds))]
""",
}

_SECONDS = 'job["start"] + workers * job["join"] + job["serial"] + rounds * job["piece"]'
_MINUTES = "math.ceil(1.25 * seconds / 60)"
_FIT = 'fit.append((queue["wait"] + seconds, credits, workers, place, minutes))'
_ORDER = "*_, workers, place, minutes = min(fit)"
_DUE = "if done % every == 0 or done == steps or warned:"
_REPLACES = '            os.replace(path + ".part", path)\n'
_HANDLER = "signal.signal(signal.SIGTERM, lambda number, frame: warned.append(number))"
_READS = "    if os.path.exists(path):\n"
_RETURNS = "return state if done == steps else None"
_PAIRS = "_, columns = linear_sum_assignment(stays, maximize=True)"
_TOOK = "size / speed[at][node] for at, size in lies[task].items() if at != node"

WRONG = {
    "choose": {
        "as many workers as there may be": Edit(
            'range(1, queue["workers"] + 1)', 'range(queue["workers"], queue["workers"] + 1)'
        ),
        "without the last worker": Edit('range(1, queue["workers"] + 1)', 'range(1, queue["workers"])'),
        "no extra quarter": Edit(_MINUTES, "math.ceil(seconds / 60)"),
        "minutes rounded down": Edit(_MINUTES, "int(1.25 * seconds / 60)"),
        "one minute more, always": Edit(_MINUTES, "int(1.25 * seconds // 60) + 1"),
        "rounds are not rounded up": Edit('-(-job["pieces"] // workers)', 'job["pieces"] / workers'),
        "rounds are rounded down": Edit('-(-job["pieces"] // workers)', 'job["pieces"] // workers'),
        "the serial part is shared out too": Edit(
            _SECONDS, 'job["start"] + workers * job["join"] + job["serial"] / workers + rounds * job["piece"]'
        ),
        "joining costs nothing": Edit('workers * job["join"]', '0 * job["join"]'),
        "starting costs nothing": Edit(_SECONDS, _SECONDS.replace('job["start"] + ', "")),
        "the cheapest, not the soonest": Edit(
            _ORDER, "*_, workers, place, minutes = min(fit, key=lambda one: one[1:])"
        ),
        "the longest limit of a queue is forgotten": Edit('minutes <= queue["minutes"] and ', ""),
        "money is no object": Edit(" and credits <= budget", "", gets=0.5),
        "below the budget, not at it": Edit("credits <= budget", "credits < budget", gets=0.5),
        "a budget of minutes, not of workers' minutes": Edit(
            "credits = workers * minutes", "credits = minutes", gets=0.5
        ),
        "the price is forgotten": Edit(' * queue["price"]', "", gets=0.5),
        "nobody waits": Edit('queue["wait"] + seconds, credits', "seconds, credits", gets=0.75),
        "the first queue only": Edit("enumerate(queues)", "enumerate(queues[:1])", gets=0.75),
        "what is soonest in the first queue that has anything": Edit(
            "    if not fit:\n", "    fit = [one for one in fit if one[3] == fit[0][3]]\n    if not fit:\n", gets=0.75
        ),
        "most workers where it makes no difference": Edit(
            _ORDER, "*_, workers, place, minutes = min(fit, key=lambda one: (one[0], -one[2]))"
        ),
        "an error where nothing fits": Edit('    if not fit:\n        return "", 0, 0\n', ""),
    },
    "job": {
        "every life from the beginning": Edit(_READS, "    if False:\n"),
        "no checkpoint at all": Edit(_DUE, "if False:"),
        "written in place": Wrong(
            """
def job(folder, steps, every, first, step):
    warned = []
    signal.signal(signal.SIGTERM, lambda number, frame: warned.append(number))
    path = os.path.join(folder, "checkpoint.json")
    done, state = 0, first
    try:
        with open(path) as file:
            done, state = json.load(file)
    except (OSError, ValueError):
        pass
    while done < steps:
        state = step(done, state)
        done += 1
        if done % every == 0 or done == steps or warned:
            with open(path, "w") as file:
                json.dump([done, state], file)
        if warned and done < steps:
            return None
    return state
""",
            gets=0.7,
        ),
        "the old one removed before the new one has its name": Edit(
            _REPLACES,
            "            if os.path.exists(path):\n                os.remove(path)\n" + _REPLACES,
            gets=0.7,
        ),
        "the old one is kept aside, and never looked for": Edit(
            _REPLACES,
            "            if os.path.exists(path):\n                os.replace(path, path + '.old')\n" + _REPLACES,
            gets=0.7,
        ),
        "whatever is in the folder is read": Edit(
            _READS, "    path = path + '.part' if os.path.exists(path + '.part') else path\n" + _READS, gets=0.7
        ),
        "no handler": Edit(_HANDLER, "pass", gets=0.7),
        "the warning is ignored": Edit(_HANDLER, "signal.signal(signal.SIGTERM, signal.SIG_IGN)", gets=0.7),
        "warned, it ends without a word": Edit(_DUE, "if done % every == 0 or done == steps:", gets=0.7),
        "warned, it goes on": Edit("while done < steps and not warned:", "while done < steps:", gets=0.7),
        "warned, it says that it is done": Edit(
            "        done += 1\n",
            "        done += 1\n        if warned:\n            done, state = steps, 0\n",
            gets=0.7,
        ),
        "after every step": Edit(_DUE, "if True:"),
        "one step too early": Edit(_DUE, "if (done + 1) % every == 0 or done == steps or warned:"),
        "only at the end": Edit(_DUE, "if done == steps or warned:", gets=0.3),
        "not at the end": Edit(_DUE, "if done % every == 0 or warned:"),
        "the number, not the state": Edit("json.dump([done, state], file)", "json.dump([done, first], file)"),
        "the state of one step before": Edit("json.dump([done, state], file)", "json.dump([done - 1, state], file)"),
        "removed when it is done": Edit(
            f"    {_RETURNS}", f"    if done == steps:\n        os.remove(path)\n    {_RETURNS}"
        ),
        "a variable of the notebook": Wrong(
            """
KEPT = {}

def job(folder, steps, every, first, step):
    done, state = KEPT.get(folder, (0, first))
    while done < steps:
        state = step(done, state)
        done += 1
        KEPT[folder] = done, state
    return state
"""
        ),
        "in memory that the lives share, with a file for show": Wrong(
            """
import mmap
KEPT = mmap.mmap(-1, 4000)

def job(folder, steps, every, first, step):
    warned = []
    signal.signal(signal.SIGTERM, lambda number, frame: warned.append(number))
    done, state = 0, first
    if os.listdir(folder):
        done, state = json.loads(KEPT[:100].rstrip(b"\\0"))
    while done < steps and not warned:
        state = step(done, state)
        done += 1
        if done % every == 0 or done == steps or warned:
            KEPT[:100] = json.dumps([done, state]).encode().ljust(100, b"\\0")
            open(os.path.join(folder, "show"), "w").close()
    return state if done == steps else None
"""
        ),
        "a result without the steps": "def job(folder, steps, every, first, step):\n    return first + steps\n",
    },
    "near_data": {
        "the best node, full or not": Edit(_PAIRS, "columns = stays.argmax(axis=1)", gets=0.25),
        "each in turn the best free node": Edit(
            "    _, columns",
            """    left, found = list(slots), []
    for one in lies:
        node = max((node for node in range(len(left)) if left[node]), key=lambda node: one.get(node, 0))
        left[node] -= 1
        found.append(node)
    return found
    _, columns""",
            gets=0.25,
        ),
        "the largest first": Edit(
            "    _, columns",
            """    left, found = list(slots), {}
    for task in sorted(range(len(lies)), key=lambda task: max(lies[task].values(), default=0), reverse=True):
        node = max((node for node in range(len(left)) if left[node]), key=lambda node: lies[task].get(node, 0))
        left[node] -= 1
        found[task] = node
    return [found[task] for task in range(len(lies))]
    _, columns""",
            gets=0.25,
        ),
        "as many bytes as possible": Edit("maximize=True", "maximize=False"),
        "in turn": Edit(_PAIRS, "columns = range(len(lies))"),
        "the slot, not its node": Edit("nodes[column]", "int(column)"),
        "one task a node": Edit("for _ in range(many)]", "for _ in range(min(many, 1))]"),
        "how many pieces, not how many bytes": Edit("one.get(node, 0) for", "node in one for"),
    },
    "schedule": {
        "where most of its data lie": Edit(
            "    if len(places)",
            """    if lies:
        nodes = [max((node for node, many in enumerate(slots) if many), key=lambda n: one.get(n, 0)) for one in lies]
        return [(node, task % slots[node]) for task, node in enumerate(nodes)]
    if len(places)""",
            gets=0.2,
        ),
        "in turn": Edit(
            "    if len(places)",
            "    if lies:\n        return [places[k % len(places)] for k in range(len(lies))]\n    if len(places)",
            gets=0.2,
        ),
        "moving takes no time": Edit(f"sum({_TOOK})", "0.0", gets=0.2),
        "the other direction": Edit("speed[at][node]", "speed[node][at]", gets=0.2),
        "what lies there moves too": Edit(
            _TOOK, "size / (speed[at][node] or 1.0) for at, size in lies[task].items()", gets=0.2
        ),
        "computing takes no time": Edit("return seconds[task] + sum", "return 0.0 + sum", gets=0.2),
        "never tried out": Edit("<= 5000", "<= 0", gets=0.6),
        "all in one slot": Edit(
            "    if len(places)", "    if lies:\n        return [places[0]] * len(lies)\n    if len(places)", gets=0.2
        ),
        "the quickest node, whoever is there": Edit("ends[place] + lasts[task][place]", "lasts[task][place]", gets=0.6),
        "the number of the place": Edit("return [places[place] for place in chosen]", "return list(chosen)", gets=0.4),
        "one slot a node": Edit("for slot in range(many)]", "for slot in range(min(many, 1))]", gets=0.2),
    },
}
