# %% [markdown]
# # Lab 09: Beyond one machine
#
# **A batch system kills your job when its hour is over, and bills the hour. The work takes five hours on one worker. For
# how many workers do you ask, for how long, and what happens to the work if you are wrong?**
#
# | | |
# |---|---|
# | You will | choose workers and walltime for a budget; write a job that loses next to nothing when it is warned or killed, in mid-write too; put tasks where their data lie; weigh moving against waiting |
# | Minutes | 120 |
# | You need | Python; chapter 09 shows where such jobs run. A batch system, a cloud or a second machine you don't need |
# | Resources | 1 core, 1 GB, seconds; nothing is downloaded, nothing costs money. Exercise 2 needs Linux or macOS (on Windows: WSL) |
#
# <!-- points -->
#
# Every exercise is a function. Write it, run the cell, then run the `check` below it: it looks for the smallest input on
# which your answer is wrong. Marks are made in the same way, on other inputs, from what your code returns, and in
# exercise 2 from the record of the machine that did the job's steps. You may add cells and functions of your own; keep
# the names and the arguments. No exercise needs another one.

# %%
import itertools
import json
import math
import os
import signal

import numpy as np

from course import check

# %% [markdown]
# ## 1. How many workers, for how long
#
# A batch system wants two numbers before it runs anything: how many workers, and for how long. When the time that you
# asked for, the *walltime*, is over, the job is killed. Most systems refuse a job whose workers times walltime go beyond
# your budget, even if it would end early. So both numbers should be small; and the work should be done soon.
#
# You have measured your program. `job` is a dictionary of whole numbers:
#
# | key | what it is |
# |---|---|
# | `"serial"` | seconds of the part that only one worker can do |
# | `"pieces"` | how many pieces the rest consists of; any worker can do any piece |
# | `"piece"` | seconds that one piece takes |
# | `"start"` | seconds until the job has started up |
# | `"join"` | seconds that each worker adds until all know each other |
#
# With n workers it takes `start + n * join + serial + r * piece` seconds, where r is the number of rounds: n pieces are
# done at once, so r is `pieces / n`, rounded up. You ask for a quarter more, in whole minutes: the walltime is the
# least whole number of minutes that has at least 1.25 times these seconds.
#
# `queues` is a list of dictionaries: `"name"`; `"workers"`, the most for one job; `"minutes"`, the longest walltime;
# `"price"`, credits for a minute of one worker; `"wait"`, seconds until a job of yours would start there. A job takes
# workers · walltime · price credits, and must not take more than `budget`.
#
# Write `choose(job, budget, queues)`. It returns a triple: the queue's name, the number of workers, at least 1, and the
# walltime in minutes, such that the work is *done* as soon as possible, the wait counted, the extra quarter not. If
# several choices are done at the same second, take the one of fewest credits; then of fewest workers; then the
# earlier queue in the list. If no choice fits, return `("", 0, 0)`.
#
# Half of the points are for one queue and money enough, a quarter each for tight budgets and for several queues. The slow
# specification (the plainest way to a right answer; yours may be faster): try every queue, every number of workers and
# every walltime.
#
# <details><summary>Hint</summary>
#
# `-(-pieces // n)` rounds up. `min` of tuples compares the first entries, then the second ones, and so on.
#
# </details>


# %% tags=["exercise:choose", "points:4"]
def choose(job, budget, queues):
    ### BEGIN SOLUTION
    fit = []
    for place, queue in enumerate(queues):
        for workers in range(1, queue["workers"] + 1):
            rounds = -(-job["pieces"] // workers)
            seconds = job["start"] + workers * job["join"] + job["serial"] + rounds * job["piece"]
            minutes = math.ceil(1.25 * seconds / 60)
            credits = workers * minutes * queue["price"]
            if minutes <= queue["minutes"] and credits <= budget:
                fit.append((queue["wait"] + seconds, credits, workers, place, minutes))
    if not fit:
        return "", 0, 0
    *_, workers, place, minutes = min(fit)
    return queues[place]["name"], workers, minutes
    ### END SOLUTION


# %%
check(choose)

# %% [markdown]
# Five hours of work, of which ten minutes are serial, on a queue that takes up to 64 workers. What do more credits buy?
# (Cells that only show something, such as this one, are not run when marks are made.)

# %% tags=["notebook-only"]
five_hours = {"serial": 600, "pieces": 290, "piece": 60, "start": 60, "join": 2}
queues = [{"name": "day", "workers": 64, "minutes": 480, "price": 1, "wait": 0}]
for budget in (300, 450, 600, 800, 1200, 2000):
    chosen = choose(five_hours, budget, queues)
    if chosen is not ...:
        _, workers, minutes = chosen
        bought = f"{workers:>2} workers for {minutes} minutes" if workers else "nothing fits"
        print(f"a budget of {budget:>4}: {bought}, {workers * minutes} credits")

# %% [markdown]
# And with machines that are paid by the hour? The same choice, as a bill; and what it becomes when nobody closes them.
# The prices are list prices of the month that is printed.

# %% tags=["notebook-only"]
from course.scale.prices import cost

chosen = choose(five_hours, 800, queues)
if chosen is not ... and chosen[1]:
    print(cost("m6i.large", chosen[1], chosen[2] / 60, egress_gb=2))

# %% [markdown]
# ## 2. A job that may be killed
#
# On a batch system a job's life ends in one of three ways. It is done. Or its time is nearly over, and it gets a signal,
# SIGTERM, some seconds before the end. Or it is gone at once: SIGKILL, a node that fails, power. In all but the first
# case it can have another life, which runs the same script from its first line. With Slurm one asks for all this:
#
# | in the script | what it does |
# |---|---|
# | `#SBATCH --time=60` | the walltime: an hour |
# | `#SBATCH --signal=TERM@120` | SIGTERM for what `srun` started, two minutes before the hour is over |
# | `#SBATCH --requeue` | when its node fails, the job goes back into the queue |
# | `srun python job.py` | the work |
# | `scontrol requeue $SLURM_JOB_ID` | after that line, if the work is not done: into the queue again |
#
# Write `job(folder, steps, every, first, step)`: the Python of that script. It does the steps 0, 1, …, `steps - 1`, each
# on the state that the one before it gave, and returns the last state.
#
# - `step(k, state)` does step k. It takes a state and returns the next one; both are whole numbers. `first` is the state
#   that step 0 takes. `steps` and `every` are at least 1.
# - `folder` is the path of a folder, a text. It is empty in the job's first life, and all that a life leaves to the next
#   one: no variable survives. Write nowhere else, and only by Python's own `open`; start no other process.
# - **Checkpoints.** When `every` steps are done, `2 * every`, and so on, and when all are done, the checkpoint must be in
#   the folder before `step` is called again. At other times write nothing, rename nothing, remove nothing: in real life a
#   checkpoint takes minutes.
# - **Killed in a step:** the next life goes on from the last checkpoint that was due. Steps since then are done again;
#   those before it never are.
# - **Killed while it writes:** that checkpoint may be lost, and what lies in the folder may be cut off in the middle or
#   empty. The checkpoint before it must still count.
# - **Warned by SIGTERM:** the step that runs then is the last one of this life. Write a checkpoint of all that was done,
#   due or not, and end: return, or `sys.exit()`. If that step has come to its end you may count it.
# - **Put back:** a life may find the folder as an earlier life found it, as from a backup. Then it goes on from there.
# - When the job is done and begun once more, it returns the last state and does nothing.
#
# Work out yourself what you write into the folder, and how. `check` runs each life in a process of its own and really
# kills it; so call `job` by `check` only. What a life prints is not shown; the error that it ends with is. 0.4 of the
# points are for being killed in a step, 0.3 each for being killed while it writes and for the warning. In a
# counterexample, what was given is how each life ended, and what it returned. The slow specification: the machine's
# record of all lives, read line by line against these rules.
#
# <details><summary>Hint 1: whole or not there</summary>
#
# `open(path, "w")` empties the file at once, and what you write may stay in memory until it is closed. Write into another
# file, close it, and give it the checkpoint's name by `os.replace`: at any moment one of the two is whole.
#
# </details>
#
# <details><summary>Hint 2: the warning</summary>
#
# `signal.signal(signal.SIGTERM, handler)` makes Python call `handler(number, frame)`, between two lines of your code, and
# then go on. A handler that only notes that it was called needs no care about what it interrupts.
#
# </details>


# %% tags=["exercise:job", "points:6"]
def job(folder, steps, every, first, step):
    ### BEGIN SOLUTION
    warned = []
    signal.signal(signal.SIGTERM, lambda number, frame: warned.append(number))
    path = os.path.join(folder, "checkpoint.json")
    done, state = 0, first
    if os.path.exists(path):
        with open(path) as file:
            done, state = json.load(file)
    while done < steps and not warned:
        state = step(done, state)
        done += 1
        if done % every == 0 or done == steps or warned:
            with open(path + ".part", "w") as file:
                json.dump([done, state], file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(path + ".part", path)
    return state if done == steps else None
    ### END SOLUTION


# %%
check(job)

# %% [markdown]
# How often should a job write? Too often costs time, too seldom costs work. With t seconds for a checkpoint and m seconds
# from one failure to the next on average, an interval of √(2 · t · m) seconds wastes least, by John Young's rule
# of 1974. Here t is 60.

# %% tags=["notebook-only"]
for hours in (1, 24, 24 * 30):
    interval = math.sqrt(2 * 60 * hours * 3600)
    wasted = 60 / interval + interval / 2 / (hours * 3600)
    print(f"a failure every {hours:>3} h: a checkpoint every {interval / 60:>5.1f} min, {wasted:.1%} wasted")

# %% [markdown]
# ## 3. Near the data
#
# Inside one machine every core reaches every byte. On a cluster a task's input lies somewhere, and what lies elsewhere
# must cross the network first.
#
# Write `near_data(lies, slots)`: a list with the number of a node for each task, such that as few bytes as possible move.
#
# - `lies[t]` is a dictionary for task t: number of a node → bytes of its input that lie there, above 0. A node that it
#   doesn't name has none of it. The bytes of a task's input that lie on other nodes than its own move to it.
# - `slots[n]` is how many tasks node n can take, 0 or more. There are slots enough for all. At most 16 tasks, 4 nodes.
#
# Several answers may move as few bytes; each of them is right. A quarter of the points is for nodes with room for all, the
# rest for nodes that are full. The slow specification: task after task, every node that still has a slot.
#
# <details><summary>Hint</summary>
#
# To give each task in turn its best free node can cost much later. Pairing tasks and slots at the least cost in all
# is a solved problem, the *assignment problem*: `scipy.optimize.linear_sum_assignment`.
#
# </details>


# %% tags=["exercise:near_data", "points:4"]
def near_data(lies, slots):
    ### BEGIN SOLUTION
    from scipy.optimize import linear_sum_assignment

    nodes = [node for node, many in enumerate(slots) for _ in range(many)]
    stays = np.array([[one.get(node, 0) for node in nodes] for one in lies])
    _, columns = linear_sum_assignment(stays, maximize=True)
    return [nodes[column] for column in columns]
    ### END SOLUTION


# %%
check(near_data)

# %% [markdown]
# ## 4. To move, or to wait
#
# Fewest bytes is not soonest done: where all the data lie on one node, the others would have nothing to do. Now tasks
# take time, and so do moves.
#
# Write `schedule(seconds, lies, slots, speed)`: a list with a pair `(node, slot)` for each task. A slot, numbered from 0
# on each node, does its tasks one after another. A task takes, on node n, `seconds[t]`, and before that, for each other
# node m that has b bytes of its input, `b / speed[m][n]` seconds.
#
# - `seconds` is a list of floats above 0; `lies` is as in exercise 3, here without a limit of tasks a node; `slots[n]` is
#   how many slots node n has, perhaps 0, together at least 1; `speed` is a `float64` array (nodes, nodes) of bytes a
#   second from row to column, above 0 but on its diagonal, which means nothing.
# - The schedule ends when the last slot has done its last task. Moves don't slow each other down here.
#
# With up to 6 tasks and 4 slots yours must end as early as any. With more, up to 60 tasks and 10 slots, it must end
# within 1.1 times what this rule gives: take the tasks in falling order of the time that each takes where it is quickest;
# put each where it ends first. 0.2 of the points are for schedules that are legal, however long they take, 0.4 each for
# few tasks and for many. The slow specification for few: try all schedules.
#
# <details><summary>Hint</summary>
#
# `itertools.product(places, repeat=6)` with 4 places has 4,096 items: few enough to try.
#
# </details>


# %% tags=["exercise:schedule", "points:4"]
def schedule(seconds, lies, slots, speed):
    ### BEGIN SOLUTION
    places = [(node, slot) for node, many in enumerate(slots) for slot in range(many)]

    def took(task, node):
        return seconds[task] + sum(size / speed[at][node] for at, size in lies[task].items() if at != node)

    lasts = [[took(task, node) for node, _ in places] for task in range(len(seconds))]

    def end(chosen):
        ends = [0.0] * len(places)
        for row, place in zip(lasts, chosen, strict=True):
            ends[place] += row[place]
        return max(ends)

    if len(places) ** len(seconds) <= 5000:
        best = min(itertools.product(range(len(places)), repeat=len(seconds)), key=end)
        return [places[place] for place in best]
    chosen, ends = [0] * len(seconds), [0.0] * len(places)
    for task in sorted(range(len(seconds)), key=lambda task: min(lasts[task]), reverse=True):
        chosen[task] = min(range(len(places)), key=lambda place: ends[place] + lasts[task][place])
        ends[chosen[task]] += lasts[task][chosen[task]]
    return [places[place] for place in chosen]
    ### END SOLUTION


# %%
check(schedule)

# %% [markdown]
# Forty tasks of 2 s whose data, 1 GB each, all lie on the first of four nodes with two slots. When do they end: where
# their data are, spread evenly, by your schedule? The network gets slower from line to line.

# %% tags=["notebook-only"]
lies, slots = [{0: 10**9}] * 40, [2, 2, 2, 2]


def ends_after(places, speed):
    ends = {}
    for place in places:
        ends[place] = ends.get(place, 0.0) + 2.0 + (10**9 / speed if place[0] else 0.0)
    return max(ends.values())


for speed in (10e9, 1e9, 1e9 / 8, 1e8 / 8):
    places = schedule([2.0] * 40, lies, slots, np.full((4, 4), speed))
    if places is not ...:
        near = ends_after([(0, task % 2) for task in range(40)], speed)
        spread = ends_after([(task % 4, task // 4 % 2) for task in range(40)], speed)
        mine = ends_after([tuple(place) for place in places], speed)
        away = sum(place[0] != 0 for place in places)
        told = f"near {near:>3.0f} s, spread {spread:>4.0f} s, yours {mine:>3.0f} s, {away} moved"
        print(f"{speed * 8 / 1e9:>5.1f} Gbit/s: {told}")

# %% [markdown]
# ## Sources
#
# - The limits of a batch system, `--signal` and `--requeue`: Slurm's [sbatch](https://slurm.schedmd.com/sbatch.html); what
#   is refused for want of budget: its [resource limits](https://slurm.schedmd.com/resource_limits.html), `GrpTRESMins`.
# - Serial and parallel parts: G. Amdahl, *Validity of the single processor approach*, AFIPS 1967.
# - Whole or not there: `rename` in [POSIX](https://pubs.opengroup.org/onlinepubs/9799919799/functions/rename.html).
# - When to write: J. W. Young, *A first order approximation to the optimum checkpoint interval*, CACM 17 (1974).
# - The assignment problem: H. W. Kuhn, *The Hungarian method*, Naval Research Logistics Quarterly 2 (1955).
# - Longest first: R. L. Graham, *Bounds on multiprocessing timing anomalies*, SIAM J. Appl. Math. 17 (1969); with moves:
#   H. Topcuoglu and others, *HEFT*, IEEE TPDS 13 (2002).
#
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
