# %% [markdown]
# # Beyond one machine
#
# **Two workers wait for each other, one of them far away: from which distance is one alone quicker?**
#
# A thousand machines make the gradients of nine hours in four minutes (with a thousandth of the updates), and they aren't
# yours. The same code runs on a batch system, over SSH or in a cloud, by one changed line. What changes is the distance:
# whatever moves takes longer, whoever waits waits longer, and all of it is paid for by the hour. Here are three workers on
# three continents; look who waits:

# %%
from course.widgets import Continents

Continents()

# %% [markdown]
# You will come back to it, and at the end of the chapter to the nine hours.
#
# | | |
# |---|---|
# | You will | run one cell on three systems; put a slow line of your own between real processes, cut it, and lose who is behind it; find out what distance does to each design; count what it costs |
# | Minutes | 60 |
# | You need | chapter 06 (synchronous, asynchronous, staleness); 07 (the ring) |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU, no network, no account anywhere; nothing is downloaded |

# %%
import socket
import threading
import time
from functools import partial

import numpy
import torch

from course import draw, estimate_pi, local_cluster, training
from course.checks import check
from course.distance import Link
from course.distance.recorded import elsewhere, sweep, two_hosts
from course.scale.prices import cost
from course.widgets import Predict, Scorecard

# %% [markdown]
# Now the question. Two workers train one set of parameters, and wait for each other. A gradient takes 20 ms, wherever it
# is computed. One worker sits beside the server; what the other sends is on its way for some milliseconds. How many may
# that be, until the one beside the server would be quicker without it?

# %%
question = "At how many ms, one way, does the second worker stop paying?"
bet_far = Predict(question, 1, 1000, log=True, unit="ms", name="09 too far")
bet_far

# %% [markdown]
# ## One changed line
#
# This is a cluster on your machine, with work on it: chapter 05's Pi, chapter 06's line.

# %% tags=["nbval-check-output"]
cluster = local_cluster(ps=1, worker=2)
found = estimate_pi(1_000_000, executor=cluster.executor)
print(found)

# %% tags=["nbval-check-output"]
problem = training.linear_regression()
SGD = partial(torch.optim.SGD, lr=0.02)
result = training.train(problem, cluster, optimizer=SGD, total_steps=1000)
best = problem.least_squares()
print(result)
print(f"the best slope is {best.slope:.2f} ± {best.slope_error:.2f}")

# %% tags=["timing"]
print(f"the trained one is {result.parameters['slope'].item():.2f}")

# %% [markdown]
# Do you have a batch system? Then the first line of the first cell becomes
#
# ```python
# from course.deploy import deploy
#
# cluster = deploy("slurm", ps=1, worker=2)
# ```
#
# Or some hosts that you may log in to:
#
# ```python
# cluster = deploy("ssh", hosts=["alpha", "beta"], ps=1, worker=2)
# ```
#
# Nothing else changes. Tasks have the same names, `cluster.at` sends work to them, a task that is lost is started again, and
# `cluster.close()` ends them all. Partitions, modules, GPUs and ports are options of that one line: docs/deploy.md has them.
#
# Do you have neither? Then look at a recorded run, on three systems.

# %%
bet_digits = Predict("How many digits of π differ between the three?", 0, 16, unit="digits", name="09 digits")
bet_digits

# %% tags=["nbval-check-output"]
together = zip(*(f"{pi:.15f}" for pi in {found.value, *(run.pi for run in elsewhere())}), strict=True)
different = sum(len(set(digits)) > 1 for digits in together)
headings = ["system", "until it was there, s", "first Pi, s", "first training, s", "π"]
rows = [(one.system, one.start, one.first_pi, one.first_training, str(one.pi)) for one in elsewhere()]
title = f"The same cell on three systems ({elsewhere()[0].label}; loopback)"
table = draw.table(headings, rows, title, title)
bet_digits.reveal(different, "A dart depends on the seed and its number, not on who throws it.", shows=table)

# %% [markdown]
# Only the start differs for certain: elsewhere each task is a fresh Python that imports torch, and a batch system looks
# at its queue first. On a busy one you wait for others' jobs, minutes or a day; that is no error, and `deploy` says
# what it waits for. All three ran on one machine, so no distance is in these seconds yet.
#
# ## A line of your own
#
# Distance can be had without a second machine. A `Link` is a relay: who connects to `link.to(address)` reaches `address`,
# but every byte comes later. It goes through real sockets of real processes. Here somebody repeats what you say:


# %%
def repeat(listening):
    caller, _ = listening.accept()
    with caller:
        for _ in range(5):
            caller.sendall(caller.recv(100))


# %% [markdown]
# Say hello to it through a link of 25 ms, five times. How long until the quickest answer is here?

# %% tags=["timing"]
with socket.create_server(("127.0.0.1", 0)) as listening, Link(delay=0.025) as link:
    threading.Thread(target=repeat, args=(listening,)).start()
    with socket.create_connection(link.to(listening.getsockname())) as line:
        waits = []
        for _ in range(5):
            began = time.perf_counter()
            line.sendall(b"hello")
            answer = line.recv(100)
            waits.append(1e3 * (time.perf_counter() - began))
print(answer, f"after {min(waits):.1f} ms")

# %% [markdown]
# 25 ms there, 25 ms back. In glass, light makes 200 km in a millisecond, and cables make detours: 25 ms are some 3,500 km.
# From Virginia to Frankfurt it is 44 ms one way, to Tokyo 73 ms. Money buys a straighter cable, never a quicker light.
#
# ## At which distance does it stop paying?
#
# `routes=` tells `train` by which way a worker reaches the server. Worker 0 sits beside it; worker 1 is behind the link.
# `paced` makes every gradient take 20 ms. `far` trains for less than a second, `rate` counts. (With a process for each role,
# `python -m course train --route …` does the same: so a worker behind an SSH tunnel trains too, see docs/deploy.md.)

# %%
COMPUTE = 0.020
slowly = training.paced(problem, seconds=COMPUTE)


def far(mode, delay):
    """Train for less than a second with worker 1 `delay` seconds away; return the result."""
    cycle, seconds = COMPUTE + 2 * delay, 0.3 + 2 * delay
    steps = seconds / cycle + (seconds / COMPUTE if mode == "async" else 0)
    settings = {"optimizer": SGD, "mode": mode, "workers": 2, "total_steps": max(4, round(steps))}
    with Link(delay) as link:
        return training.train(slowly, cluster, routes={1: link.to}, **settings)


def rate(result):
    """Return gradients a second, from the first update to the last."""
    applied = result.history["applied"]
    return (applied > applied[0]).sum() / (applied[-1] - applied[0])


# %% [markdown]
# Now five distances, both ways. Draw first what the synchronous training makes.

# %%
delays = [0.0, 0.005, 0.010, 0.025, 0.100]
question = "How many gradients a second when both wait for each other?"
over = [round(1e3 * delay) for delay in delays]
bet_curve = Predict(question, 0, 100, over=over, across="ms, one way; worker 0 alone makes nearly 50", name="09 curve")
bet_curve

# %% [markdown]
# A synchronous round can't be shorter than the far worker's gradient and its way there and back. How near does the
# quickest one come?

# %% tags=["timing"]
runs = {mode: {delay: far(mode, delay) for delay in delays} for mode in ("async", "sync")}
lines = []
for delay, run in runs["sync"].items():
    least = COMPUTE + 2 * delay
    quickest = numpy.diff(numpy.unique(run.history["applied"])).min()
    lines.append(
        f"{1e3 * delay:3.0f} ms away: at least {1e3 * least:.0f} ms, the quickest round {1e3 * quickest:.1f} ms"
    )

# %% [markdown]
# And in gradients a second? In the picture behind the answer the thin line is worker 0 alone, beside the server, waiting
# for nobody.

# %% tags=["timing"]
alone = rate(training.train(slowly, cluster, optimizer=SGD, workers=1, total_steps=20))
curves = {mode: {delay: rate(run) for delay, run in found.items()} for mode, found in runs.items()}
both = {"asynchronous": curves["async"], "synchronous": curves["sync"]}
picture = draw.distance(both, "Waiting for a far worker soon costs more than it brings", alone)
made = [round(rate, 1) for rate in curves["sync"].values()]
why = "A round lasts as long as the far worker's gradient, with its way there and back."
bet_curve.reveal(made, why, shows=["\n".join(lines), picture])

# %% [markdown]
# Where is the synchronous curve as high as worker 0 alone? Between two measured distances a round grows along a straight
# line.

# %% tags=["timing"]
rounds = [1 / curves["sync"][delay] for delay in delays]
crossing = 1e3 * numpy.interp(1 / alone, rounds, delays)
why = "Two gradients in 20 + 2d ms, or one in 20: they are equal where the way there and back takes as long as the gradient."
bet_far.reveal(round(crossing, 1), why, stored=10.1)

# %% [markdown]
# The reason holds in general: a gradient of 1 s bears a server on the other side of the earth; one of 1 ms wants it within
# 100 km.
#
# The asynchronous curve never falls below it. The near worker doesn't wait, and what the far one sends comes on top. So
# by this count asynchronous training pays at every distance. What does it pay with?

# %% tags=["timing"]
rows = []
for delay, run in runs["async"].items():
    late = run.staleness[run.history["worker"] == 1]
    rows.append([f"{1e3 * delay:.0f} ms", len(late), round(late.mean(), 1), int(late.max())])
headings = ["one way", "gradients of worker 1", "mean staleness", "oldest"]
draw.table(headings, rows, "The far worker's gradients are late")

# %% [markdown]
# With age. While a gradient is on its way the near worker makes update after update: at 100 ms about ten. Chapter 06 had
# the limit of the learning rate for gradients that are all so late (on a parabola of curvature 2):

# %% tags=["nbval-check-output"]
for delay in delays:
    staleness = round((COMPUTE + 2 * delay) / COMPUTE)
    limit = numpy.sin(numpy.pi / (4 * staleness + 2))
    print(f"{1e3 * delay:3.0f} ms: {staleness:2} late, stable below a rate of {limit:.2f}")

# %% [markdown]
# Only some of the gradients are that late here, so this is the careful side. Still: at 100 ms the far worker adds a tenth
# to the gradients, and may ask for a step that is several times shorter. `max_staleness=` drops what is too old; then it
# adds nothing. **Asynchronous training stops paying where its late gradients ask for a smaller step than they earn.**
#
# ## Server, shards or ring?
#
# Now three workers, all of them far from each other. A *server* has one line, which all of them share. Two *shards* have a
# line each, for half of the parameters. A *ring* has no server: each rank sends to the next, 2·(3 − 1) = 4 times a round.
# Gradients are the digits' of chapter 07: 318 kB, and take 20 ms.

# %%
bet_ring = Predict("At 50 ms one way, how long is a round of the ring?", 20, 2000, log=True, unit="ms", name="09 ring")
bet_ring

# %% [markdown]
# Recorded with the same `Link`, in real processes (the ring in threads); `make distance` does it again on your machine.

# %% tags=["nbval-check-output"]
unlimited = [run for run in sweep() if run.bandwidth is None]
names = {"synchronous": "one server", "shards": "two shards", "ring": "ring"}
curves = {name: {} for name in names.values()}
for run in unlimited:
    if run.design in names:
        curves[names[run.design]][run.delay] = run.rate
title = "Far apart, the ring's four trips count twice the server's two"
picture = draw.distance(curves, title, 1 / COMPUTE, label=unlimited[0].label)
ring = next(run for run in unlimited if run.design == "ring" and run.delay == 0.050)
why = "Four trips of 50 ms one after the other, and the gradient: 220 ms."
bet_ring.reveal(round(1e3 * ring.seconds), why, shows=picture)

# %% [markdown]
# Near, the ring is the quickest: nobody handles all the bytes. Is a link on one machine
# a fair stand-in? For the same training the server was put on another host: a *network namespace*, with addresses and a cable of its own.

# %%
here = {run.delay: run.seconds for run in unlimited if run.design == "synchronous"}
there = {run.delay: run.seconds for run in two_hosts() if run.design == "synchronous"}
rows = [[f"{1e3 * one:.0f} ms", round(1e3 * here[one]), round(1e3 * there[one])] for one in there]
title = f"The same rounds between two hosts ({two_hosts()[0].label})"
draw.table(["one way", "ms a round, one host", "ms a round, two hosts"], rows, title, title)

# %% [markdown]
# From 10 ms on they agree within a tenth: the line's length decides. (At 5 ms two hosts took a third longer.) Shards are
# no help against distance: both are asked at the same time, and are equally far.
#
# Which design would you take for a line that is long? Now a line that is *thin*: 4 MB/s, about what a house is connected with, and 5 ms long.

# %%
thin = [run for run in sweep() if run.bandwidth and run.delay == 0.005]
thin = [run for run in thin if run.design in names]
rows = [(names[run.design], round(1e3 * run.seconds), round(run.rate, 1)) for run in thin]
title = f"Lines of 4 MB/s and 5 ms ({thin[0].label})"
draw.table(["design", "ms a round", "gradients a second"], rows, title, title)

# %% [markdown]
# The server's line carries three gradients one after another, 80 ms each, and three answers back. Two shards hardly help: a
# shard holds whole tensors, and one tensor of this network has 99 % of its bytes. In the ring every line carries only four thirds of a
# gradient a round. **Latency counts trips, bandwidth counts bytes; a design that is good for one is seldom good for the
# other.** That is why rings are used inside one hall, and why between halls few large messages are sent.
#
# ## What fails at a distance
#
# Three things: a machine, a line, and the pace of a line. From afar each looks different. Worker 1 is 5 ms away, two
# workers wait for each other, and at step 10 something breaks. As in chapter 06, a hook does it:


# %%
class Strike(training.Hook):
    def __init__(self, at_step, act):
        self.at_step, self.act = at_step, act

    def after_run(self, session, step):
        if self.act and step.step >= self.at_step:
            self.act()
            self.act = None


# %% [markdown]
# `struck` trains, and tells at which second it was hit.


# %%
def struck(act, total_steps, **more):
    """Train with worker 1 behind a link; `act(link)` at step 10. Return the result, and when that was."""
    settings = {"optimizer": SGD, "mode": "sync", "workers": 2, "total_steps": total_steps, **more}
    with Link(delay=0.005) as link:
        strike = Strike(10, partial(act, link))
        result = training.train(slowly, cluster, hooks=[strike], routes={1: link.to}, **settings)
    return result, result.history["applied"][result.history["step"] == 10].max()


# %% [markdown]
# First the machine: worker 1's process is killed.

# %% tags=["nbval-check-output"]
lost, lost_at = struck(lambda link: cluster.kill("/job:worker/task:1"), total_steps=70)
print(lost)

# %% tags=["timing"]
known = next(event.seconds for event in lost.events if event.what == "worker lost")
print(f"the server knew it after {known - lost_at:.2f} s")
mine = training.Event(lost_at, "killed", "/job:worker/task:1", 10)
draw.faults(lost.history, [mine, *lost.events], "A dead process is noticed at once: nobody waits for it")

# %% [markdown]
# A process that dies closes its connections, and this news travels like any byte: some milliseconds later the server counts
# on worker 0 alone. Its updates are *degraded*: means of one gradient, not of two. Within a second or two
# worker 1's successor joins.
#
# A *line* that dies says nothing. A worker behind it looks the same as a slow one. The only way to tell is to wait, and to
# decide when it was long enough: here 3 s, six heartbeats.
#
# Cut the line in the middle of a synchronous training; nobody is told. 4.2 s later it is joined again.

# %%
question = "How many updates does worker 0 make in the three seconds after the cut?"
bet_cut = Predict(question, 0, 150, unit="updates", name="09 cut")
bet_cut

# %% [markdown]
# A timer makes it whole again.


# %%
def cut(link):
    link.cut()
    threading.Timer(4.2, link.join).start()


# %% tags=["nbval-check-output"]
hit, hit_at = struck(cut, total_steps=90)
print(hit)

# %% tags=["timing"]
lines = [f"{event.seconds - hit_at:4.1f} s after the cut: {event.what} {event.task}" for event in hit.events]
lines.append(
    f"degraded updates: {hit.degraded}; look at the version: when does it stand still, when does it rise faster?"
)
mine = [training.Event(hit_at, "cut", "", 10), training.Event(hit_at + 4.2, "whole again", "", 10)]
title = "A line is cut: all wait, go on without, and meet again"
applied, cut_at = hit.history["applied"], mine[0].seconds
made = len(numpy.unique(applied[(applied > cut_at) & (applied < cut_at + 2.9)]))
why = "In a synchronous round everybody waits for everybody, also for somebody who can't be heard."
bet_cut.reveal(made, why, shows=["\n".join(lines), draw.faults(hit.history, [*hit.events, *mine], title)])

# %% [markdown]
# After 3 s of silence worker 1 is counted out, and worker 0 goes on alone, in *degraded* updates. When the line is
# whole again worker 1 connects anew; the gradient that was on its way is lost, and counts nowhere. Asynchronously
# worker 0 would not have noticed.
#
# Which half goes on when a cluster is cut in two? The one with the server: the parameters are there. A worker on the
# other side can't know whether the server died or only the line, so it stops, and tries again for 6 s. If both halves
# went on there would be two trainings, and no way to make one of them again.
#
# Now the pace. At step 10 the line becomes 100 ms long, for good. And once more with `aggregate=1`: an update is
# then one gradient, whichever comes first.


# %% tags=["nbval-check-output"]
def slow(link):
    link.delay = 0.100


dragged, dragged_at = struck(slow, total_steps=15)
freed, freed_at = struck(slow, total_steps=65, aggregate=1)
print("what the server noticed:", [event.what for event in dragged.events + freed.events] or "nothing")

# %% [markdown]
# All four side by side. Without a fault, two workers make some 30 updates a second.

# %% tags=["timing"]
faults = {
    "a machine: killed": (lost, lost_at),
    "a line: cut": (hit, hit_at),
    "its pace: 100 ms": (dragged, dragged_at),
    "its pace, with aggregate=1": (freed, freed_at),
}
rows = []
for name, (run, at) in faults.items():
    noticed = [event.seconds - at for event in run.events if event.what in ("worker lost", "worker counted out")]
    later = numpy.unique(run.history["applied"]) - at
    rows.append([name, f"{noticed[0]:.2f} s" if noticed else "never", int(((later > 0) & (later < 1)).sum())])
title = "Only what falls silent is noticed"
draw.table(["what breaks", "noticed after", "updates in the next second"], rows, title, title)

# %% [markdown]
# A slow line is worse than none. It is never silent for 3 s, so nobody is counted out, and every update waits for it,
# for as long as the training lasts. `aggregate=1` does not wait: what worker 1 sends comes too late, and is dropped. Then it
# might as well not be there. `result.events` says what was noticed; only the times between two updates say what was not.
# Look at both before you add machines.
#
# ## What it costs
#
# A machine that isn't yours costs from its start to its end, idle or not. Four machines of four threads each, for an
# afternoon, with 5 GB sent out at the end.

# %%
bet_night = Predict(
    "What does it cost to forget them for a night, 12 h?", 0.1, 1000, log=True, unit="$", name="09 night"
)
bet_night

# %% tags=["nbval-check-output"]
bill = cost("m6i.xlarge", machines=4, hours=4, egress_gb=5)
why = "They cost as much idle as at work, and a night is longer than an afternoon."
bet_night.reveal(round(bill.left_running(12), 2), why, shows=str(bill))

# %% [markdown]
# Forgetting is the largest item. So a cluster of `deploy` ends with the process that started it, and closes itself after an
# hour without work (`idle=`). `python -m course deploy list` says what is open; on a cloud, also look at the provider's own
# page, and set a budget's alarm. A batch system ends your job at its walltime, and takes core-hours, not dollars.
#
# And what does distance cost? Bytes that leave a cloud are paid for; those that come in are free. A worker is rented in
# Virginia, and its server stands in your own hall in Frankfurt. Each gradient of the digits is 318 kB:

# %% tags=["nbval-check-output"]
gradients = 3600 / (COMPUTE + 2 * 0.044)  # in an hour
gigabytes = gradients * 318_040 / 1e9
hour = cost("m6i.large", machines=1, hours=1, egress_gb=gigabytes)
print(f"{gigabytes:.1f} GB an hour leave: ${hour.egress:.2f}; the machine itself ${hour.compute:.2f}")

# %% [markdown]
# The line is ten times as dear as the machine. (Between two regions of one cloud it is less; look it up.) Sending less,
# every tenth gradient or half of the bits, is no trick for experts: it is the bill.
#
# ## Move them yourself
#
# Now the exhibit of the beginning, with a ring. Choose a design, put server and workers on continents, and look who waits. A
# gradient takes 100 ms there. Find a placement in which the synchronous server beats the ring, and then a time *on the
# wire* at which the ring wins.

# %%
Continents(design="ring", workers=["Virginia", "Virginia", "Frankfurt"], wire=25)

# %% [markdown]
# The page computes it; Python finds the same.

# %% tags=["nbval-check-output"]
for design in ("asynchronous", "synchronous", "ring"):
    near = Continents(design, ["Virginia"] * 3).timeline.rate
    apart = Continents(design).timeline.rate
    print(f"{design:12} in one hall {near:5.1f} gradients a second, on three continents {apart:5.1f}")
cluster.close()

# %% [markdown]
# ## The nine hours, added up
#
# The course began with six million gradients, for which one worker and its server need nine hours. These are the
# chapters' ways to the same gradients, and what they would cost. A worker, or a server, has a core of its own, an
# `m6i.large`; the GPU is a T4, in a `g4dn.xlarge`.

# %%
from course.scale.nine_hours import ways

all_ways = ways()
rows = [
    [way.chapter, way.what, round(way.updates / 1000), round(60 * way.hours), round(way.dollars, 2)] for way in all_ways
]
title = f"A GPU is the cheapest way, far workers are the dearest ({all_ways[0].label}; GPU {all_ways[1].label})"
headings = ["chapter", "six million gradients by", "updates, thousands", "minutes", "list price, $"]
draw.table(headings, rows, title, title)

# %% [markdown]
# Read it with the three questions of chapter 00.
#
# - **Where does it run?** On a GPU, all in its place: the least of all prices, and half an hour. The same GPU with the
#   parameters somewhere else takes four times as long.
# - **Who waits?** Three workers cost less than one, because its server had time for two more. A thousand with one server
#   cost a hundred times that, because nearly all of them stand in line, and are paid. In a tree they have as many
#   gradients in four minutes.
# - **What moves?** Six million times 3.2 MB. On three continents everybody waits for Tokyo, for three and a half days; and
#   nearly all of the bill is bytes that leave a region (at Virginia's price).
#
# Machines' starts aren't in it, nor that the answers differ: who doesn't wait learns with late gradients. And a thousand
# that wait make an update of a thousand gradients: six thousand updates, with another learning rate, are another training.
#
# ## Exercises
#
# **1. Gradients over a distance.** A gradient takes `compute` ms; worker *k* is `delays[k]` ms from the server, one way, which
# itself takes no time. `rule` is "async" or "sync". Return gradients a second, of all together. Slow specification: let a
# clock run until all stand where they began, and count.
#
# <details><summary>Hint</summary>How long is one worker's cycle? Who else must be waited for?</details>


# %% tags=["exercise"]
def gradients_a_second(compute, delays, rule):
    return ...  # your code


# %% tags=["solution"]
def gradients_a_second(compute, delays, rule):
    cycles = [compute + 2 * delay for delay in delays]
    if rule == "sync":
        cycles = [max(cycles)] * len(cycles)
    return sum(1000 / cycle for cycle in cycles)


# %% tags=["nbval-check-output"]
check(gradients_a_second)

# %% [markdown]
# **2. Worth sending for.** All workers are `delay` ms away, one way; a gradient takes `compute` ms (whole numbers). Return the
# least number of them that make more gradients a second than one beside the server. Slow specification: try 1, 2, 3, …
#
# <details><summary>Hint</summary>n · compute > compute + 2 · delay, and whole numbers have a division for that.</details>


# %% tags=["exercise"]
def worth_it(compute, delay):
    return ...  # your code


# %% tags=["solution"]
def worth_it(compute, delay):
    return (compute + 2 * delay) // compute + 1


# %% tags=["nbval-check-output"]
check(worth_it)

# %% [markdown]
# **3. Server or ring?** `ranks` machines average `size` bytes. Each line takes `delay` ms one way and carries `speed` bytes a
# ms. Through a server: all bytes there, all bytes back (each worker has a line of its own). In a ring: 2·(`ranks` − 1)
# messages, one after another, of `size`/`ranks` bytes. Return "server" or "ring", whichever is quicker; "server" when they are equal. Slow
# specification: add the steps up one by one.
#
# <details><summary>Hint</summary>A message takes delay + its bytes / speed. Multiply by ranks · speed, and nothing is rounded.</details>


# %% tags=["exercise"]
def quicker(ranks, delay, size, speed):
    return ...  # your code


# %% tags=["solution"]
def quicker(ranks, delay, size, speed):
    server = 2 * (delay * speed + size) * ranks
    ring = 2 * (ranks - 1) * (delay * speed * ranks + size)
    return "ring" if ring < server else "server"


# %% tags=["nbval-check-output"]
check(quicker)

# %% [markdown]
# **4. When does silence count?** Heartbeats came at the milliseconds `heard` (rising, the first is 0). A peer is counted out as
# soon as nothing has been heard for `silence` ms; a heartbeat that comes in that very millisecond still saves it. Return
# the millisecond at which it is counted out, −1 if that is not by `until`. Slow specification: look at the clock in every millisecond.
#
# <details><summary>Hint</summary>Look at the gap after each heartbeat; the last one's gap ends with `until`.</details>


# %% tags=["exercise"]
def counted_out(heard, silence, until):
    return ...  # your code


# %% tags=["solution"]
def counted_out(heard, silence, until):
    for beat, following in zip(heard, [*heard[1:], until + 1], strict=True):
        if following > beat + silence:
            return beat + silence
    return -1


# %% tags=["nbval-check-output"]
check(counted_out)

# %% [markdown]
# ## What this does not show
#
# - **Real networks.** A link's delay is always the same and it loses nothing. Real ones jitter, and a lost packet costs TCP a round trip
#   or more.
# - **Real queues.** The recorded Slurm had one node and no other users.
# - **Other ways to average.** Gradients can be sent rarely (several local steps), rounded, or only where they are large:
#   each trades bytes against the quality of a step.
# - **Today's prices.** The calculator's are list prices of the month that it names, without tax or discounts.
#
# ## Key points
#
# - Where a cluster runs is one line; what distance costs is in your design.
# - Synchronous: a far worker pays until the way there and back takes as long as its gradient. Asynchronous: it always adds,
#   and pays with age.
# - Latency counts trips, bandwidth counts bytes. Rings save bytes and take more trips.
# - Slow and dead look the same from afar; a deadline decides, and everybody waits until then. What is only slow is never noticed.
# - What nobody closes costs most.
#
# ## Sources
#
# - [Latency between AWS regions](https://acomputerscientistlearnsaws.blogspot.com/2017/04/aws-regions.html), 2017: the exhibit's
#   round trips. Cables haven't moved; [cloudping.co](https://cloudping.co/) has today's.
# - J. Dean and others, [Large scale distributed deep networks](https://research.google/pubs/pub40565/), 2012: asynchronous
#   training in one hall, and why.
# - A. Douillard and others, [DiLoCo](https://arxiv.org/abs/2311.08105), 2023: training between halls, by sending rarely.
# - M. Fischer, N. Lynch, M. Paterson, [Impossibility of distributed consensus with one faulty
#   process](https://doi.org/10.1145/3149.214121), 1985: that slow and dead can't be told apart.
# - Prices: the clouds' own pages, named in `course/scale/prices.py`.

# %% [markdown]
# ## Your guesses

# %% tags=["timing"]
challenge = "on three continents, in the exhibit above: at which time on the wire does the ring beat both servers?"
Scorecard(bet_far, bet_curve, bet_digits, bet_ring, bet_cut, bet_night, challenge=challenge)
