# %% [markdown]
# # Map, reduce and the mean
#
# **Two means, average them: right?** A colleague has the mean of one part of the data, you have the mean of the
# other. You add the two and halve the sum. Is that the mean of everything?
#
# Each of the six million gradients of the course's long task is a mean over a hundred images. With half of them each, two
# machines could make four and a half hours of nine: if two means can be joined to one, and if sending them costs less
# than it saves. In this chapter you start such machines, as processes with names, and join what they find.

# %%
from course.widgets import SliceMean

SliceMean(values=[3, 1, 2, 2, 4, 6, 7, 5, 6, 4], cut=5)

# %% [markdown]
# Ten numbers, cut in two slices, one for each of two tasks; a bar is as wide as its slice and as high as its mean. Cut in
# the middle, and the average of the two means is the mean of all. Move the cut. What do the two lines do, and who waits?
#
# | | |
# |---|---|
# | You will | write map and reduce in plain Python; start a cluster of named tasks; send work to a task you choose and prove where it ran; start the same cluster by hand, as on several machines; take a mean in slices without losing weight or digits |
# | Minutes | 50 |
# | You need | Python functions and dictionaries; a little NumPy |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |

# %% [markdown]
# ## Map, then reduce
#
# A large job is often one small job done many times. **Map** applies a function to every part. **Reduce** joins the
# results, two at a time, until one is left. Which words, and how often, are in this rhyme? Each line is a part.

# %% tags=["nbval-check-output"]
from collections import Counter
from functools import reduce

rhyme = """the cat sat on the mat
the dog sat on the cat
the mat lay on the floor"""

counted = [Counter(line.split()) for line in rhyme.splitlines()]  # map
for counts in counted:
    print(dict(counts))

# %% [markdown]
# Three lines, three dictionaries. Nothing that happened to one line depended on another: three people could have
# counted at once. Now join them, left to right.

# %% tags=["nbval-check-output"]
total = reduce(lambda left, right: left + right, counted)  # reduce
print(total.most_common(4))

# %% [markdown]
# That is all there is to map and reduce. `course.map_reduce` is the same in one call. An argument, the *executor*, says
# where the mapper runs; without it, that is here.

# %% tags=["nbval-check-output"]
from course import check, map_reduce


def count_words(line):
    return Counter(line.split())


def add(left, right):
    return left + right


print(map_reduce(count_words, add, rhyme.splitlines()).most_common(4))

# %% [markdown]
# ### Exercise: reduce by hand
#
# Write `fold(join, values)`: join the first value with the second, the result with the third, and so on. One value
# alone is the answer itself. Slow specification (the plainest way to a right answer; yours may be faster): `fold(join,
# [a, b, c])` is `join(join(a, b), c)`.
#
# <details><summary>Hint</summary>Keep the result so far in a variable. It starts as <code>values[0]</code>.</details>


# %% tags=["exercise"]
def fold(join, values):
    return ...  # your code


# %% tags=["solution"]
def fold(join, values):
    result = values[0]
    for value in values[1:]:
        result = join(result, value)
    return result


# %%
check(fold)

# %% [markdown]
# ### Exercise: join two counts
#
# Write `merge_counts(left, right)` for plain dictionaries: every word of either, with its counts added. Leave both
# inputs as they were. Slow specification: for each word, `left.get(word, 0) + right.get(word, 0)`.
#
# <details><summary>Hint</summary>Copy <code>left</code> first, then add each word of <code>right</code> to the copy.</details>


# %% tags=["exercise"]
def merge_counts(left, right):
    return ...  # your code


# %% tags=["solution"]
def merge_counts(left, right):
    joined = dict(left)
    for word, count in right.items():
        joined[word] = joined.get(word, 0) + count
    return joined


# %%
check(merge_counts)

# %% [markdown]
# ## When the order matters
#
# Three people finish when they finish. If results were joined in order of arrival, the answer could depend on who was
# quick. Does it? For whole numbers it doesn't. Try floats.

# %% tags=["nbval-check-output"]
print((1e16 + 1.0) + -1e16)
print((1e16 + -1e16) + 1.0)

# %% [markdown]
# The same three numbers, two sums. A float has about 16 digits, and the 1.0 fell off the end of 10¹⁶. So `map_reduce`
# joins in the order of the parts, whoever arrives first. With `associative=True` it joins neighbours first, as a
# tree; brackets show the shape.


# %% tags=["nbval-check-output"]
def bracket(left, right):
    return f"({left}{right})"


print(map_reduce(str, bracket, range(5)))
print(map_reduce(str, bracket, range(5), associative=True))

# %% [markdown]
# The tree's shape depends on the number of parts and on nothing else. A join that adds has a smaller rounding error
# in a tree, and the same one every time.
#
# ## A cluster of named tasks
#
# So far one process did everything. A **cluster** is several processes with names. A **job** is a group that does the
# same work; each process of it is a **task**, numbered from 0. A `ClusterSpec` writes down which tasks there are and
# at which address each one listens.

# %% tags=["nbval-check-output"]
from course import ClusterSpec, local_cluster

spec = ClusterSpec({"local": ["localhost:2222", "localhost:2223"]})
print(spec.jobs, spec.num_tasks("local"), spec.task_address("local", 1))
print(spec.tasks)

# %% [markdown]
# The spec starts nothing; it is a list of names. `local_cluster` starts the processes: here a job called `local` with
# two tasks, on ports that happen to be free. They are real processes of your operating system, and they talk over an
# encrypted connection that only this machine can reach.

# %% tags=["nbval-check-output"]
cluster = local_cluster(local=2)
print(cluster, cluster.tasks)

# %% [markdown]
# ## 2 → 238 on two tasks
#
# Where does a line run? Here is a sum in three steps. Start with 2. Task 1 adds 300. Task 0 takes 66 away. The
# results meet here. Inside `with cluster.at(…)` everything that is submitted goes to that task and to no other. Each
# step reports the name of the task that did it.

# %% tags=["nbval-check-output"]
from distributed import get_worker


def add_number(x, y):
    return get_worker().name, x + y


with cluster.at("/job:local/task:1"):
    first_task, first = cluster.executor.submit(add_number, 2, 300).result(timeout=20)
with cluster.at("/job:local/task:0"):
    second_task, second = cluster.executor.submit(add_number, 2, -66).result(timeout=20)

print(f"{first_task}: 2 + 300 = {first}")
print(f"{second_task}: 2 - 66 = {second}")
print(f"here: {first} + {second} = {first + second}")

# %% [markdown]
# Two tasks worked on the same number, and 302 − 64 = 238 was joined in this process. The names came from the tasks
# themselves. Three questions run through this course; for this sum they are quick to answer. *Where*: one addition on
# each task, the last one here. *What moved*: one number out and one back, each time. *Who waited*: this process,
# twice, in `.result`.
#
# They are two different processes, and neither of them is this one:

# %% tags=["nbval-check-output"]
import os


def process_number():
    return os.getpid()


numbers = {os.getpid()}
for task in cluster.tasks:
    with cluster.at(task):
        numbers.add(cluster.executor.submit(process_number).result(timeout=20))
print(len(numbers), "different processes")

# %% [markdown]
# ## Where a call becomes a message
#
# `submit(add_number, 2, 300)` looks like a call. But no process can jump into another one's code. A *message* goes to
# the task: which function, its arguments as bytes, and a number by which the answer finds its way back. The task reads
# it, makes the call, and sends the result, or the exception, as another message. That is a **remote procedure call**,
# RPC. TensorFlow's servers spoke gRPC, Dask has a protocol of its own, and chapter 08's server speaks HTTP; each is
# calls in messages. What is different from a call? Hand over a list, for the function to write in.


# %% tags=["nbval-check-output"]
def with_300(numbers):
    numbers.append(300)
    return numbers


mine = [2]
answer = cluster.executor.submit(with_300, mine).result(timeout=20)
print("what came back:", answer, "- what I sent:", mine)

# %% [markdown]
# A call here would have changed `mine`. The task wrote in a copy, made of the message's bytes, and what came back is a
# copy of that. A message can also be lost, its answer can be late, and the process that owes it can die: a call
# can't. So the sender says how long to wait (`timeout=20`), and a message that comes twice must do no harm.
#
# A task that isn't in the cluster is an error at once. (Dask alone would wait for such a task, for ever.)

# %% tags=["nbval-check-output"]
try:
    with cluster.at("/job:local/task:2"):
        cluster.executor.submit(process_number)
except ValueError as error:
    print(error)

# %% [markdown]
# ### Exercise: another job
#
# Make `renamed`: a `ClusterSpec` with one job called `summer`, of three tasks, at any addresses of this machine.
#
# <details><summary>Hint</summary>The name of a job is a key of the dictionary. Ports are whole numbers; take three different ones.</details>

# %% tags=["exercise"]
renamed = None

# %% tags=["solution"]
renamed = ClusterSpec({"summer": ["localhost:2222", "localhost:2223", "localhost:2224"]})

# %%
check(renamed, "renamed")

# %% [markdown]
# ## The same map and reduce, somewhere else
#
# An executor is anything with `submit`. The cluster has one. Give it to `map_reduce` and the lines of the rhyme are
# counted by the tasks; the dictionaries come back and are joined here.

# %% tags=["nbval-check-output"]
print(map_reduce(count_words, add, rhyme.splitlines(), cluster.executor).most_common(4))

# %% [markdown]
# ## Two means
#
# Twenty answers of a server, in seconds. Sixteen were quick, four were slow. The first slice has the quick ones, the
# second the slow ones.

# %% tags=["nbval-check-output"]
import numpy as np

quick = np.array([1.2, 0.8, 1.1, 0.9, 1.0, 1.3, 0.7, 1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.0, 0.9, 1.1])
slow = np.array([6.1, 5.8, 6.3, 5.8])
seconds = np.concatenate([quick, slow])
print(f"quick: mean {quick.mean():.2f}   slow: mean {slow.mean():.2f}")

# %% [markdown]
# So, what is the mean of all twenty?

# %%
from course.widgets import Predict, Scorecard

bet_mean = Predict("What is the mean of all twenty?", 0.0, 7.0, unit="s", name="04 mean")
bet_mean

# %% [markdown]
# Here is what all twenty give, and what averaging the two means gives.

# %% tags=["nbval-check-output"]
both = (quick.mean() + slow.mean()) / 2
why = f"The two means, averaged, are {both:.2f}: as if there were as many slow answers as quick ones."
bet_mean.reveal(round(seconds.mean(), 2), why)

# %% [markdown]
# Averaged, the four slow answers get as much say as sixteen quick ones. A mean alone has forgotten how many numbers it
# stands for. Cut in the middle, 10 and 10, and the mistake is invisible, because both slices weigh the same:

# %% tags=["nbval-check-output"]
left, right = seconds[:10], seconds[10:]
average = (left.mean() + right.mean()) / 2
print(f"10 and 10, averaged: off by {abs(average - seconds.mean()):.2f}")

# %% [markdown]
# So a slice must answer with two numbers, its sum and its size. Sums can be added. `course.mean` does that: each
# slice becomes a `PartSum`, the sums and the sizes are added, and one division at the end gives the mean. `parts=[16,
# 4]` are the slices' sizes.

# %% tags=["nbval-check-output"]
from course import mean
from course.mapreduce import part_sum

for name, numbers in (("quick", quick), ("slow", slow)):
    answer = part_sum(numbers)
    print(f"{name}: total {answer.total:.1f} of {answer.count}")
for sizes in ([10, 10], [16, 4], [19, 1], [20, 0]):
    print(sizes, f"{mean(seconds, sizes, cluster.executor):.2f}")

# %% [markdown]
# Whatever the cut, the mean is 2.00, and each slice was added up by a task. Even an empty slice does no harm: it has
# total 0 and size 0, where its mean would have been 0/0.
#
# The picture of the beginning, with these twenty. The two lines across are the two ways to join the means. Below, each
# slice is a task's work, a simulated second a number. Where must you cut so that nobody waits, and what does it cost when
# the task with the larger slice is killed half way?

# %%
SliceMean(cut=16)

# %% [markdown]
# Each bar's area is its slice's sum; the green line is the height at which one bar over all twenty would have the same
# area. The dashed red line ignores the widths. Cut at 16, and one task waits 12 s for the other. Kill that one, and all
# it has done is lost: 24 s instead of 16, and the same mean.
#
# ### Exercise: the weighted mean
#
# Write `weighted_mean(means, sizes)` for two lists of the same length. Slow specification: Σ sizeᵢ · meanᵢ, divided
# by Σ sizeᵢ.
#
# <details><summary>Hint</summary><code>zip(means, sizes)</code> gives the pairs.</details>


# %% tags=["exercise"]
def weighted_mean(means, sizes):
    return ...  # your code


# %% tags=["solution"]
def weighted_mean(means, sizes):
    return sum(mean * size for mean, size in zip(means, sizes, strict=True)) / sum(sizes)


# %%
check(weighted_mean)

# %% [markdown]
# ## Where float32 goes wrong
#
# Measurements often come as float32, which has about 7 digits. Take a million of them near one hundred million, with
# noise of at most 24. Neighbouring float32 numbers are 8 apart there. The true mean of exactly these numbers is
# known: Python's `math.fsum` adds without rounding. Add them one after the other in float32, and see.

# %% tags=["nbval-check-output"]
import math

generator = np.random.default_rng(4)
numbers = (1e8 + 8 * generator.integers(-2, 4, 1_000_000)).astype(np.float32)
exact = math.fsum(numbers.tolist()) / numbers.size
running_sum = np.add.accumulate(numbers)[-1]  # one float32 total, from left to right
running = float(running_sum) / numbers.size

print(f"exact mean           {exact:,.3f}")
print(f"running float32 sum  {running:,.0f}   off by {abs(running - exact) / exact:.1%}")
print(f"course.mean          {mean(numbers, 4):,.3f}")

# %% [markdown]
# The running sum is off by far more than the noise. Once the total has grown to 10¹⁴, neighbouring float32 numbers
# are 8 million apart, so each 10⁸ that is added gets rounded to a multiple of that. `course.mean` adds in float64 and
# is exact here to the last digit shown.
#
# That it runs in slices doesn't lose anything either:

# %% tags=["nbval-check-output"]
for parts in (1, 2, 3, 7):
    print(f"{parts} part(s): off by {mean(numbers, parts, cluster.executor) - exact}")

# %% [markdown]
# ## How fast can it go?
#
# A sum does next to nothing with a number: it reads it and adds it. So how fast can a mean be, and right as well? Six
# ways to the mean of the same sixteen million numbers follow. Each says how many bytes it gets through in a second, and
# how far it is off.
#
# The lowest rung is a loop in Python, on a part of the numbers.

# %% tags=["timing"]
import torch

from course import draw, measure

data = np.resize(numbers, 16_000_000)  # 64 MB: the same numbers sixteen times, so the same mean


def one_by_one(data):
    total = 0.0
    for number in data.tolist():
        total += number
    return total / len(data)


def climb(ladder, name, way, data):
    off = abs(float(way(data)) - exact)
    return ladder.climb(name, data.nbytes / measure(way, data, seconds=0.2).median, f"off by {off:.3g}")


ladder = climb(draw.Ladder("bytes"), "a loop in Python", one_by_one, numbers)
ladder

# %% [markdown]
# ### Rung 2: one call
#
# For the loop, Python made an object of every number. `data.mean()` adds the numbers where they lie, several at a time, in
# float32.
#
# Before you climb, guess the whole ladder. The rungs above: PyTorch asked for a sum in float64; the same in blocks of
# 256 kB; one compiled loop; all cores. A step may lead down: below 1.

# %%
rungs = ["one call, float32", "torch, float64", "float64 in blocks", "a compiled loop", "all cores"]
question = "How many times the bytes a second of the rung below?"
bet_rungs = Predict(question, 0.01, 1000, log=True, unit="×", each=rungs, name="04 rungs")
bet_rungs


# %% tags=["timing"]
def in_float32(data):
    return data.mean()


ladder = climb(ladder, "NumPy, float32", in_float32, data)
bet_rungs.reveal(ladder.gains[1:], "No object of Python's for each number.", shows=ladder)

# %% [markdown]
# Quick, and wrong in the eighth digit. NumPy adds in blocks, so it is as right as a float32 can be: its answer is a
# multiple of 8, and the mean isn't.
#
# ### Rung 3: ask for float64
#
# PyTorch can be asked for a better sum: `tensor.mean(dtype=torch.float64)`. It is the same number of additions.


# %% tags=["timing"]
def in_float64(data):
    return torch.from_numpy(data).mean(dtype=torch.float64)


ladder = climb(ladder, "torch, float64", in_float64, data)
bet_rungs.reveal(ladder.gains[1:], "PyTorch first makes a copy of all numbers, in new memory.", shows=ladder)

# %% [markdown]
# Right, and how quick? PyTorch first makes a copy of all numbers in float64, 128 MB of it, and asks the operating
# system for that memory. It comes in *pages* of a few thousand bytes, and each is found, wiped and entered in a table
# when it is first touched. Make the copy twice: into new memory, and into memory that is there already.

# %% tags=["timing"]
tensor, spare = torch.from_numpy(data), torch.zeros(len(data), dtype=torch.float64)
for name, copy in {"new memory": tensor.double, "memory that is there": lambda: spare.copy_(tensor)}.items():
    print(f"a copy into {name}: {1000 * measure(copy, seconds=0.2).median:.0f} ms")

# %% [markdown]
# Converting takes little; the new memory takes the time. For a small array there is no such step, because the same
# memory is given out again: a trap that a short test doesn't find.
#
# ### Rung 4: in blocks
#
# The same copy, 32,768 numbers at a time. A block in float64 takes 256 kB. Every block gets the memory of the one
# before, which is there already, and still in the processor's cache.


# %% tags=["timing"]
def in_blocks(data):
    return sum(float(block.double().sum()) for block in torch.from_numpy(data).split(2**15)) / len(data)


ladder = climb(ladder, "float64 in blocks", in_blocks, data)
bet_rungs.reveal(ladder.gains[1:], "Every block has the memory of the one before.", shows=ladder)

# %% [markdown]
# ### Rung 5: no copy at all
#
# A compiled loop can convert a number in a register and add it at once. `numba.njit` compiles a Python function when it
# is first called. One thing holds it back: floats added in another order give another sum, so a compiler keeps to the
# order written, and every addition waits for the one before. `fastmath={"reassoc"}` allows another order. Then the loop
# keeps many running sums side by side, in the processor's **vector units**, and adds those up at the end.

# %% tags=["timing"]
from numba import njit


@njit(nogil=True, fastmath={"reassoc"})
def total_of(data):
    total = 0.0
    for i in range(len(data)):
        total += data[i]
    return total


def compiled(data):
    return total_of(data) / len(data)


started = measure(compiled, data[:1000]).first_call
ladder = climb(ladder, "a compiled loop", compiled, data)
why = f"A number is read, converted and added, and never written; compiling took {started:.1f} s."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder)

# %% [markdown]
# ### Rung 6: all cores
#
# `course.mean` is such a loop on as many threads as PyTorch uses. Its chunks follow from the data alone, so the answer
# is the same, to the last bit, on any number of threads.

# %% tags=["timing"]
ladder = climb(ladder, "course.mean, all cores", mean, data)
why = "All cores wait for the same memory."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder, stored=[200, 0.04, 6, 7.5, 0.9])

# %% [markdown]
# Where is the end? Every number must be read from memory once. `peak_reading` measures how many bytes a second the cores
# of this machine can read when they do nothing else.

# %% tags=["timing"]
from course.timing import peak_reading

limit = peak_reading()
draw.ladder(ladder, limit, "reading from memory, on all cores")

# %% [markdown]
# Each step is as long as its gain; the dotted one leads back. Where one core already reads
# nearly all that memory gives, a second adds little: both wait for the same memory. The additions cost nothing worth
# mentioning. What counts is which bytes move, and how often. And the most accurate way is among the fastest.
#
# ## What moved, and who waited
#
# Each slice was sent to a task, and two numbers came back. Count the bytes of the float32 example in two slices.

# %% tags=["nbval-check-output"]
from course.mapreduce import slices

sent = [part.nbytes for part in slices(numbers, 2)]
print(f"sent to the tasks: {sent[0]:,} and {sent[1]:,} bytes")
print("sent back: a total and a count each,", 2 * 8, "bytes of numbers")

# %% [markdown]
# Four million bytes went out so that a few could come back. Adding up a slice takes less time than sending it. What
# if the data were *born* on the tasks? Then only a recipe has to travel:


# %% tags=["nbval-check-output"]
def make_and_add(part):
    first, last = part
    return part_sum(np.arange(first, last, dtype=np.float64))


recipe = [(0, 600_000), (600_000, 1_000_000)]
joined = map_reduce(make_and_add, add, recipe, cluster.executor, associative=True)
print(f"{joined.mean} is the mean of {joined.count:,} numbers; sent out: {recipe}")

# %% [markdown]
# The mean of 0 … 999,999 is 499999.5, from unequal slices, and no array crossed a connection. Who waited? Put that on a
# ladder, too: sixteen million numbers made here and sent in two slices, or made and added where the tasks are.
#
# Making them on the two tasks is how many times as fast?

# %%
question = "How many times as fast as sending is making the numbers on the tasks?"
bet_born = Predict(question, 0.1, 1000, log=True, unit="×", name="04 born there")
bet_born


# %% tags=["timing"]
from course.widgets import ClusterTimeline


def made(first, last):
    return np.arange(first, last, dtype=np.float32)


def sent():
    return mean(made(0, 16_000_000), 2, cluster.executor)


def born():
    halves = [(0, 8_000_000), (8_000_000, 16_000_000)]
    return map_reduce(lambda half: part_sum(made(*half)), add, halves, cluster.executor).mean


messages = draw.Ladder("bytes").climb("made here and sent", data.nbytes / measure(sent).median)
messages = messages.climb("made on the tasks", data.nbytes / measure(born).median)
why = "A few messages of some bytes instead of 64 MB."
ladder = draw.ladder(messages, limit, "reading from memory, on all cores")
with cluster.record() as tape:
    sent(), born()
bet_born.reveal(messages.gains[1], why, shows=[ladder, ClusterTimeline(tape, beside="mean")], stored=7.4)

# %% [markdown]
# The answer has a tape of the cluster, with both, one after the other. Press Play, or step with ▶ from event to event.
# First the two slices leave this notebook, and both tasks wait, dotted, for most of the run; then they make their numbers
# themselves, and work. Below, on the same axis, is a tape that came
# with the course. Touch a bar to read what it is. Drag it longer, and see what waits for it.
#
# Fewer and smaller messages: on a cluster, look for that gain first. The next chapter has work where almost nothing
# moves.
#
# ## A task dies
#
# Processes end when nobody expects it. Kill task 1 without warning, while it has work that was sent to it by name.


# %% tags=["nbval-check-output"]
import time


def slow_double(x):
    time.sleep(0.3)
    return get_worker().name, 2 * x


with cluster.at("/job:local/task:1"):
    waiting = cluster.executor.submit(slow_double, 21)
cluster.kill("/job:local/task:1")
print(waiting.result(timeout=30))

# %% [markdown]
# The answer is the same, and from a task of the same name. A new process took the name and the address of the dead
# one, and the work ran again. That is why a mapper should give the same answer when it runs twice.
#
# Whoever opens a cluster closes it. After that, its executor says so instead of waiting.

# %% tags=["nbval-check-output"]
cluster.close()
try:
    cluster.executor.submit(process_number)
except RuntimeError as error:
    print(error)

# %% [markdown]
# ## The same cluster, by hand
#
# `local_cluster` started every process for you. On several machines nobody can: each machine starts its own. Then
# every process needs the same list of names and addresses. The classic way to write it is one flag for each job:

# %% tags=["nbval-check-output"]
flags = ClusterSpec.from_flags(local_hosts="localhost:2222,localhost:2223")
print(flags.as_dict())

# %% [markdown]
# One address more than you named. Somebody must know who is there and send the work round: the *scheduler*. With flags
# it lives in the first task's process, 1000 ports above it. In a file you name it yourself, and it gets a process of
# its own. This writes such a file, `cluster.toml`, with three ports of this machine that are free now.

# %% tags=["nbval-check-output"]
import socket
import tempfile
from pathlib import Path

sockets = [socket.create_server(("localhost", 0)) for _ in range(3)]
ports = [one.getsockname()[1] for one in sockets]
[one.close() for one in sockets]

folder = Path(tempfile.mkdtemp())
lines = f'scheduler = ["localhost:{ports[0]}"]\nlocal = ["localhost:{ports[1]}", "localhost:{ports[2]}"]\n'
(folder / "cluster.toml").write_text(lines)
spec = ClusterSpec.read(folder / "cluster.toml")
print(spec.tasks)

# %% [markdown]
# In four terminals, on one machine or on four, you would now type
#
# ```
# python -m course certificate cluster.pem
# python -m course task --spec cluster.toml --job scheduler
# python -m course task --spec cluster.toml --job local --index 0
# python -m course task --spec cluster.toml --job local --index 1
# ```
#
# The first line makes the certificate. Every member holds a copy, and whoever has none can neither join nor listen.
# Each other line is a process that runs until you press Ctrl-C. (With flags you need neither file nor second line:
# `python -m course task --job-hosts local=localhost:2222,localhost:2223 --job local --index 0`, and the same with
# index 1.) Here Python types the lines, all but the last. A process prints a line when it is ready.


# %% tags=["nbval-check-output"]
import subprocess
import sys


def type_in_terminal(line):
    words = [sys.executable, *line.split()[1:]]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)


type_in_terminal("python -m course certificate cluster.pem").communicate()
terminals = {
    "scheduler": type_in_terminal("python -m course task --spec cluster.toml --job scheduler"),
    "task 0": type_in_terminal("python -m course task --spec cluster.toml --job local --index 0"),
}
for name, process in terminals.items():
    said = next(line for line in process.stdout if "waits for" not in line)  # a task may be there before its scheduler
    print(name, "says:", said.strip().replace(str(ports[0]), "PORT").replace(str(ports[1]), "PORT"))

# %% [markdown]
# The scheduler's address is the **session target**: what you connect to. Connect now, though task 1 has not been
# started. What should happen? Waiting for ever would be the worst answer.

# %% tags=["nbval-check-output"]
from course.cluster import connect

try:
    connect(spec, security=folder / "cluster.pem", timeout=2)
except TimeoutError as error:
    print(str(error).replace(str(ports[0]), "PORT"))

# %% [markdown]
# The spec says who should be there, so the error can say who is missing. Type the last line, and connect again.

# %% tags=["nbval-check-output"]
start_task_1 = "python -m course task --spec cluster.toml --job local --index 1"
terminals["task 1"] = type_in_terminal(start_task_1)
by_hand = connect(spec, security=folder / "cluster.pem", timeout=60)
print(by_hand, by_hand.tasks)

# %% [markdown]
# From here on nothing is new. It is the same `Cluster`, and 2 → 238 is the same program; so is the mean of the two
# slices of sixteen and of four.

# %% tags=["nbval-check-output"]
with by_hand.at("/job:local/task:1"):
    first_task, first = by_hand.executor.submit(add_number, 2, 300).result(timeout=20)
with by_hand.at("/job:local/task:0"):
    second_task, second = by_hand.executor.submit(add_number, 2, -66).result(timeout=20)
print(f"{first} on {first_task}, {second} on {second_task}: {first + second}")
print(f"mean in two slices: {mean(seconds, [16, 4], by_hand.executor):.2f}")

# %% [markdown]
# Now pull the plug of task 1. A local cluster replaced a dead task. Who replaces this one?


# %% tags=["nbval-check-output"]
def wait_until(is_so, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)


terminals["task 1"].kill()
terminals["task 1"].communicate()
wait_until(lambda: by_hand.missing())
print("missing:", by_hand.missing())
try:
    with by_hand.at("/job:local/task:1"):
        by_hand.executor.submit(process_number)
except ValueError as error:
    print(error)
print(f"mean in two slices: {mean(seconds, [16, 4], by_hand.executor):.2f}")

# %% [markdown]
# Nobody. Work that names the lost task is refused at once, and work that names no task goes to those who are left.
# Whoever looks after that machine types the line again. The new process has the old name and address, so programs that
# send work by name don't notice the change.

# %% tags=["nbval-check-output"]
terminals["task 1"] = type_in_terminal(start_task_1)
wait_until(lambda: not by_hand.missing())
with by_hand.at("/job:local/task:1"):
    print(by_hand.executor.submit(add_number, 2, 300).result(timeout=20))

# %% [markdown]
# At the end, `close` lets go of the cluster and leaves its processes running: they aren't yours to end. Ctrl-C in its
# terminal ends a process, or SIGTERM, as here. Each stops cleanly and says so by its exit code, 0.

# %% tags=["nbval-check-output"]
by_hand.close()
for name in ("task 1", "task 0", "scheduler"):
    terminals[name].terminate()
    terminals[name].communicate(timeout=20)
    print(name, "ended with exit code", terminals[name].returncode)

# %% [markdown]
# ## What this does not show
#
# - Two processes on one machine share its memory bandwidth and its cores. On two machines a slice travels over a
#   network, which is slower still.
# - Counting words in a text that is larger than memory needs data that are read where they lie. The mapper would get
#   a file's name, not its lines.
# - Sums of numbers with very different signs and sizes can lose digits in float64 too; `math.fsum` doesn't, and is
#   slower.
#
# ## Key points
#
# - Map: one function on every part, anywhere. Reduce: join two at a time, in an order that doesn't depend on who is
#   first.
# - Two means may be averaged only if they stand for equally many numbers. Send sums and sizes.
# - A task has a name, `/job:local/task:1`; `cluster.at` sends work there and nowhere else. Started by hand, it has the
#   same name, and nobody replaces it when it dies.
# - Add float32 numbers in float64, block by block or in a register, never by a copy of them all.
# - Sending data to a sum costs more than the sum. Send the recipe.
#
# ## Sources
#
# - A. D. Birrell, B. J. Nelson, *Implementing Remote Procedure Calls*, ACM Transactions on Computer Systems 2 (1984).
# - J. Dean, S. Ghemawat, *MapReduce: Simplified Data Processing on Large Clusters*, OSDI 2004.
# - N. J. Higham, *The Accuracy of Floating Point Summation*, SIAM J. Sci. Comput. 14 (1993): why a tree rounds less
#   than a row.
# - Python documentation, `concurrent.futures` and `functools.reduce`; Dask documentation, *Futures*.

# %% [markdown]
# ## Your guesses

# %% tags=["timing"]
challenge = "beat 7.4 × in the last bet by any number of slices, and keep the mean right."
Scorecard(bet_mean, bet_rungs, bet_born, challenge=challenge)
