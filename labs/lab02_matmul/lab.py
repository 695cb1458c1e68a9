# %% [markdown]
# # Lab 02: timing a matrix product
#
# **From which size on is a GPU worth the journey? First measure with a stopwatch that waits, then foretell it without
# one.**
#
# | | |
# |---|---|
# | You will | write the right stopwatch; take a timeline apart into copies, products and what hides behind what; work out a product's time from a data sheet; foretell the crossover from a trace; say when keeping the factors there pays |
# | Minutes | 90 |
# | You need | chapter 02; no GPU |
# | Resources | 1 core, 1 GB, seconds; nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function. Write its body, run the cell, then run the `check` below it: it looks for the smallest
# input on which your answer is wrong. Marks are made in the same way, on other inputs, by calling your functions and
# reading what they return. You may add cells and functions of your own; keep the names and the arguments.
#
# Nothing here is marked by how fast it runs. What your functions are given are counted or published times.

# %%
import math
from statistics import median

from course import check

# %% [markdown]
# ## 1. The right stopwatch
#
# A GPU accepts a call and works on it after the call has returned. And the first call of all sets things up. Write
# `stopwatch(work, now, wait, repeats)`: the median time of `repeats` calls of `work`. You are given
#
# - `work()`: hands one call over to the device and returns at once
# - `now()`: the time, in microseconds
# - `wait()`: returns when the device has done everything that was handed over
# - `repeats`: how many calls count, 1 or more
#
# Call `work` once before you count, and see that this call is over. Then time each of the `repeats` calls alone, from
# before it is handed over until it is done: read the clock, call, wait, read again. Between these two readings nothing
# else happens. Return the median of the differences; of an even number it is the mean of the two in the middle.
#
# Marks are made from the number that you return and from the order in which you called `work`, `now` and `wait`: the
# device is played through elsewhere by that order. So the slow specification (the plainest way to a right answer;
# yours may be faster) is a list: once `work`, `wait`; then `repeats` times `now`, `work`, `wait`, `now`.
#
# <details><summary>Hint</summary>
#
# If the time you get is far too short, you timed the handing over. If it is far too long, who set up in it?
#
# </details>


# %% tags=["exercise:stopwatch", "points:4"]
def stopwatch(work, now, wait, repeats):
    ### BEGIN SOLUTION
    work()
    wait()
    times = []
    for _ in range(repeats):
        start = now()
        work()
        wait()
        times.append(now() - start)
    return median(times)
    ### END SOLUTION


# %%
check(stopwatch)

# %% [markdown]
# Here it times a real call, a product of 1500 on a simulated GPU, whose clock is *modelled* from a data sheet. A GPU of
# your own would be timed by the same lines, with `time.perf_counter` in the place of the modelled clock. (Cells that
# only show something, such as this one, are not run when marks are made.)

# %% tags=["notebook-only"]
import torch

from course import simulated_gpus

with simulated_gpus(1) as gpus:
    a = torch.ones(1500, 1500, device="cuda:0")
    time = stopwatch(lambda: a @ a, lambda: gpus.clock.host * 1e6, torch.cuda.synchronize, 5)
    print("a product of 1500 takes", time, "µs,", gpus.model.label)

# %% [markdown]
# ## 2. Take a timeline apart
#
# A profiler hands you a list of events. How much of the time was copying, how much was work, and how much copying cost
# nothing, since it lay behind the work? Each event is a dictionary:
#
# - `event["what"]`: `"to device"` or `"from device"`, which are copies, or `"product"`
# - `event["start"]`, `event["end"]`: whole microseconds, `start < end`; it is under way from `start` until just before
#   `end`
#
# Events may overlap, also two of the same kind, and they come in any order. Write `take_apart(events)`. It returns a
# dictionary of five counts of microseconds:
#
# - `"products"`: in which at least one product is under way
# - `"to_device"`, `"from_device"`: in which at least one such copy is under way
# - `"hidden"`: in which a copy, in either direction, and a product are under way at once
# - `"idle"`: in which nothing is, between the first start and the last end
#
# With no events all five are 0. The slow specification: look at every microsecond by itself.
#
# <details><summary>Hint</summary>
#
# Sets of microseconds do it: `set(range(start, end))`, with `|` for "or" and `&` for "and". For long timelines: sort
# all starts and ends; between two neighbours nothing changes.
#
# </details>


# %% tags=["exercise:take_apart", "points:4"]
def take_apart(events):
    ### BEGIN SOLUTION
    counts = dict.fromkeys(["products", "to_device", "from_device", "hidden", "idle"], 0)
    times = sorted({event[key] for event in events for key in ("start", "end")})
    for start, end in zip(times, times[1:], strict=False):
        now = {event["what"] for event in events if event["start"] <= start and end <= event["end"]}
        counts["products"] += (end - start) * ("product" in now)
        counts["to_device"] += (end - start) * ("to device" in now)
        counts["from_device"] += (end - start) * ("from device" in now)
        counts["hidden"] += (end - start) * ("product" in now and len(now) > 1)
        counts["idle"] += (end - start) * (not now)
    return counts
    ### END SOLUTION


# %%
check(take_apart)

# %% [markdown]
# Chapter 02 hid copies behind products with a second stream. This is the timeline of such a program, modelled. How much
# of its copying was free?

# %% tags=["notebook-only"]
kinds = {"gpu:0 copy in": "to device", "gpu:0 compute": "product", "gpu:0 copy out": "from device"}
with simulated_gpus(1) as gpus:
    w = torch.ones(512, 2048, device="cuda:0")
    blocks = [torch.ones(512, 512).pin_memory() for _ in range(4)]
    gpus.clock.reset()
    copies = torch.cuda.Stream()
    for block in blocks:
        with torch.cuda.stream(copies):
            there = block.to("cuda:0", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        there @ w
        there.record_stream(torch.cuda.current_stream())  # its memory is not the next block's while it is read
    spans = [span for span in gpus.clock.spans if span.lane in kinds]
events = [{"what": kinds[s.lane], "start": round(s.start * 1e6), "end": round(s.stop * 1e6)} for s in spans]
print(take_apart(events))

# %% [markdown]
# ## 3. Foretell a product
#
# How long will a product take on a device that you don't have? Its data sheet says, as `sheet`, a dictionary:
#
# | | |
# |---|---|
# | `sheet["operations"]` | floating-point operations a second |
# | `sheet["memory"]` | bytes a second that the device reads or writes in its own memory |
# | `sheet["bus"]` | bytes a second between host and device, one way |
# | `sheet["launch"]` | seconds that it takes to start an op, however small |
# | `sheet["latency"]` | seconds that a copy takes before its bytes, however small |
#
# Write `product_times(sheet, rows, inner, columns)` for a product of `float32` matrices, 4 bytes a number: (`rows`,
# `inner`) times (`inner`, `columns`). It returns two times in seconds, `(product, copies)`:
#
# - `product`: the longest of three: the launch; all operations, a multiplication and an addition for each of `inner`
#   pairs in each result; the bytes of all three matrices, each read or written once in the device's memory.
# - `copies`: both factors go there and the result comes back, three copies one after another, each a latency and its
#   bytes over the bus.
#
# The slow specification: count operations and numbers row by row, then divide.
#
# <details><summary>Hint</summary>
#
# The longest of three, not their sum: while a device computes, it reads on.
#
# </details>


# %% tags=["exercise:product_times", "points:3"]
def product_times(sheet, rows, inner, columns):
    ### BEGIN SOLUTION
    numbers = rows * inner + inner * columns + rows * columns
    arithmetic = 2 * rows * inner * columns / sheet["operations"]
    memory = 4 * numbers / sheet["memory"]
    copies = 3 * sheet["latency"] + 4 * numbers / sheet["bus"]
    return max(sheet["launch"], arithmetic, memory), copies
    ### END SOLUTION


# %%
check(product_times)

# %% [markdown]
# The maker's figures of a small GPU and a large one. What decides the time of the small product, what that of the large?

# %% tags=["notebook-only"]
from course.traces import load_trace

for name in ("t4-data-sheet", "h200-data-sheet"):
    published = load_trace(name)
    sheet = {
        "operations": published.peak["float32"],
        "memory": published.memory_bandwidth,
        "bus": published.copy_bandwidth,
        "launch": published.launch,
        "latency": published.copy_latency,
    }
    for n in (64, 4500):
        print(published.hardware, n, "product and copies in seconds:", product_times(sheet, n, n, n))

# %% [markdown]
# ## 4. Foretell the crossover
#
# Someone timed a few sizes on a CPU and a GPU. From which size on does the GPU win, also between the sizes that were
# timed? `rows` is a list of dictionaries, sizes rising:
#
# - `row["n"]`: the size
# - `row["cpu"]`, `row["gpu"]`: seconds of the product alone on each
# - `row["copies"]`: seconds of all copies to the GPU and back, 0 or more
#
# Write `predict_crossover(rows, with_copies)`. The GPU's seconds are those of the product, plus the copies if
# `with_copies` is True. It wins where its seconds are fewer; a tie is no win. Return the size, a number that need not be
# whole, from which on the GPU wins at every larger size up to the last:
#
# - If it wins at all timed sizes, that is the first timed size.
# - If it does not win at the last timed size, return -1.
# - Else the curves cross after the last timed size at which it does not win, and before the next. Between two
#   neighbours take each curve for a straight line when both axes are logarithmic: log(seconds) over log(n). Return the
#   `n` at which the two lines meet. (The GPU's seconds, copies included, are one curve.)
#
# The slow specification: between these two sizes, halve the interval until it is a point.
#
# <details><summary>Hint</summary>
#
# Let d be log(gpu) - log(cpu) at the two sizes: first it is 0 or more, then below 0. The line through the two meets 0
# after d₁ / (d₁ - d₂) of the way from log(n₁) to log(n₂).
#
# </details>


# %% tags=["exercise:predict_crossover", "points:4"]
def predict_crossover(rows, with_copies):
    ### BEGIN SOLUTION
    lead = [math.log((row["gpu"] + with_copies * row["copies"]) / row["cpu"]) for row in rows]
    behind = [k for k, d in enumerate(lead) if d >= 0]
    if not behind:
        return rows[0]["n"]
    k = behind[-1]
    if k == len(rows) - 1:
        return -1
    share = lead[k] / (lead[k] - lead[k + 1])
    return rows[k]["n"] * (rows[k + 1]["n"] / rows[k]["n"]) ** share
    ### END SOLUTION


# %%
check(predict_crossover)

# %% [markdown]
# Four recorded sizes of a CPU beside a modelled T4. The chapter timed fifteen. Do four suffice?

# %% tags=["notebook-only"]
cpu, t4 = load_trace("epyc-2-cores"), load_trace("t4-data-sheet")


def beside(sizes):
    both = [(cpu.at(n), t4.matmul(n)) for n in sizes]
    return [{"n": c.size, "cpu": c.compute, "gpu": g.compute, "copies": g.copies} for c, g in both]


print("from four sizes:", predict_crossover(beside([32, 128, 512, 4500]), True))
print("from fifteen:   ", predict_crossover(beside(cpu.sizes()), True))
print(cpu.origin, "-", t4.origin)

# %% [markdown]
# ## 5. When does it pay?
#
# The factors can stay on the GPU for many products, and the results must come home. Write
# `pays_from(cpu, gpu, there, back)`, all in whole microseconds: a product takes `cpu` here and `gpu` there, copying the
# factors takes `there`, once, and each result takes `back`, every time. Return the smallest number of products, 1 or
# more, for which the GPU takes less time in all than the CPU. A tie is no win. If there is no such number, return -1.
#
# The slow specification: try 1, 2, 3, …. No answer is above five thousand; for some there is none.
#
# <details><summary>Hint</summary>
#
# Each product on the GPU wins or loses the same amount. How many such wins pay for the way there?
#
# </details>


# %% tags=["exercise:pays_from", "points:2"]
def pays_from(cpu, gpu, there, back):
    ### BEGIN SOLUTION
    won = cpu - gpu - back
    return there // won + 1 if won > 0 else -1
    ### END SOLUTION


# %%
check(pays_from)

# %% [markdown]
# ## What this does not show
#
# - A data sheet's figures are the most that a device can do; a real product takes longer.
# - A straight line between two timed sizes hides steps: caches, other algorithms for other sizes. Time what you need.
#
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
