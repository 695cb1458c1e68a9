# %% [markdown]
# # Lab 05: Pi on many servers
#
# **Four servers throw darts at once. Two of them threw the same ones, and nobody was told. How would you know, and how
# do you make sure that it can't happen?**
#
# | | |
# |---|---|
# | You will | throw any range of a stream's darts; share them out among servers and GPUs; add up what comes back; say how wrong it is likely to be, in two ways; number streams so that none is used twice, and find darts that were |
# | Minutes | 90 |
# | You need | chapters 04 and 05; a little NumPy |
# | Resources | 2 cores, 2 GB, under a minute; no GPU needed (four are simulated); nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function. Write its body, run the cell, then run the `check` below it: it looks for the smallest
# input on which your answer is wrong. Marks are made in the same way, on other inputs, by calling your functions and
# comparing what they return: counts of given darts, which only throwing them can tell, and never π itself. You may add
# cells and functions of your own; keep the names and the arguments.

# %%
import math

import numpy as np

from course import check

# %% [markdown]
# ## A stream
#
# A *stream* is an endless line of random numbers from 0 to 1, decided by a whole number, its key. `numbers` gives those
# at the places `first` ≤ k < `last`, wherever in the line they are, at once: number k depends on the key and k alone.


# %%
def numbers(stream, first, last):
    """Return the numbers first ≤ k < last of the stream, as float64 (last - first,)."""
    block = first // 4  # Philox makes four at a time, from the key and the block's number
    generator = np.random.Generator(np.random.Philox(key=stream, counter=[block, 0, 0, 0]))
    return generator.random(last - 4 * block)[first - 4 * block :]


print(numbers(5, 0, 6))
print(numbers(5, 3, 6))

# %% [markdown]
# ## 1. Count the darts that fall inside
#
# Dart i of a stream takes two of its numbers: x is number 2i, y is number 2i + 1. It falls *inside* when
# x² + y² < 1.
#
# Write `count_inside(stream, first, last)`: how many of the darts `first` ≤ i < `last` fall inside, as a whole number.
# `last` may equal `first`; then it is 0.
#
# The slow specification (the plainest way to a right answer; yours may be faster): draw the stream's numbers from its
# beginning, two for each dart; look at every dart from `first` on.
#
# <details><summary>Hint</summary>
#
# `values[0::2]` and `values[1::2]` are every second value of an array, from the first and from the second.
#
# </details>


# %% tags=["exercise:count_inside", "points:3"]
def count_inside(stream, first, last):
    ### BEGIN SOLUTION
    x, y = numbers(stream, 2 * first, 2 * last).reshape(-1, 2).T
    return int(np.count_nonzero(x * x + y * y < 1))
    ### END SOLUTION


# %%
check(count_inside)

# %% [markdown]
# ## 2. Parallel Pi
#
# Some servers are waiting. `submit(server, first, last)` makes server number `server` count the darts `first` ≤ i <
# `last`, and returns at once, with a *future*. Its `.result()` waits until that server is done, and returns the count.
#
# Write `pi_on_servers(darts, servers, submit)`. The darts 0 to `darts` - 1 are shared out: each server from 0 to
# `servers` - 1 gets one range, every dart is thrown exactly once, and the shares differ by one dart at most. (A server
# whose share is empty may be left alone.) Submit every range before you ask for the first result. Return a pair: how
# many fell inside in all, and the estimate of Pi, 4 · inside / darts.
#
# The check's servers don't throw: they make up a count for every range, so that only asking them helps. The slow
# specification: deal out the darts like cards, one to each server and again from the first; that says how many each
# gets.
#
# <details><summary>Hint</summary>
#
# `submit(…).result()` in one line means that server 1 begins when server 0 has ended.
#
# </details>


# %% tags=["exercise:pi_on_servers", "points:4"]
def pi_on_servers(darts, servers, submit):
    ### BEGIN SOLUTION
    ends = [darts * server // servers for server in range(servers + 1)]
    futures = [submit(server, ends[server], ends[server + 1]) for server in range(servers)]
    inside = sum(future.result() for future in futures)
    return inside, 4 * inside / darts
    ### END SOLUTION


# %%
check(pi_on_servers)

# %% [markdown]
# With a real pool of two, and your darts. (Cells that only show something, such as this one, are not run when marks are
# made.)

# %% tags=["notebook-only"]
from concurrent.futures import ThreadPoolExecutor

whole = count_inside(5, 0, 1_000_000)
with ThreadPoolExecutor(2) as pool:
    if whole is not ...:
        print(pi_on_servers(1_000_000, 2, lambda server, first, last: pool.submit(count_inside, 5, first, last)))
print("in one piece:", whole)

# %% [markdown]
# ## 3. Four GPUs
#
# A cluster lists its devices in full: `/job:worker/task:1/gpu:0` is the first GPU of task 1. Inside that task, torch
# calls it `cuda:0`: every process counts its own GPUs from 0.
#
# Write `pi_on_gpus(devices, darts)`. From a list of such names, CPUs among them, make a plan for the GPUs, all of them
# and nothing else: a list with a tuple `(task, device, first, last)` for each, such as
# `("/job:worker/task:1", "cuda:0", 500, 750)`. The darts 0 to `darts` - 1 are shared out as in exercise 2: every dart
# once, shares that differ by one at most. There is at least one GPU.
#
# The slow specification: deal out the darts one by one, as in exercise 2.
#
# <details><summary>Hint</summary>
#
# `name.rpartition("/")` takes a name apart at its last slash. GPUs may have two digits.
#
# </details>


# %% tags=["exercise:pi_on_gpus", "points:3"]
def pi_on_gpus(devices, darts):
    ### BEGIN SOLUTION
    gpus = [name.split("/gpu:") for name in devices if "/gpu:" in name]
    ends = [darts * place // len(gpus) for place in range(len(gpus) + 1)]
    return [(task, f"cuda:{index}", ends[k], ends[k + 1]) for k, (task, index) in enumerate(gpus)]
    ### END SOLUTION


# %%
check(pi_on_gpus)

# %% [markdown]
# Two tasks with two simulated GPUs each follow your plan. Four counts come home; together they are the count that one
# process finds.

# %% tags=["notebook-only"]
import torch

from course import local_cluster


def throw(device, stream, first, last):
    x, y = torch.from_numpy(numbers(stream, 2 * first, 2 * last).reshape(-1, 2).T.copy()).to(device)
    return (x * x + y * y < 1).sum().item()


with local_cluster(worker=2, simulated_gpus=2) as cluster:
    plan = pi_on_gpus([device.name for device in cluster.devices()], 100_000)
    thrown = []
    for task, device, first, last in [] if plan is ... else plan:
        with cluster.at(task):
            thrown.append(cluster.executor.submit(throw, device, 7, first, last))
    counts = [future.result(timeout=60) for future in thrown]
print(counts, "together", sum(counts), "of 100,000; in one piece:", count_inside(7, 0, 100_000))

# %% [markdown]
# ## 4. Pi, give or take
#
# Each server comes back with what it saw: how many fell inside, and how many it threw. Some threw more than others,
# some perhaps none.
#
# Write `pooled_pi(counts)`: from a list of (inside, samples), the pair (estimate of Pi, its standard error), from all
# darts together. With p the share of all darts that fell inside, and n all darts, the standard error is
# 4 · √(p · (1 - p) / n).
#
# The slow specification: write out every dart as 4 or 0. The estimate is their mean, the standard error their standard
# deviation (`np.std`) divided by √n.
#
# <details><summary>Hint</summary>
#
# Is the mean of two servers' estimates the estimate of all darts, if one threw ten times as many?
#
# </details>


# %% tags=["exercise:pooled_pi", "points:2"]
def pooled_pi(counts):
    ### BEGIN SOLUTION
    inside, samples = (sum(column) for column in zip(*counts, strict=True))
    share = inside / samples
    return 4 * share, 4 * math.sqrt(share * (1 - share) / samples)
    ### END SOLUTION


# %%
check(pooled_pi)

# %% [markdown]
# ## 5. An error that needs no formula
#
# Darts that are spread out evenly are not independent, and that formula does not hold for them. Then several runs with
# independent randomness tell: the spread of their answers says how wrong one of them is, and how wrong their mean is.
#
# Write `error_of_runs(values)`: the standard error of the *mean* of the runs' answers, of which there are two or more.
# The variance of one answer, estimated from k values, is the sum of the squared distances from their mean divided by
# k - 1; a mean of k has one k-th of that; the standard error is its root.
#
# The slow specification needs no mean: take half the squared difference of every two of the values; the average of
# these over all pairs is the variance of one answer.
#
# <details><summary>Hint</summary>
#
# `np.std` divides by k, if you don't tell it otherwise.
#
# </details>


# %% tags=["exercise:error_of_runs", "points:2"]
def error_of_runs(values):
    ### BEGIN SOLUTION
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))
    ### END SOLUTION


# %%
check(error_of_runs)

# %% [markdown]
# Do the two agree where both hold? Thirty runs of 10,000 darts each, every run from a stream of its own.

# %% tags=["notebook-only"]
runs = [count_inside(stream, 0, 10_000) for stream in range(30)]
if ... not in runs:
    print("from the formula, for all 300,000 darts:", pooled_pi([(inside, 10_000) for inside in runs]))
    print("from the spread of the thirty:          ", error_of_runs([4 * inside / 10_000 for inside in runs]))

# %% [markdown]
# ## 6. Streams that don't overlap
#
# You run the program again and again, each time with some servers, and every server needs a stream that nobody had
# before. Stream `run + server` is a trap: server 1 of run 0 and server 0 of run 1 throw the same darts.
#
# Write `stream_for(run, server, servers)`. `servers` is a list: run r had `servers[r]` of them. Line up all pairs of run
# and server: run 0 with its servers 0, 1, 2, …, then run 1 with its own, and so on. A pair's stream is its place in that
# line, from 0. So every pair has one, and no two have the same. Any process can work it out for itself.
#
# The slow specification: write the line down, and look for the pair.
#
# <details><summary>Hint</summary>
#
# How many pairs stand before the first of this run?
#
# </details>


# %% tags=["exercise:stream_for", "points:2"]
def stream_for(run, server, servers):
    ### BEGIN SOLUTION
    return sum(servers[:run]) + server
    ### END SOLUTION


# %%
check(stream_for)

# %% [markdown]
# ## 7. Which darts were thrown twice?
#
# A log says who threw what: a list of (stream, first, last), for the darts `first` ≤ i < `last` of that stream. A dart
# that was thrown before adds nothing but a false ±.
#
# Write `thrown_twice(ranges)`: how many of the throws were of a dart that another throw had already taken; that is, all
# throws, less the number of different darts. A dart thrown three times counts for two. Ranges may be empty, lie inside
# each other, and come in any order; dart 7 of stream 1 is not dart 7 of stream 2.
#
# The slow specification: keep every dart in a set, and count those that are in it already.
#
# <details><summary>Hint</summary>
#
# Sorted by where they begin, a stream's ranges overlap where one begins before the furthest end so far.
#
# </details>


# %% tags=["exercise:thrown_twice", "points:3"]
def thrown_twice(ranges):
    ### BEGIN SOLUTION
    again, end, current = 0, 0, None
    for stream, first, last in sorted(ranges):
        if stream != current:
            current, end = stream, first
        again += max(0, min(last, end) - first)
        end = max(end, last)
    return again
    ### END SOLUTION


# %%
check(thrown_twice)

# %% [markdown]
# What does it cost? Four servers, once with a stream each and once all with the same, and what they claim.

# %% tags=["notebook-only"]
for streams in ([0, 1, 2, 3], [0, 0, 0, 0]):
    found = [count_inside(stream, 0, 50_000) for stream in streams]
    twice = thrown_twice([(stream, 0, 50_000) for stream in streams])
    if ... not in found:
        print(f"streams {streams}: (Pi, ±) {pooled_pi([(inside, 50_000) for inside in found])}, thrown twice: {twice}")

# %% [markdown]
# ## A race, for fun
#
# No points, no marks: how near do you come to the last rung of chapter 05's ladder, `estimate_pi`? Your darts may come
# from any generator, a stream for each seed. Begin with what you have. Then climb: fewer bits a dart, blocks, a
# compiled loop, streams side by side. `lap` asks first whether the counts are those of chance, and then times both by
# the clock.


# %% tags=["notebook-only"]
from course import estimate_pi
from course.checks import lap


def fastest_count(seed, darts):
    return count_inside(seed, 0, darts)  # or anything faster


def last_rung(seed, darts):
    return estimate_pi(darts, seed).inside


def not_by_chance(count):
    """Say what is wrong with the counts of a hundred seeds, or return None."""
    found = np.array([count(seed, 4096) for seed in range(100)])
    off = (found - 4096 * np.pi / 4) / math.sqrt(4096 * np.pi / 4 * (1 - np.pi / 4))  # in standard errors
    if count(0, 4096) != found[0]:
        return "the same seed must give the same count"
    if abs(off.mean()) > 0.4:
        return f"the mean of 100 seeds is {off.mean():+.1f} standard errors off, and chance allows 0.4"
    if not 0.5 < off.var() < 1.6:
        return f"the counts of 100 seeds spread {off.var():.2f} times as far as chance does"
    return None


lap(fastest_count, last_rung, [(1, 4096), (2, 2**24)], wrong=not_by_chance)

# %% [markdown]
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
