# %% [markdown]
# # CPU and GPU: timing a matrix product
#
# **How big must a matrix be before the GPU wins?**
#
# A large GPU does hundreds of times as many operations a second as a CPU core. So the course's long task, nine hours on
# a core, should take it less than two minutes; worked out op by op, it takes 28 (modelled, from a data sheet). What eats
# the rest is what this chapter measures: starting, copying, waiting. This is one product on a simulated GPU.

# %%
import torch

from course import simulated_gpus

with simulated_gpus(1) as gpus:
    a, b = torch.ones(1500, 1500), torch.ones(1500, 1500)
    product = (a.to("cuda:0") @ b.to("cuda:0")).cpu()
gpus.clock.picture("One product of 1500: copies take most of the time")

# %% [markdown]
# Each lane is a part of the machine, and the orange bar is the product. All the rest was spent on bringing two matrices
# there and one back; the host waits meanwhile.
#
# | | |
# |---|---|
# | You will | time products of 1500, 3000 and 4500; see one stopwatch lie twice, and mend it; count what moves; find the size from which a GPU is worth it; draw the roof over all ops; hide copies behind work |
# | Minutes | 50: 30 for the text, 20 for the exercises |
# | You need | chapter 01 (where an op runs) |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |
#
# Every number here carries one of three words. *Measured*: on your machine, now. *Recorded*: on another machine, on the
# day that stands beside it. *Modelled*: worked out from a maker's data sheet, by hand or by the clock of simulated GPUs;
# nobody measured it.
#
# Two n × n matrices lie in the computer's memory, and you want their product there too. When is it worth sending them
# to a large GPU? (The answer takes half of the chapter.)

# %%
from course.widgets import Predict, Scorecard

bet_size = Predict("From which n on is the GPU faster, copies included?", 10, 10_000, log=True, name="02 size")
bet_size

# %% [markdown]
# ## The wrong stopwatch
#
# Many tutorials time a product like this: start a clock, make two random matrices, multiply, add the result up, stop
# the clock. What is in that time besides the product?

# %% tags=["timing"]
import time


def tutorial_seconds(n):
    start = time.perf_counter()
    a, b = torch.rand(n, n), torch.rand(n, n)
    torch.mm(a, b).sum().item()
    return time.perf_counter() - start


sizes = [1500, 3000, 4500]
wrong = [tutorial_seconds(n) for n in sizes]
print([f"{seconds:.3f} s" for seconds in wrong])

# %% [markdown]
# Making four and a half million random numbers, asking the system for memory, adding up: all of it is counted.
#
# ## The right one
#
# `measure` makes one call that it reports apart, one more to warm up, then repeats the call alone and gives the median
# with its spread. `measure_matmul` does that for products. It has a budget of seconds, so a slow machine repeats less.

# %% tags=["timing"]
from course import measure_matmul

right = {timing.size: timing for timing in measure_matmul(sizes, budget=5)}
for n, seconds in zip(sizes, wrong, strict=True):
    alone = f"{right[n].compute:.3f} s" if n in right else "left out, over budget"
    print(f"{n}: tutorial {seconds:.3f} s, product alone {alone}")

# %% [markdown]
# The smaller the matrix, the larger the part that is not the product. A comparison of two devices by the first
# stopwatch compares how they make random numbers and how they start.
#
# ## How much work is it?
#
# Each of the n² results is a sum of n products: n multiplications and n additions. So a product takes 2n³ operations.
# The three matrices hold 3n² numbers of 4 bytes.
#
# And with twice the n?

# %%
bet_twice = Predict(
    "Twice the n: how many times as many?", 1, 16, unit="×", each=["operations", "bytes"], name="02 twice"
)
bet_twice


# %% tags=["nbval-check-output"]
def operations(n):
    return 2 * n**3


def bytes_touched(n, bytes_each=4):
    return 3 * n**2 * bytes_each


for n in sizes:
    print(f"{n}: {operations(n):>15,} operations, {bytes_touched(n):>11,} bytes")
times = operations(3000) // operations(1500), bytes_touched(3000) // bytes_touched(1500)
bet_twice.reveal(times, "Operations grow as n³, bytes as n².")

# %% [markdown]
# The work grows faster than the data. That is why a product is the GPU's best case: the larger it is, the more work
# there is for each byte that has to move. The ratio has a name, *arithmetic intensity*, and for a product of float32
# matrices it is n / 6.

# %% tags=["nbval-check-output"]
print({n: operations(n) / bytes_touched(n) for n in sizes})
print("adding two 1500 × 1500 matrices:", round(1500**2 / bytes_touched(1500), 3))

# %% [markdown]
# 250 operations a byte for the product, one twelfth for a sum. Operations over seconds give a speed that doesn't
# depend on n as strongly as the seconds do. It is counted in GFLOP/s, 10⁹ floating-point operations a second.

# %% tags=["timing"]
for t in right.values():
    print(f"{t.size}: {t.gflops:6.0f} GFLOP/s  ({t.label})")

# %% [markdown]
# ## Did it compute the right thing?
#
# A fast wrong product is worth nothing. With small whole numbers every step is exact in float32, and there is a check
# that needs no second product: the sum of all results equals the column sums of `a` times the row sums of `b`.

# %% tags=["nbval-check-output"]
whole = torch.Generator().manual_seed(2)
a = torch.randint(-3, 4, (1500, 1500), generator=whole)
b = torch.randint(-3, 4, (1500, 1500), generator=whole)
product = torch.mm(a.float(), b.float())
print("sum of the product:", int(product.double().sum()))
print("from the sums:", int(a.sum(0) @ b.sum(1)))

# %% [markdown]
# ## The first call
#
# The very first product of a process is special, however small it is. To see that, it takes a fresh process. This is
# the command line of this chapter, timing 16 × 16 matrices.

# %% tags=["timing"]
import subprocess
import sys

command = [sys.executable, "-m", "course", "matmul", "cpu", "16"]
print(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)

# %% [markdown]
# The same was recorded on another machine, and there the numbers stand still. How many steady products would fit into
# that machine's first one?

# %% tags=["nbval-check-output"]
from course.traces import load_trace

cpu = load_trace("epyc-2-cores")
first = cpu.at(16)
print(first.label)
print(f"first call {first.first_call * 1e6:,.0f} µs, steady {first.compute * 1e6:.1f} µs")
print("steady products in the time of the first:", round(first.first_call / first.compute))

# %% [markdown]
# Thousands. A GPU has more to set up than a CPU, so there the first call is longer still. A benchmark that doesn't
# warm up measures this.
#
# ## A device that doesn't wait
#
# The second lie is worse. A CPU op has finished when it returns. A GPU op has been *accepted* when it returns, and the
# GPU works on. The call that waits is `torch.cuda.synchronize()`. A simulated GPU has a modelled clock that shows both
# moments, the same on every machine: `clock.host` is the host's time.
#
# A product of 1500 takes a large GPU about 100 µs. And by a stopwatch that doesn't wait?

# %%
bet_watch = Predict("What does a stopwatch read that doesn't wait?", 1, 1000, log=True, unit="µs", name="02 watch")
bet_watch

# %% tags=["nbval-check-output"]
from course import draw

with simulated_gpus(1) as gpus:
    a = torch.ones(1500, 1500, device="cuda:0")
    torch.cuda.synchronize()
    start = gpus.clock.host
    a @ a
    accepted = gpus.clock.host
    torch.cuda.synchronize()
    finished = gpus.clock.host
why = f"The time to hand the product over, of whatever size; it is finished after {(finished - start) * 1e6:.0f} µs."
picture = gpus.clock.picture("The GPU works on after the host has gone on", start)
bet_watch.reveal(round((accepted - start) * 1e6), why, shows=[gpus.model.label, picture])

# %% [markdown]
# The better stopwatch lets the GPU hold it: an *event* before the work and one behind it, each with the GPU's own time.
# The host waits for the second and asks how far apart they are. On a real GPU these are the same lines.

# %% tags=["nbval-check-output"]
with simulated_gpus(1) as gpus:
    a = torch.ones(1500, 1500, device="cuda:0")
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    for _ in range(5):
        a @ a
    after.record()
    torch.cuda.synchronize()
    print(f"{before.elapsed_time(after) / 5 * 1000:.0f} µs a product, {gpus.model.label}")

# %% [markdown]
# `measure` does so on a CUDA device. Under `simulated_gpus` it reads the modelled clock, and its result says so. Below,
# five stopwatches on one product. Which of them is right at every size?

# %%
from course.widgets import StopwatchComparison

StopwatchComparison(size=1500)

# %% [markdown]
# ## What moves
#
# A GPU has its own memory. Two factors travel there, the product travels back, over a bus that is far slower than either
# memory. Without a GPU here, take the figures that the maker of a large one publishes.

# %% tags=["nbval-check-output"]
h200 = load_trace("h200-data-sheet")
print(h200.origin)
print("float32 TFLOP/s:", h200.peak["float32"] / 1e12)
print("bus GB/s, one way:", h200.copy_bandwidth / 1e9)
print("assumed:", "; ".join(h200.assumed))
print("modelled from it:")
for n in sizes:
    t = h200.matmul(n)
    print(f"{n}: product {t.compute * 1e6:5.0f} µs, copies {t.copies * 1e6:5.0f} µs")

# %% [markdown]
# At 1500 the copies take 27 times as long as the product. As n grows the work outgrows the bytes, and their part
# shrinks; but not fast. Ordinary memory is *pageable*: the system may move it, so the driver first copies it on the
# host, which waits for that (the first picture has both copies in one bar). Memory that you *pin*
# (`tensor.pin_memory()`) goes straight over the bus. What would that save?

# %% tags=["nbval-check-output"]
with simulated_gpus(1) as gpus:
    a = torch.ones(1500, 1500)
    for what, tensor in (("pageable", a), ("pinned", a.pin_memory())):
        with gpus.clock.timed() as copy:
            tensor.to("cuda:0")
        print(f"{what:8} one factor of 1500 in {copy}")
print(f"pinning it: {a.nbytes / 12e9 * 1e6:.0f} µs, a copy on the host, at 12 GB/s; this clock leaves it out")

# %% [markdown]
# Together as long as from pageable memory: so pin what is sent more than once. What is left for the product?

# %%
draw.copy_share([h200.matmul(n) for n in sizes])

# %% [markdown]
# ## Who wins, and from where?
#
# `crossover` takes the times of one CPU and one GPU and gives the smallest size at which the GPU is faster: by the
# product alone, and with the copies. Here the CPU is the recorded one, two cores, and the GPU is modelled. Few sizes
# were recorded; `between_sizes=True` finds where the lines between them cross.

# %%
from course import crossover

recorded = [cpu.at(n) for n in cpu.sizes()]
modelled = [h200.matmul(n) for n in cpu.sizes()]
found = crossover(recorded + modelled, between_sizes=True)
why = f"By the product alone it wins from {found.without_transfers} on; the copies make the rest."
shown = [draw.crossover(recorded + modelled, found), f"{found}\nsizes tried: {cpu.sizes()}"]
bet_size.reveal(found.with_transfers, why, shows=shown)

# %% [markdown]
# The picture has seconds over size, both on a scale of powers of ten; the grey band is what the copies add. The answer
# is smaller than most people guess. It lies where the curves leave the floor: below it the GPU spends its time on
# starting the op and the copies, which take 10 µs each however little there is to do. That decides more than speed.
#
# An NVIDIA T4, the GPU that free notebook services lend, has an eighth of the H200's float32 speed and a quarter of its
# bus.

# %%
where = ["at a smaller n", "at an n up to a quarter larger", "at a larger n than that"]
bet_t4 = Predict("Where does the T4 start to win?", choices=where, name="02 T4 size")
bet_t4

# %% tags=["nbval-check-output"]
t4 = load_trace("t4-data-sheet")
from_n = crossover(recorded + [t4.matmul(n) for n in cpu.sizes()], between_sizes=True)
least, large = from_n.with_transfers, found.with_transfers
answer = where[0] if least < large else where[1] if least <= 1.25 * large else where[2]
why = f"At {least} instead of {large}: its fixed costs are the same, and about half of the time there."
bet_t4.reveal(answer, why, shows=f"{t4.origin} - {from_n}")

# %% [markdown]
# And by how much do the two win where they do?

# %% tags=["nbval-check-output"]
for name, sheet in (("H200", h200), ("T4", t4)):
    times = round(cpu.at(4500).compute / sheet.matmul(4500).total)
    print(f"{name} at 4500, copies included: {times} times as fast as the recorded CPU")
print(f"the CPU: {cpu.origin}; the GPUs: by their data sheets")

# %% [markdown]
# A faster GPU wins by more, and hardly earlier.
#
# And on your machine? These are your CPU's times, measured now, against the same model. With more cores than two the
# crossover moves up; when another program keeps a core busy, it moves down.

# %% tags=["timing"]
small = [16, 32, 64, 96, 128, 192, 256, 384, 512]
mine = measure_matmul(small, budget=1)
both = mine + [h200.matmul(n) for n in small]
print("measured now against modelled:", crossover(both, between_sizes=True))

# %% [markdown]
# The slider times a product of your size on your CPU, in the background, and sets a modelled GPU beside it. Stop ends a
# long one. On a page without a kernel you see the recorded CPU.

# %%
from course.widgets import MatmulSlider

MatmulSlider(size=1500)

# %% [markdown]
# **Your turn.** A control can be yours, too. `ipywidgets.interact` looks at a function's arguments, makes a slider for
# each range, and calls the function whenever one moves. Expect two sliders and one line; move one, and the line is
# another. Then put a function of your own in its place. (A page without a kernel shows nothing here: run the cell.)


# %% tags=["your-turn"]
import ipywidgets

from course import measure


@ipywidgets.interact(rows=(64, 1024, 64), columns=(64, 1024, 64))
def product_of(rows=512, columns=512):
    a, b = torch.ones(rows, 512), torch.ones(512, columns)
    timing = measure(torch.mm, a, b, seconds=0.05)
    print(f"{rows} × 512 times 512 × {columns}: {timing.median * 1e6:,.0f} µs, measured now")


# %% [markdown]
# The next cell takes a GPU through the same function, copies apart: your own if torch finds one, and then it is
# measured; otherwise a simulated one. Every line says which.

# %% tags=["timing"]
gpus = None if torch.cuda.is_available() else simulated_gpus(1)
for t in measure_matmul([192, 1500], ["/gpu:0"], budget=5):
    print(f"{t.size}: product {t.compute * 1e6:.0f} µs, copies {t.copies * 1e6:.0f} µs ({t.label})")
if gpus is not None:
    gpus.close()

# %% [markdown]
# This is the middle of the chapter, and a good place for a break.
#
# ## A roof over all ops
#
# A product of 1500 does 250 operations a byte, a sum one twelfth. What does that mean for speed? A device has two
# limits: its arithmetic, operations a second, and its memory, bytes a second. For an op of few operations a byte the
# memory is the limit. `roofline` measures both limits of your CPU.

# %% tags=["timing"]
from course.timing import Point, roofline

roof = roofline("/cpu:0", seconds=1)
print(f"{roof.label}: {roof.peak / 1e9:.0f} GFLOP/s, {roof.bandwidth / 1e9:.0f} GB/s")
print(f"arithmetic is the limit from {roof.ridge:.0f} operations a byte on")

# %% [markdown]
# Under this roof, three ops of this chapter, measured: a large sum, a row times a matrix, a product. How near does each
# come?

# %% tags=["timing"]
from course import measure

a, b, row = torch.rand(4096, 4096), torch.rand(4096, 4096), torch.rand(1, 4096)
c, out = torch.rand(1024, 1024), torch.empty(4096, 4096)
points = [
    Point.of("a + b", measure(lambda: torch.add(a, b, out=out)), 4096**2, 3 * 4 * 4096**2),
    Point.of("row @ a", measure(torch.mm, row, a), 2 * 4096**2, 4 * 4096**2),
    Point.of("product 1024", measure(torch.mm, c, c), operations(1024), bytes_touched(1024)),
]
draw.roofline(roof, points)

# %% [markdown]
# The sum and the row are held back by memory: a faster processor would not help them. The product is held back by
# arithmetic. The same for the GPU, from its data sheet:

# %% tags=["nbval-check-output"]
sheet = roofline(h200)
print(f"{sheet.label}: arithmetic is the limit from {sheet.ridge:.0f} operations a byte on")
for what, intensity in (("sum", 1 / 12), ("row times matrix", 0.5), ("product 1500", 250)):
    most = sheet.bound(intensity) / 1e12
    print(f"{what}: at most {most:.2f} TFLOP/s, the limit is {sheet.limit(intensity)}")

# %% [markdown]
# A sum reaches less than a hundredth of what the sheet's first line promises. Adding on the GPU is worth it only for
# numbers that are there already. Drag the size and watch the product change sides. Then make the numbers smaller,
# float16: half the bytes move the op to the right, and the ridge moves further. Which ops does it help, and how much?

# %%
from course.widgets import RooflineExplorer

RooflineExplorer()

# %% [markdown]
# ## Copies that hide
#
# Copies and arithmetic use different parts of a GPU. While it multiplies one block, the next can be on its way. For
# that a program needs two *streams* (queues of work), and *pinned* memory, which the bus may read on its own. Here is
# the same work twice: a block at a time, and with a stream for the copies. `wait_stream` keeps a product from starting
# before its block is there, `record_stream` the next block from taking its memory while the product still reads it.


# %%
def in_turn(blocks, w):
    for block in blocks:
        block.to("cuda:0") @ w


def two_streams(blocks, w):
    copies, products = torch.cuda.Stream(), torch.cuda.current_stream()
    for block in blocks:
        with torch.cuda.stream(copies):
            there = block.to("cuda:0", non_blocking=True)
        products.wait_stream(copies)
        there @ w
        there.record_stream(products)


# %% [markdown]
# Which of the two is worth more?

# %%
bet_stream = Predict("Which saves more?", choices=["pinned memory", "the second stream"], name="02 streams")
bet_stream

# %% tags=["nbval-check-output"]
with simulated_gpus(1) as gpus:
    w = torch.ones(512, 2048, device="cuda:0")
    blocks = [torch.ones(512, 512) for _ in range(8)]
    pinned = [block.pin_memory() for block in blocks]
    seconds, lines = [], []
    for what, program, given in (
        ("in turn, pageable", in_turn, blocks),
        ("in turn, pinned", in_turn, pinned),
        ("two streams, pinned", two_streams, pinned),
    ):
        with gpus.clock.timed() as took:
            program(given, w)
        seconds.append(took.seconds)
        lines.append(f"{what:20} {took}")
pinning, streams = seconds[0] - seconds[1], seconds[1] - seconds[2]
answer = "pinned memory" if pinning > streams else "the second stream"
why = (
    f"It saves {pinning / seconds[0]:.0%} once blocks are pinned, the other {streams / seconds[1]:.0%} of what is left."
)
bet_stream.reveal(answer, why, shows="\n".join(lines))

# %% [markdown]
# Why? Look at what the host does in the last one, and at what lies above what.

# %%
took.picture("While one block is multiplied, the next is on its way")

# %% [markdown]
# From pinned memory the bus takes a block as it is; a pageable one the host copies first. `pin_memory()` is that copy,
# and not on this clock: pinning a block to send it once saves nothing. Work can be hidden, never removed: the busiest
# lane sets the time. Here that is the host, which spends 10 µs on starting each copy and each product. Larger blocks
# would give it a rest.
#
# ## Threads
#
# Torch cuts a product into pieces for the cores. `measure` states how many threads it used and can be told another
# number. Is two twice as fast as one?

# %% tags=["timing"]
a, b = torch.rand(1024, 1024), torch.rand(1024, 1024)
for threads in (1, 2):
    print(measure(torch.mm, a, b, threads=threads))

# %% [markdown]
# At most; with one free core, no. A CPU time without its number of threads says little. A common trap:
# `torch.utils.benchmark.Timer` uses *one* thread unless told otherwise.
#
# ## Bytes a number
#
# `float64` holds 8 bytes, `float32` 4, `bfloat16` 2. Fewer bytes move faster, and GPUs have special units for the short
# ones. Digits are lost.

# %% tags=["nbval-check-output"]
print("float32:", int(torch.tensor(2**24 + 1, dtype=torch.float32)), "for", 2**24 + 1)
print("bfloat16:", int(torch.tensor(257, dtype=torch.bfloat16)), "for", 257)
print("modelled,", h200.origin)
for dtype in ("float64", "float32", "bfloat16"):
    t = h200.matmul(4500, dtype)
    print(f"{dtype}: product {t.compute * 1e6:5.0f} µs, copies {t.copies * 1e6:5.0f} µs")

# %% [markdown]
# By the data sheet the same product runs 15 times as fast in bfloat16 as in float32. Then the copies take 65 times
# as long as the product. float64 has special units of its own there, and is as fast as float32; a T4 has none.
# Whether three digits are enough is a question about your data. On the recorded CPU:

# %% tags=["nbval-check-output"]
ratio = cpu.at(1024, "float64").compute / cpu.at(1024).compute
print(f"float64 takes {ratio:.1f} times as long as float32 at 1024 ({cpu.at(1024).label})")

# %% [markdown]
# ## In a terminal
#
# The classic script took a device and a size, and stopped with an error where the GPU was missing. This one says what
# it can do instead. With `--simulate` it models a GPU, with `--trace` it shows what was recorded on another machine.
# Like that script it also tells where each op of a product ran, and what the product's numbers add up to.

# %% tags=["timing"]
command = [sys.executable, "-m", "course", "matmul", "gpu", "1500"]
plain, simulated = (
    subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for more in ([], ["--simulate"])
)
print("$ python -m course matmul gpu 1500", plain.communicate(timeout=60)[0], sep="\n")
print("$ python -m course matmul gpu 1500 --simulate", simulated.communicate(timeout=60)[0], sep="\n")

# %% [markdown]
# Every figure's line ends with what kind of figure it is.
#
# ## Exercises
#
# **1. Count.** `a` has `rows` rows and `inner` columns, `b` has `inner` rows and `columns` columns. Write
# `matmul_flops(rows, inner, columns)`: how many multiplications and additions does their product take? Count an
# addition for each multiplication. The slow specification (the plainest way to a right answer; yours may be faster) is
# three nested loops that count.
#
# <details><summary>Hint</summary>There are rows × columns results. How many numbers are multiplied for each?</details>


# %% tags=["exercise"]
def matmul_flops(rows, inner, columns):
    return ...  # your code


# %% tags=["solution"]
def matmul_flops(rows, inner, columns):
    return 2 * rows * inner * columns


# %%
from course import check

check(matmul_flops)

# %% [markdown]
# **2. Mend the stopwatch.** Write `right_stopwatch(work, now, repeats)`: the median seconds of `repeats` calls of `work()`,
# which gives a GPU something to do and returns at once. `now()` is the time, `torch.cuda.synchronize()` waits. The
# set-up of the first call must not be in it, the waiting must. The check uses a simulated GPU and its modelled clock.
#
# <details><summary>Hint</summary>Call once and synchronize before you time anything. `statistics.median` does the
# rest.</details>


# %% tags=["exercise"]
def right_stopwatch(work, now, repeats):
    return ...  # your code


# %% tags=["solution"]
def right_stopwatch(work, now, repeats):
    from statistics import median

    work()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start = now()
        work()
        torch.cuda.synchronize()
        times.append(now() - start)
    return median(times)


# %%
check(right_stopwatch)

# %% [markdown]
# **3. When does copying pay?** The factors can stay on the GPU for many products. A product takes `cpu` seconds here and
# `gpu` seconds there; all copies together, once, take `copies`. Write `break_even(cpu, copies, gpu)`: the smallest
# number of products, 1 or more, for which the GPU is faster. A tie is no win. Return -1 if it never is.
#
# <details><summary>Hint</summary>The GPU is faster when copies + k · gpu &lt; k · cpu. Trying k = 1, 2, 3, … is
# allowed, if you know when to give up.</details>


# %% tags=["exercise"]
def break_even(cpu, copies, gpu):
    return ...  # your code


# %% tags=["solution"]
def break_even(cpu, copies, gpu):
    if gpu >= cpu:
        return -1
    return int(copies // (cpu - gpu)) + 1


# %%
check(break_even)

# %% [markdown]
# **4. Explain a crossover.** The recorded CPU and the modelled T4 cross at some size. Change one figure of the GPU at a
# time, and say where the crossover (copies included) goes: "earlier", "later" or "stays". `load_trace("t4-data-sheet")`
# is a data class, so `dataclasses.replace(t4, launch=...)` makes the changed GPU, and `crossover`, between sizes too,
# decides. But predict first, and then say which of the five figures you would pay for.
#
# <details><summary>Hint</summary>At the crossover, what are the seconds of the GPU made of? Print `t4.matmul(n)` there
# and compare its compute with its copies, and its copies with the latency.</details>

# %% tags=["exercise"]
explanation = {
    "launch and copy latency a quarter": ...,  # "earlier", "later" or "stays"
    "launch and copy latency fourfold": ...,
    "arithmetic eight times as fast": ...,
    "bus eight times as fast": ...,
    "memory eight times as fast": ...,
}

# %% tags=["solution"]
explanation = {
    "launch and copy latency a quarter": "earlier",
    "launch and copy latency fourfold": "later",
    "arithmetic eight times as fast": "stays",
    "bus eight times as fast": "earlier",
    "memory eight times as fast": "stays",
}

# %%
check(explanation, "explain_crossover")

# %% [markdown]
# ## What this does not show
#
# - A data sheet gives peaks. Real products reach a part of them, and the 10 µs are assumed. Real recordings of a GPU
#   would move the crossover up.
# - One product is a hard case for a GPU: everything travels for it. A program that keeps its data there pays once.
# - Square matrices only. A thin matrix has a low intensity and is bound by memory on both devices.
# - The roof is drawn for float32 and for numbers that come from memory. What fits a cache can be faster.
#
# ## Key points
#
# - Warm up, wait, repeat, take the median, state the spread and the threads. Time the product, not its surroundings.
# - A GPU call that returned has been accepted, not done. Without `synchronize` you time the acceptance.
# - A product is 2n³ operations on 3n² numbers: the larger, the more work for each byte.
# - Count the copies. At n = 1500 they cost the modelled GPU 27 times the product itself; pin what is sent again, and
#   let copies overlap.
# - Where the GPU starts to win is decided mostly by fixed costs; by how much it wins, by its speed. Few operations a
#   byte: then memory is the limit.
#
# ## Sources
#
# - PyTorch documentation, *Benchmark Utils* (`torch.utils.benchmark`) and *CUDA semantics: asynchronous execution*.
# - NVIDIA, *H200 Tensor Core GPU data sheet*; NVIDIA, *T4 data sheet* and *T4 product brief*. Their figures stand in
#   `simgpu/models/data`.
# - S. Williams, A. Waterman, D. Patterson, *Roofline: an insightful visual performance model*, CACM 52 (2009).

# %% [markdown]
# ## Your guesses

# %%
challenge = "beat 189 µs for the eight blocks of “Copies that hide”, with larger blocks of the same bytes in all."
Scorecard(bet_size, bet_twice, bet_watch, bet_t4, bet_stream, challenge=challenge)
