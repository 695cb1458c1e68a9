# %% [markdown]
# # Pi on many processes
#
# **A hundred times the samples: how many more digits?** You throw darts at random and get pi to two decimals. A
# cluster lets you throw a hundred times as many. How many decimals more is that? Think of a number before you read
# on.
#
# A thousand machines could make half a minute of nine hours. But if only a hundredth of the work can't be shared, six
# minutes are left; and what is shared must not count anything twice. Darts are the work that is shared most easily, so
# they show best what many processes are worth, and how they go wrong.

# %%
from course.widgets import PiDarts

PiDarts(samples=500, seed=3)

# %% [markdown]
# Five hundred darts, and what they say of pi. *Another seed* throws others: how far does the estimate jump?
#
# | | |
# |---|---|
# | You will | estimate pi by chance and say how wrong it may be; measure how the error falls with their number; share darts among servers so that the answer doesn't depend on how many there are; throw them on four GPUs of two tasks; find out when more processes stop helping |
# | Minutes | 45 |
# | You need | chapter 04 (tasks, map and reduce); what a standard deviation is |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |

# %% [markdown]
# ## Darts
#
# Throw a dart at a square of side 1, anywhere, every place as likely as another. A quarter of a disc of radius 1 lies
# in that square and covers π/4 of it. So the share of darts that land inside it, times 4, is close to pi. In plain
# Python:

# %% tags=["nbval-check-output"]
import random

random.seed(5)
inside = sum(random.random() ** 2 + random.random() ** 2 < 1 for dart in range(10_000))
print(inside, "of 10,000 inside; pi is about", 4 * inside / 10_000)

# %% [markdown]
# Ten thousand darts, and the second decimal is in doubt. `course.estimate_pi` throws them in compiled code, many
# thousand times as fast, and reports what it isn't sure of.

# %% tags=["nbval-check-output"]
from course import check, draw, estimate_pi, local_cluster

estimate = estimate_pi(1_000_000, seed=3)
print(estimate)
print(f"{estimate.inside:,} of {estimate.samples:,} inside; off by {estimate.error:+.6f}")

# %% [markdown]
# ## How wrong may it be?
#
# The number after ± is the **standard error**: the size of the error that is typical, known without knowing pi. A
# dart is worth 4 with probability p and 0 otherwise, so its variance is 16·p·(1 − p); the mean of n darts has that,
# divided by n; the standard error is its root.

# %% tags=["nbval-check-output"]
from math import sqrt

p = estimate.inside / estimate.samples
print(f"{4 * sqrt(p * (1 - p) / estimate.samples):.6f}")
print(f"{estimate.standard_error:.6f}")

# %% [markdown]
# Is that honest? Throw 100,000 darts again and again, each time with another seed, and count how often the true error
# is smaller than one and than two standard errors.

# %% tags=["nbval-check-output"]
runs = [estimate_pi(100_000, seed) for seed in range(200)]
for band in (1, 2):
    hits = sum(abs(run.error) < band * run.standard_error for run in runs)
    print(f"within {band} standard error(s): {hits} of 200")

# %% [markdown]
# Chance promises about 68 % and 95 %, which is 137 and 191 of 200. So the band says what it claims to say: one
# estimate in twenty lies outside two standard errors, and it is not a mistake.
#
# ### Exercise: the standard error
#
# Write `standard_error(inside, samples)`. Slow specification (the plainest way to a right answer; yours may be
# faster): every dart is worth 4 or 0; take the standard deviation of all those values and divide it by √samples.
#
# <details><summary>Hint</summary>The formula above has everything.</details>


# %% tags=["exercise"]
def standard_error(inside, samples):
    return ...  # your code


# %% tags=["solution"]
def standard_error(inside, samples):
    share = inside / samples
    return 4 * sqrt(share * (1 - share) / samples)


# %%
check(standard_error)

# %% [markdown]
# ## A hundred times the samples
#
# Your number, please.

# %%
from course.widgets import Predict, Scorecard

question = "A hundred times as many darts: how many more correct decimals?"
bet_decimals = Predict(question, 0.0, 4.0, unit="decimals", name="05 decimals")
bet_decimals

# %% [markdown]
# One run proves little, so take the root of the mean squared error (RMS) over forty seeds, for four numbers of darts.

# %% tags=["nbval-check-output"]
import numpy as np


def typical_error(samples, method="pseudo", seeds=40):
    runs = [estimate_pi(samples, seed, method=method) for seed in range(seeds)]
    return np.sqrt(np.mean([run.error**2 for run in runs]))


counts = [1_000, 10_000, 100_000, 1_000_000]
errors = [typical_error(count) for count in counts]
lines = [f"{count:>9,} darts: typical error {error:.4f}" for count, error in zip(counts, errors, strict=True)]
why = "From 10,000 to 1,000,000 darts the error falls to about a tenth."
bet_decimals.reveal(round(float(np.log10(errors[1] / errors[3])), 1), why, shows="\n".join(lines))

# %% [markdown]
# Is there a law in it? On paper with logarithmic axes a power is a straight line, and its slope is the power. Measure it, with its own standard error: each of 10 groups of seeds gives one slope.


# %% tags=["nbval-check-output"]
def slope(group):
    seeds = range(1000 + 20 * group, 1020 + 20 * group)
    errors = np.array([[estimate_pi(count, seed).error for seed in seeds] for count in counts])
    typical = np.sqrt(np.mean(errors**2, axis=1))
    return np.polyfit(np.log(counts), np.log(typical), 1)[0]


slopes = [slope(group) for group in range(10)]
print(f"slope {np.mean(slopes):.2f} ± {np.std(slopes, ddof=1) / sqrt(len(slopes)):.2f}")

# %% [markdown]
# The law says −0.50: to halve the error takes four times the darts, and the measured slope agrees within its standard
# error. There is the answer to the question at the top: a hundred times the darts, one digit more.
#
# ### Exercise: the price of a wish
#
# Write `darts_for(wish)`: the smallest whole number of darts whose standard error is at most `wish`. Slow
# specification: one dart has a standard error of 4·√(π/4·(1 − π/4)), about 1.642; try n = 1, 2, 3, … until 1.642/√n
# is small enough. The check allows one part in a hundred.
#
# <details><summary>Hint</summary>Solve for n instead of trying.</details>


# %% tags=["exercise"]
def darts_for(wish):
    return ...  # your code


# %% tags=["solution"]
def darts_for(wish):
    return int(np.ceil((4 * sqrt(np.pi / 4 * (1 - np.pi / 4)) / wish) ** 2))


# %%
check(darts_for)

# %% [markdown]
# Here are the darts of the beginning again, and more of them. Move their number, the seed and the method. On the right
# the estimate walks into the band of two standard errors around π; change the seed, and it takes another way into the
# same band. The small dots are twenty other seeds' estimates, and the dashed line is what as many darts give that are
# spread out evenly: the end of this chapter has them.

# %%
PiDarts(samples=20_000, seed=3)

# %% [markdown]
# **Your turn.** The darts can hit any shape. `hits` below is a function of yours: it says which darts count, as an array of
# True and False. `ipywidgets.interact` makes a control for each argument of `area`, a list of values here, and calls it
# whenever you choose another. Expect two lists and a line; with the power at 2 it is π/4, at 1 it is a half, and what lies
# beyond the ± is luck. (A page without a kernel shows nothing here: run the cell.)


# %% tags=["your-turn"]
import ipywidgets


def hits(x, y, power):
    return x**power + y**power < 1


@ipywidgets.interact(power=[0.5, 1.0, 2.0, 4.0], digits=[2, 3, 4, 5, 6])
def area(power=2.0, digits=4):
    x, y = np.random.default_rng(3).random((2, 10**digits))
    share = hits(x, y, power).mean()
    error = sqrt(share * (1 - share) / 10**digits)
    print(f"{share:.4f} ± {error:.4f} of the square, by {10**digits:,} darts")


# %% [markdown]
# ## Who throws which darts?
#
# If digits are so dear, more processes should throw. Start a cluster whose job is called `server`, with two tasks. A
# server is found by its role and its index.

# %% tags=["nbval-check-output"]
cluster = local_cluster(server=2)
print(cluster.tasks)

# %% [markdown]
# Every server runs the same code, and only its index says which darts are its own. The trick is that dart i is
# decided by the seed and by i alone: darts come in blocks of 65,536, and block k has a stream of random numbers of
# its own, made from (seed, k). So server 0 can throw blocks 0 to 7 and server 1 blocks 8 to 15, and neither needs to
# know what the other does.

# %% tags=["nbval-check-output"]
from course.pi.pseudo import BLOCK, count

shares = [(0, 8 * BLOCK), (8 * BLOCK, 16 * BLOCK)]
found = []
for index, (first, last) in enumerate(shares):
    with cluster.at(f"/job:server/task:{index}"):
        found.append(cluster.executor.submit(count, 9, first, last))
by_server = [future.result(timeout=30) for future in found]
print(by_server, "together", sum(by_server))
print("one process:", estimate_pi(16 * BLOCK, seed=9).inside)

# %% [markdown]
# The same number, to the last dart. `estimate_pi` makes such ranges itself: it is a `map_reduce` over them. Any
# number of parts gives the same `inside`, here or on the servers.

# %% tags=["nbval-check-output"]
for parts in (1, 2, 3, 7):
    here = estimate_pi(1_000_000, seed=9, parts=parts).inside
    there = estimate_pi(1_000_000, seed=9, parts=parts, executor=cluster.executor).inside
    print(f"{parts} part(s): {here:,} here, {there:,} on the servers")

# %% [markdown]
# Your result doesn't depend on the machine that you happened to have. A colleague with seven servers can check it.
#
# ### Exercise: a fair share
#
# Write `share(index, servers, darts)`: the pair (first, last) of the darts first ≤ i < last that server `index` of
# `servers` throws. Together the shares cover 0 … darts − 1, none overlap, and their sizes differ by one at most. They
# follow each other in the order of the index.
#
# <details><summary>Hint</summary>Server <code>index</code> ends where server <code>index + 1</code> begins.</details>


# %% tags=["exercise"]
def share(index, servers, darts):
    return ...  # your code


# %% tags=["solution"]
def share(index, servers, darts):
    return darts * index // servers, darts * (index + 1) // servers


# %%
check(share)

# %% [markdown]
# ## The trap: one stream for all
#
# The natural mistake is to start every server with the same seed. Nothing complains. Look at what four servers find.


# %% tags=["nbval-check-output"]
def throw_with_same_seed(server):
    return estimate_pi(50_000, seed=7).inside  # the server's index isn't used


same = [throw_with_same_seed(server) for server in range(4)]
own = [count(7, server * BLOCK, server * BLOCK + 50_000) for server in range(4)]
print("one stream for all:", same)
print("a stream each:     ", own)

# %% [markdown]
# With one seed all four threw the very same darts. Added up they look like 200,000, and the standard error is worked
# out from 200,000; but there are only 50,000 different ones. Is that visible in the errors? Repeat it with a hundred
# seeds, and divide the typical error by the standard error that was claimed. An honest method gives about 1.


# %% tags=["nbval-check-output"]
def error_over_claim(insides):
    errors = 4 * np.array(insides) / 200_000 - np.pi
    return np.sqrt(np.mean(errors**2)) / (1.642 / sqrt(200_000))


def throw(seed, server):
    return count(seed, server * BLOCK, server * BLOCK + 50_000)


reused = [4 * throw(seed, 0) for seed in range(100)]
honest = [sum(throw(seed, server) for server in range(4)) for seed in range(100)]
print(f"a stream each:      {error_over_claim(honest):.1f}")
print(f"one stream for all: {error_over_claim(reused):.1f}")

# %% [markdown]
# The reused stream is off by about twice what it claims, and with a hundred servers it would be ten times. No error
# message, no crash: only a ± that lies. Look at 16 servers. The small dots are twenty other seeds: how many of them end
# in the band, with one seed for all, and with a stream for each?

# %%
PiDarts(samples=20_000, seed=1, servers=16, streams="same")

# %% [markdown]
# Sixteen servers have thrown onto the same 1,250 places. The band is that of 20,000 darts, and the dots are spread as
# those of 1,250: more servers with the same seed add nothing. Distinct streams come from
# `numpy.random.SeedSequence(seed, spawn_key=(k,))`, which mixes seed and index.
# (Seeds `seed + index` are another trap: server 1 of run 0 is server 0 of run 1.)
#
# ## Four GPUs, two tasks
#
# In chapter 01 four GPUs threw the same darts, because `torch.manual_seed` gives every GPU one seed. Now two tasks have
# two *simulated* GPUs each, and every GPU gets a stream of its own. `cluster.at` with a name that ends in `/gpu:1`
# places torch's ops there; the function itself names no device.


# %% tags=["nbval-check-output"]
import torch

streams = [int(np.random.SeedSequence(5, spawn_key=(k,)).generate_state(1)[0]) for k in range(4)]


def throw_here(stream):
    torch.manual_seed(stream)
    x, y = torch.rand(2, 250_000, dtype=torch.float64)
    return str(x.device), (x * x + y * y < 1).sum().item()


print("here:", throw_here(streams[3]))

# %% [markdown]
# The fourth of the four is the second GPU of task 1. What does torch call it there?

# %%
names = [f"cuda:{number}" for number in range(4)]
bet_name = Predict("What is the fourth GPU, the second of task 1, to torch?", choices=names, name="05 fourth GPU")
bet_name

# %% tags=["nbval-check-output"]
with local_cluster(worker=2, simulated_gpus=2) as machines:
    gpus = [device.name for device in machines.devices() if device.simulated]
    thrown = []
    for gpu, stream in zip(gpus, streams, strict=True):
        with machines.at(gpu):
            thrown.append(machines.executor.submit(throw_here, stream))
    found = [future.result(timeout=30) for future in thrown]

lines = [f"{gpu}  {device}  {inside:,} inside" for gpu, (device, inside) in zip(gpus, found, strict=True)]
bet_name.reveal(found[3][0], "Each process counts its own GPUs from 0.", shows="\n".join(lines))

# %% tags=["nbval-check-output"]
total = sum(inside for device, inside in found)
print(f"together {total:,} of 1,000,000; pi is about {4 * total / 1_000_000}")
print(f"the same streams here: {sum(throw_here(stream)[1] for stream in streams):,}")

# %% [markdown]
# Only the full name tells all four apart. The darts stayed where they were thrown; four counts came home, because
# `.item()` fetched them. Return the tensor instead, and the cluster refuses: it is in another process's GPU. Simulated
# GPUs are no faster, since your CPU does their arithmetic. What you learn is where things are. Their darts are the
# CPU's, too, so the last two lines agree; a real GPU makes other numbers from the same seed.
#
# ## Two servers, twice as fast?
#
# Time the same darts on one server and on both. Inside `cluster.at` all parts go to one.

# %% tags=["timing"]
import time


def seconds_for(darts):
    started = time.perf_counter()
    estimate_pi(darts, seed=2, executor=cluster.executor)
    return time.perf_counter() - started


seconds_for(2_000_000)  # the first call loads the code on both servers
for darts in (2_000_000, 4_000_000_000):
    with cluster.at("/job:server/task:0"):
        one = seconds_for(darts)
    both = seconds_for(darts)
    print(f"{darts:>13,} darts: {1000 * one:5.0f} ms on one, {1000 * both:5.0f} ms on both,", end=" ")
    print(f"{one / both:.1f} times as fast")

# %% [markdown]
# The large job gains, on two free cores up to twice the speed; the small one does not: what it waits for is the
# sending, not the throwing. And there is a limit that no number of servers removes. If a share s of the work can't be
# split (starting, sending, adding up), n servers are at most 1/(s + (1 − s)/n) times as fast. That is Amdahl's law.

# %% tags=["nbval-check-output"]
for s in (0.01, 0.1):
    print(f"s = {s:.0%}:", {n: round(1 / (s + (1 - s) / n), 1) for n in (2, 4, 16, 1000)})

# %% [markdown]
# With a tenth that can't be split, a thousand servers are ten times as fast as one. More servers than cores don't
# help either: two cores can't do the work of three. And remember the price: ten times the speed is half a digit.
#
# ## How fast can it go?
#
# Two servers are worth a factor of two at most. What is one of them worth? This chapter began with a line of plain Python.
# Six rungs lead from there to the servers. Each throws darts at the same disc, most of them faster than the one below.
#
# The lowest rung is that line. `climb` puts a version on the ladder: its name, and how many darts a second it throws.

# %% tags=["timing"]
from course import measure


def one_by_one(darts):
    throw = random.Random(5).random
    return sum(throw() ** 2 + throw() ** 2 < 1 for _ in range(darts))


def speed(way, darts):
    return darts / measure(way, darts, seconds=0.1).median


ladder = draw.Ladder("darts").climb("one by one in Python", speed(one_by_one, 100_000))
ladder

# %% [markdown]
# ### Rung 2: whole arrays
#
# Python looks up what `+` means for every dart anew. NumPy looks it up once, for all darts of an array.
#
# Before you climb, guess the whole ladder. The rungs above: 32 random bits a dart, in blocks that fit in the cache; one
# compiled loop; 128 streams side by side; two servers.

# %%
rungs = ["whole arrays", "32 bits, in blocks", "a compiled loop", "128 streams", "two servers"]
question = "How many times the darts a second of the rung below?"
bet_rungs = Predict(question, 0.1, 100, log=True, unit="×", each=rungs, name="05 rungs")
bet_rungs


# %% tags=["timing"]
def two_arrays(darts):
    generator = np.random.default_rng(5)
    x, y = generator.random(darts), generator.random(darts)
    return np.count_nonzero(x * x + y * y < 1)


ladder = ladder.climb("two arrays in NumPy", speed(two_arrays, 2**22))
bet_rungs.reveal(ladder.gains[1:], "Python looks up each operation once, not once a dart.", shows=ladder)

# %% [markdown]
# ### Rung 3: less to move
#
# Four million darts are two arrays of 32 MB, and their squares are two more. They don't fit in the processor's cache,
# so every step sends them to memory and back. Two changes. A **block** of 16,384 darts at a time stays in the cache. And a
# dart needs no 128 bits: 15 for each coordinate will do. So x and y are whole numbers below 2¹⁵, taken from the two
# ends of 32 random bits. The dart hits the middle of its cell, (x + ½)² + (y + ½)² < 2³⁰, which for whole numbers is
# x² + x + y² + y < 2³⁰.


# %% tags=["timing"]
def inside(bits):
    x, y = bits >> 17, bits & 0x7FFF
    return x * x + x + y * y + y < 2**30


def in_blocks(darts, block=2**14):
    stream, found = np.random.SFC64(5), 0
    for _ in range(darts // block):
        found += np.count_nonzero(inside(stream.random_raw(block // 2).view(np.uint32)))
    return found


ladder = ladder.climb("32 bits a dart, in blocks", speed(in_blocks, 2**22))
why = "A quarter of the random bits, and no trip to memory between the steps."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder)

# %% [markdown]
# ### Rung 4: one loop, compiled
#
# NumPy still makes an array for every operation: for `bits >> 17`, for `x * x`, for the sum. A compiler can keep one
# dart's numbers in the processor's registers from the first operation to the last. `numba.njit` compiles a Python
# function when it is first called. Its random numbers take a few operations:
# *xoshiro128+* keeps four words of 32 bits and stirs them by xor and shift. (numba computes in 64 bits unless told;
# `uint32` cuts back to 32. `hit` is `inside` again, compiled: the same lines serve one dart as served an array.)

# %%
from numba import njit, uint32

hit = njit(inside)


@njit
def one_stream(state, darts):
    a, b, c, d = state
    found = 0
    for _ in range(darts):
        found += hit(uint32(a + d))
        c, d, t = c ^ a, d ^ b, uint32(b << 9)
        a, b, c, d = a ^ d, b ^ c, c ^ t, uint32(d << 11 | d >> 21)
    return found


# %% [markdown]
# Four words from one seed are the state that it begins with.


# %% tags=["timing"]
def compiled(darts):
    return one_stream(np.random.SeedSequence(5).generate_state(4), darts)


timing = measure(compiled, 2**22, seconds=0.1)
ladder = ladder.climb("a compiled loop", 2**22 / timing.median)
why = f"No word can be made before the one before is done; compiling took {timing.first_call - timing.median:.1f} s."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder)

# %% [markdown]
# Why no more? The loop has a chain in it: no word can be made before the one before is done, so most of the processor
# waits.
#
# ### Rung 5: 128 streams side by side
#
# A processor has **vector units**: one instruction adds eight or sixteen pairs of numbers, if none of the pairs needs
# another's result. One stream can't use that. A hundred and twenty-eight streams can, each with a state of its own: the
# inner loop goes over lanes, and no lane needs another. It is the same arithmetic, in another order. (The copies tell
# the compiler that the four rows don't overlap.)


# %%
@njit(nogil=True)
def many_streams(state, darts):
    a, b, c, d = state[0].copy(), state[1].copy(), state[2].copy(), state[3].copy()
    found = np.zeros(128, np.uint32)
    for _ in range(darts // 128):
        for k in range(128):
            ak, bk, ck, dk = a[k], b[k], c[k], d[k]
            found[k] += hit(uint32(ak + dk))
            ck, dk = ck ^ ak, dk ^ bk
            a[k], b[k], c[k], d[k] = ak ^ dk, bk ^ ck, ck ^ bk << 9, dk << 11 | dk >> 21
    return found.sum()


# %% [markdown]
# Each lane begins somewhere else: 4 · 128 words from one seed, a column of four for each lane.


# %% tags=["timing"]
def in_lanes(darts):
    return many_streams(np.random.SeedSequence(5).generate_state(4 * 128).reshape(4, 128), darts)


timing = measure(in_lanes, 2**26, seconds=0.1)
ladder = ladder.climb("128 streams in lanes", 2**26 / timing.median)
why = f"One instruction serves many lanes; compiling took {timing.first_call - timing.median:.1f} s."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder)

# %% [markdown]
# ### Rung 6: two servers
#
# `estimate_pi` does the same, and seeds every block of 65,536 darts for itself, so that dart i is dart i wherever it is
# thrown. Give it the cluster: two servers are two processes, each on a core of its own, and all that either waits for is
# a message of some bytes.


# %% tags=["timing"]
def on_servers(darts):
    return estimate_pi(darts, seed=5, executor=cluster.executor).inside


ladder = ladder.climb("estimate_pi, two servers", speed(on_servers, 2**30))
why = "Two cores, and nothing that either waits for."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder, stored=[18, 3.8, 1.2, 9.2, 1.7])

# %% [markdown]
# Fast, but right? Each rung throws darts of its own, so the six differ. Each must be as far from pi as chance allows,
# and no further.

# %% tags=["nbval-check-output"]
for way in (one_by_one, two_arrays, in_blocks, compiled, in_lanes, on_servers):
    value = 4 * int(way(2**20)) / 2**20
    print(f"{way.__name__:<11} {value:.5f}, {abs(value - np.pi) / (1.642 / sqrt(2**20)):.1f} standard errors off")

# %% [markdown]
# And where is the end? Suppose random numbers were free. A dart would still cost ten operations on words of 32 bits:
# two take x and y from the bits, seven work out x² + x + y² + y and compare it, one counts. How many such operations can
# all cores of this machine do a second? `peak_operations` measures it, with a loop that does nothing else.

# %% tags=["timing"]
from course.timing import peak_operations

limit = peak_operations(bits=32) / 10
draw.ladder(ladder, limit, "10 operations a dart, on all cores")

# %% [markdown]
# Each step is as long as its gain. From the first rung to the last nothing became cleverer about
# pi. The error of n darts is what it was. What changed is what a dart costs: a look-up of `+`, then a trip to memory,
# then a place in a queue, and at last its share of instructions that serve eight or sixteen darts at once. And the price
# hasn't changed either: a thousand times the darts is a digit and a half.
#
# ## Better darts instead of more
#
# Chance leaves gaps and makes clumps. Darts that are spread evenly measure an area better. *Stratified* darts: one in
# each of n equal cells, at random inside it. *Sobol* darts: a sequence that always fills the largest gap, scrambled
# at random so that its error can be measured. Compare at equal numbers; plain chance is wrong by 0.003 with 262,144 darts.

# %%
samples = [2**12, 2**14, 2**16, 2**18]
question = "How wrong are Sobol's darts? Chance falls from 0.026 to 0.003."
bet_sobol = Predict(
    question, 1e-5, 0.1, log=True, over=[f"{n:,}" for n in samples], across="darts", name="05 even darts"
)
bet_sobol

# %% tags=["nbval-check-output"]
by_method, lines = {}, []
for method in ("pseudo", "stratified", "sobol"):
    by_method[method] = [typical_error(n, method, seeds=15) for n in samples]
    lines.append(f"{method:<11} " + "  ".join(f"{error:.1e}" for error in by_method[method]))
why = "Each place has four times the darts of the one before: chance halves its error, even darts do better."
picture = draw.error_law(samples, by_method, "Evenly spread darts: errors fall faster than n^-1/2")
bet_sobol.reveal([float(f"{error:.1e}") for error in by_method["sobol"]], why, shows=["\n".join(lines), picture])

# %% [markdown]
# <details><summary>How much is that worth? (Open it after your guess.)</summary>
#
# At 262,144 darts the even ones err ten to twenty times less: chance would need hundreds of times as many darts for
# that. Their lines are steeper, too, near n^−3/4.
#
# </details>
#
# Where does the even darts' standard error come from? One set of even darts
# has no spread to measure, so `estimate_pi` throws 16 sets with independent randomness, and takes the spread of their
# 16 answers.

# %% tags=["nbval-check-output"]
for method in by_method:
    print(f"{method:<11} {estimate_pi(2**18, seed=3, method=method)}")

# %% [markdown]
# ## What moved, and who waited
#
# Chapter 04 sent four million bytes to save nothing. What travels here? A part is a seed and a range; the answer is a
# count. Pickle both, as the cluster does.

# %% tags=["nbval-check-output"]
import pickle

out, back = pickle.dumps((1, 0, 8 * BLOCK)), pickle.dumps([by_server[0]])
print(f"{len(out)} bytes out, {len(back)} back, for {8 * BLOCK:,} darts")

# %% [markdown]
# Almost nothing moves, and nobody waits for anybody until the end, when the counts are added. Such work is called
# *embarrassingly parallel*, and it is the only kind that gets faster so easily.
#
# It also survives a death. Kill server 1 while it throws:

# %% tags=["nbval-check-output"]
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(1) as background, cluster.record() as tape:
    thrown = background.submit(estimate_pi, 2_000_000_000, 1, cluster.executor)
    time.sleep(0.05)
    cluster.kill("/job:server/task:1")
    survived = thrown.result(timeout=60)
print(f"{survived.inside:,} inside, though a server died")
print(f"{estimate_pi(2_000_000_000, 1).inside:,} inside, in one process")

# %% [markdown]
# The ranges that were lost were thrown again, and because dart i is dart i wherever it is thrown, the count is the
# same. The tape has the death, and who took over what.

# %% tags=["timing"]
from course.widgets import ClusterTimeline

ClusterTimeline(tape, beside="darts")

# %% [markdown]
# A bar is a range of darts; the one with the red outline died with its server. No bar waits for another one: drag one
# longer, and only those behind it on the same server move. Below is the same on another day, from a stored tape.

# %% tags=["nbval-check-output"]
cluster.close()
try:
    estimate_pi(1_000_000, executor=cluster.executor)
except RuntimeError as error:
    print(error)

# %% [markdown]
# ## What this does not show
#
# - There are far better ways to work out pi: series give millions of digits. Darts stand for problems without a
#   series, such as a volume in a hundred dimensions.
# - In many dimensions stratified cells run out (2 cuts in each of 100 directions are 2¹⁰⁰ cells), and Sobol's
#   advantage shrinks. The n^−1/2 law of plain chance does not.
# - Two servers on one machine share its cores. On two machines the same code runs; starting takes longer, and the
#   counts that travel are as small.
# - The four GPUs are simulated: the section says where darts are thrown, not how fast a real GPU throws them.
#
# ## Key points
#
# - Error ∝ n^−1/2: a hundred times the samples, one more digit.
# - An estimate without its standard error is half an answer; 19 of 20 lie within two.
# - Let the sample's number decide its randomness: the answer is then the same for any number of workers.
# - One stream for all workers is the silent mistake; it shows as a ± that is too small.
# - Better placed samples can beat a hundred times as many.
#
# ## Sources
#
# - N. Metropolis, S. Ulam, *The Monte Carlo Method*, J. Am. Stat. Assoc. 44 (1949).
# - I. M. Sobol, *On the distribution of points in a cube* (1967); A. B. Owen, *Monte Carlo theory, methods and
#   examples*.
# - G. M. Amdahl, *Validity of the single processor approach* (AFIPS 1967).
# - NumPy documentation, *Parallel random number generation*.

# %% [markdown]
# ## Your guesses

# %% tags=["timing"]
challenge = "five correct decimals of pi with 2**18 darts: which method and which seed get there?"
Scorecard(bet_decimals, bet_name, bet_rungs, bet_sobol, challenge=challenge)
