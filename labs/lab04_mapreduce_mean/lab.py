# %% [markdown]
# # Lab 04: map, reduce and the mean
#
# **A cluster's work is cut in parts, done at named places, and joined. Each of the three can go wrong without an
# error message. Can you write them so that they don't?**
#
# | | |
# |---|---|
# | You will | group and join by hand; rename a job everywhere and nowhere else; join means and spreads of unequal slices; keep a mean right near 10⁸; find where a pin leads, and what ran elsewhere |
# | Minutes | 90 |
# | You need | chapter 04; a little NumPy |
# | Resources | 2 cores, 2 GB, under a minute; no GPU needed (it is simulated); nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function. Write its body, run the cell, then run the `check` below it: it looks for the smallest
# input on which your answer is wrong. Marks are made in the same way, on other inputs, by calling your functions and
# comparing what they return. You may add cells and functions of your own; keep the names and the arguments.

# %%
import math

import numpy as np

from course import check

# %% [markdown]
# ## 1. Map and reduce by hand
#
# In chapter 04 each line gave one dictionary. The classic form gives *pairs*: a mapper turns each part into a list of
# (key, value) pairs, the pairs are grouped by key, and every group is reduced to one value.
#
# Write `map_and_reduce(parts, mapper, join)`. `mapper(part)` returns a list of (key, value) pairs, perhaps an empty
# one. Return a dictionary: for each key, its values joined from left to right in the order of the parts, and within a
# part in the order of its list. `join(left, right)` joins two values; a value that is alone stays as it is.
#
# The check's mapper puts the rest of every word of a line under its first letter, and its join writes brackets, so
# that you see what was joined to what: `["ant ape", "asp"]` becomes `{"a": "((ntpe)sp)"}`. The slow specification (the
# plainest way to a right answer; yours may be faster): write down all pairs; for each key pick out its values, and
# fold them.
#
# <details><summary>Hint</summary>
#
# One dictionary and two loops are enough. What do you do with a key that is not in it yet?
#
# </details>


# %% tags=["exercise:map_and_reduce", "points:3"]
def map_and_reduce(parts, mapper, join):
    ### BEGIN SOLUTION
    result = {}
    for part in parts:
        for key, value in mapper(part):
            result[key] = join(result[key], value) if key in result else value
    return result
    ### END SOLUTION


# %%
check(map_and_reduce)

# %% [markdown]
# With another mapper and join the same ten lines count words. (Cells that only show something, such as this one, are
# not run when marks are made.)

# %% tags=["notebook-only"]
rhyme = ["the cat sat on the mat", "the dog sat on the cat", "the mat lay on the floor"]
print(map_and_reduce(rhyme, lambda line: [(word, 1) for word in line.split()], lambda left, right: left + right))

# %% [markdown]
# ## 2. Rename the job
#
# The classic tutorial ends with: now call the job something else, and make everything run again. A cluster is a
# dictionary, job → addresses; pins are *places*, such as `/job:local/task:1` or `/job:local/task:0/gpu:0`. Any part of
# a place may be left out: `/job:local` and `/gpu:0` are places too.
#
# Write `rename_job(jobs, places, old, new)`. Return a pair: the dictionary with job `old` called `new`, and the list of
# places with that job renamed. Nothing else changes: no address, no other job, no order of the places. `new` is not
# yet a job, `old` is one. Leave `jobs` and `places` as they were, and return new ones.
#
# The slow specification: cut a place at every `/`; the piece `job:OLD`, when it is exactly that, becomes `job:NEW`.
#
# <details><summary>Hint</summary>
#
# `"localhost"` begins with `"local"`, and job `ps` is not job `psi`. Where does a job's name end in a place?
#
# </details>


# %% tags=["exercise:rename_job", "points:2"]
def rename_job(jobs, places, old, new):
    ### BEGIN SOLUTION
    def renamed(place):
        is_job = f"{place}/".startswith(f"/job:{old}/")
        return f"/job:{new}{place[len(f'/job:{old}') :]}" if is_job else place

    return {new if job == old else job: list(hosts) for job, hosts in jobs.items()}, [renamed(p) for p in places]
    ### END SOLUTION


# %%
check(rename_job)

# %% [markdown]
# ## 3. The mean of unequal slices
#
# Every server sends the mean of its slice and the slice's size. Some slices are empty, and the mean of nothing is
# `nan`, not a number.
#
# Write `mean_of_slices(means, sizes)`: the mean of all the numbers, from two lists of the same length. An empty slice
# has no say. When no slice has a number in it, or there is no slice, the answer is `nan`.
#
# The slow specification: write every mean as often as its size says, and take the mean of that list.
#
# <details><summary>Hint</summary>
#
# `0 * math.nan` is `nan`, and so is everything that it is added to.
#
# </details>


# %% tags=["exercise:mean_of_slices", "points:2"]
def mean_of_slices(means, sizes):
    ### BEGIN SOLUTION
    pairs = [(mean, size) for mean, size in zip(means, sizes, strict=True) if size]
    if not pairs:
        return math.nan
    return sum(mean * size for mean, size in pairs) / sum(size for _, size in pairs)
    ### END SOLUTION


# %%
check(mean_of_slices)

# %% [markdown]
# ## 4. The spread of unequal slices
#
# A mean with no spread is half an answer. The *variance* here is the mean of the squared distances from the mean
# (divided by the size, as `np.var` does it). Every slice sends (size, mean, variance), with a size of at least 1.
#
# Write `spread_of_slices(slices)`: from a list of such triples, the triple (size, mean, variance) of all the numbers.
# It is exact, not an estimate: slices that each have no spread have one together when their means differ.
#
# The slow specification, if you had the numbers: put them all in one list and work out the three.
#
# <details><summary>Hint</summary>
#
# A number's distance from the mean of all has two parts: from the mean of its slice, and from there on. In squares, on
# average, a slice adds its variance and the square of how far its mean is from the mean of all.
#
# </details>


# %% tags=["exercise:spread_of_slices", "points:3"]
def spread_of_slices(slices):
    ### BEGIN SOLUTION
    sizes, means, variances = (np.array(column, float) for column in zip(*slices, strict=True))
    total = sizes.sum()
    mean = (sizes * means).sum() / total
    variance = (sizes * (variances + (means - mean) ** 2)).sum() / total
    return int(total), float(mean), float(variance)
    ### END SOLUTION


# %%
check(spread_of_slices)

# %% [markdown]
# ## 5. A mean that survives
#
# Sensors send float32 near 10⁸, with a noise of a few units: numbers that lie 8 apart there, because float32 has no
# others. They come in blocks, arrays of unequal size, some empty, over a wire: `blocks` can be gone through **once**,
# with a `for`. Different blocks may come from different sensors, some of them near −10⁸ or near 0.
#
# Write `steady_mean(blocks)`: the mean of all the numbers, within 0.001 of the mean of exactly these numbers. No number
# is larger than 10⁹, there are at most a million of them, and at least one.
#
# The slow specification: Python's `math.fsum`, which adds without rounding, over all numbers; then one division.
#
# <details><summary>Hint</summary>
#
# How far apart are float32 numbers near 10¹²? That is what the sum of ten thousand such numbers looks like.
#
# </details>


# %% tags=["exercise:steady_mean", "points:3"]
def steady_mean(blocks):
    ### BEGIN SOLUTION
    total, count = 0.0, 0
    for block in blocks:
        total += float(block.sum(dtype=np.float64))
        count += block.size
    return total / count
    ### END SOLUTION


# %%
check(steady_mean)

# %% [markdown]
# How far off is the mean that an array works out for itself?

# %% tags=["notebook-only"]
noise = 8 * np.random.default_rng(4).integers(-2, 4, 100_000)
sensor = (1e8 + noise).astype(np.float32)
exact = math.fsum(sensor.tolist()) / sensor.size
print(f"exact {exact:,.4f}, sensor.mean() {sensor.mean():,.4f}, yours {steady_mean(iter(np.array_split(sensor, 7)))}")

# %% [markdown]
# ## 6. Where does a pin lead?
#
# `/job:local/task:0/gpu:0` names a GPU of a process. Which address must be called, and what does the task call that
# device? Write `locate(jobs, place)`: the pair (address, device). `jobs` is a dictionary, job → list of addresses; task
# T has the address number T, from 0. A place here is `/job:JOB/task:T`, or that followed by `/cpu:I` or `/gpu:I`; a
# place with no device means `/cpu:0`. Where the cluster has no such job or no such task, raise a `ValueError`: that is
# a third of the points.
#
# The slow specification: write out the name of every task in `jobs`, and look which one the place is or goes on from.
#
# <details><summary>Hint</summary>
#
# A dictionary raises `KeyError` for a job it has not, a list `IndexError` for a task: ask first. Tasks can have two
# digits.
#
# </details>


# %% tags=["exercise:locate", "points:3"]
def locate(jobs, place):
    ### BEGIN SOLUTION
    _, job, task, *device = place.split("/")
    name, index = job.removeprefix("job:"), int(task.removeprefix("task:"))
    if name not in jobs or index >= len(jobs[name]):
        raise ValueError(f"there is no {place}")
    return jobs[name][index], f"/{device[0]}" if device else "/cpu:0"
    ### END SOLUTION


# %%
check(locate)

# %% [markdown]
# ## 7. What ran elsewhere?
#
# You pinned the work to `/job:local/task:0/gpu:0`. Did it run there? A *record* says: a list of ops, in order, each a
# dictionary
#
# - `"op"`: its name, such as `"mm"`
# - `"device"`: where it ran, in full: `"/job:local/task:0/cpu:0"`
# - `"view"`: `True` when it computed nothing, and only looked at the same numbers in another way
# - `"bytes_moved"`: how many bytes it brought from another device; above 0, it is a copy
#
# Write `strays(record, place)`: the list of the names of the ops that *computed* elsewhere than `place`, in the order of
# the record. Views and copies compute nothing, wherever they are. `place` may also be a whole task,
# `/job:local/task:0`; then all its devices are home.
#
# The slow specification: cut both names at every `/`; a device is home when it has all the pieces of the place, in
# order, from the start.
#
# <details><summary>Hint</summary>
#
# `/gpu:1` is also how `/gpu:10` begins, and `/task:1` how `/task:12` does.
#
# </details>


# %% tags=["exercise:strays", "points:3"]
def strays(record, place):
    ### BEGIN SOLUTION
    def computed(op):
        return not op["view"] and not op["bytes_moved"]

    def is_home(device):
        return f"{device}/".startswith(f"{place}/")

    return [op["op"] for op in record if computed(op) and not is_home(op["device"])]
    ### END SOLUTION


# %%
check(strays)

# %% [markdown]
# Now a record that is no example: a cluster of one task with a simulated GPU, work that is pinned to it, and one line
# in it that names the CPU all the same.

# %% tags=["notebook-only"]
import torch

from course import local_cluster, log_placement


def work():
    with log_placement() as log:
        a = torch.rand(64, 64)
        b = torch.ones(64, 64, device="cpu")  # this names a device, and so it is not the pin's to choose
        c = a @ a + b.to(a.device)
        c.t().sum().item()
    return [record.row() for record in log]


with local_cluster(local=1, simulated_gpus=1) as cluster:
    with cluster.at("/job:local/task:0/gpu:0"):
        record = cluster.executor.submit(work).result(timeout=60)

for op in record:
    print(f"{op['op']:<20} {op['device']:<26} {op['bytes_moved']:>7,} bytes moved{', a view' * op['view']}")
print("ran elsewhere:", strays(record, "/job:local/task:0/gpu:0"))

# %% [markdown]
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
