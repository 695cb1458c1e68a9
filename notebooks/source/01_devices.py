# %% [markdown]
# # Devices, names, placement
#
# **Which of these six ops ran on the GPU?**
#
# The course's long task takes nine hours on one core. A small GPU would do it in half an hour, if all of it is in the
# right place; leave the network's parameters on the CPU, and it is two hours (modelled, from a data sheet). So the first
# thing to know of a program is where each op runs, and what has to move there.
#
# Here is a small program, one line an op, and all is on the CPU. With matrices of 64 × 64 that is the quickest way. Move
# one of its ops to a GPU: how much slower does it get, and what has to travel?

# %%
from course.widgets import PlacementExplorer

PlacementExplorer(width=64)

# %% [markdown]
# The way there costs more than the work. Near the end of the chapter you get larger matrices, and a bet.
#
# | | |
# |---|---|
# | You will | list devices and name them; start GPUs that this machine lacks; log every op with its device; place ops by block, by function and by rule; count the bytes that move; see what a wrong placement costs; run a program on four GPUs |
# | Minutes | 50: 25 for the text, 25 for the exercises |
# | You need | a little Python; tensors that you add and multiply |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |

# %% [markdown]
# And here are the six ops of the question. The block says `/gpu:0`; how many of them obey? You will commit to a number
# once you know what a log shows, and then run them.
#
# ```python
# with place("/gpu:0"):
#     h = x @ w                             # 1
#     h = h.relu()                          # 2
#     x += 1                                # 3
#     t = x.t()                             # 4
#     noise = torch.ones(4, device="cpu")   # 5
#     total = h.sum()                       # 6
# ```
#
# ## What is there?
#
# A *device* is a place with its own memory and its own arithmetic: the CPU with the machine's memory, a GPU with the
# memory on its board. What does yours have?

# %%
from course import list_devices

list_devices()

# %% [markdown]
# Every machine has the first one. Most have no other, and this chapter is about others; the section after the next
# takes care of that.

# %% tags=["nbval-check-output"]
print(list_devices()[0])

# %% [markdown]
# ## Names
#
# A name says which *kind* of device and which *one* of its kind, counted from 0. The task that has the
# device may stand in front, as chapter 04 writes it. TensorFlow and torch spell the same thing differently. How
# many different devices are named here?

# %% tags=["nbval-check-output"]
from course import DeviceName

for text in ["/gpu:1", "cuda:1", "/device:GPU:1", "/job:worker/task:0/gpu:1", "cpu"]:
    name = DeviceName.parse(text)
    print(f"{text:26} {name!s:26} {name.torch}")

# %% [markdown]
# Three: `/gpu:1` of this machine, in three spellings; the same of another task; the CPU. The last column is what
# torch calls it. A name is no promise that the device exists, but it must at least be a name:

# %% tags=["nbval-check-output"]
try:
    DeviceName.parse("/gppu:1")
except ValueError as error:
    print(error)

# %% [markdown]
# ## A GPU for every laptop
#
# If torch finds no GPU here, the next cell starts four *simulated* ones. Your code then says `cuda:0` to `cuda:3` as
# on any machine with four. The CPU does the arithmetic, so the numbers are right; devices, errors and bytes are those
# that real GPUs would show. With a real GPU, nothing is simulated and the same cells use it.

# %%
import torch

from course import simulated_gpus

gpus = None if torch.cuda.is_available() else simulated_gpus(4)
list_devices()

# %% [markdown]
# A simulated device says so, in the list and in every tensor that lies there:

# %%
x = torch.ones(2, 3, device="cuda:0")
x

# %% [markdown]
# Torch's own questions get a GPU's answers. Arithmetic with both factors on one device gives a result on that device:

# %% tags=["nbval-check-output"]
print(torch.cuda.is_available(), x.device, x.is_cuda)
print((x + x).device, (x + x).sum().item())

# %% [markdown]
# ## Without placement
#
# Torch on its own moves nothing for you. Three classic mistakes with their classic messages: two devices in one op, a
# device that is not there, and a tensor handed to NumPy, which knows the CPU's memory alone.

# %% tags=["nbval-check-output"]
mistakes = [
    lambda: x + torch.ones(2, 3),
    lambda: torch.ones(2, device="cuda:64"),
    lambda: x.numpy(),
]
for mistake in mistakes:
    try:
        mistake()
    except (RuntimeError, TypeError) as error:
        print(str(error).splitlines()[0])

# %% [markdown]
# Each is what a program meets that was written on a machine with other devices. Read the first message again: *found
# at least two devices, cuda:0 and cpu*. The cure is to say where things are, once, instead of in every line.
#
# ## A log
#
# First you need to see where an op ran. TensorFlow had `log_device_placement` for this. `log_placement` asks torch
# itself: it stands between the library and its kernels, and writes down every op that passes, with device, shapes and
# number type.

# %% tags=["nbval-check-output"]
from course import log_placement, place

a = torch.ones(2, 3)
with log_placement() as log:
    b = torch.nn.functional.linear(a, a).relu()
print(log)

# %% [markdown]
# You wrote `linear` and `relu`; torch ran `t`, `mm` and `relu`. `t` is a **view**: a second way to read the same
# memory. It computes nothing. That is the first lesson of a log: what runs is not word for word what you wrote.
#
# Training runs more than you wrote. Here is a loss in three ops, and torch adds a fourth, a `detach`, to keep `relu`'s
# result for later.
#
# How many does the gradient need?

# %%
from course.widgets import Predict, Scorecard

bet_backward = Predict("How many ops does loss.backward() add?", 0, 20, unit="ops", name="01 backward")
bet_backward

# %% tags=["nbval-check-output"]
x = torch.ones(4, 3)
w = torch.ones(3, 2, requires_grad=True)
with log_placement() as log:
    loss = (x @ w).relu().sum()
    loss.backward()
why = f"{len(log.forward)} ops made the loss; the gradient takes one of each back, and hands it over in views."
bet_backward.reveal(len(log.backward), why, shows=str(log))

# %% [markdown]
# Read the second half of the log from the top. `ones_like` is the gradient of the loss with respect to itself, a one,
# made before the backward pass begins. `expand` spreads it over what `sum` added up; `threshold_backward` undoes
# `relu`; the second `mm` is the product's gradient. The remaining lines are views: `t`, and the `detach`es that hand a
# tensor over without its history.
#
# ## Placement by block
#
# `place` says where the ops of a block run, and brings their inputs there.
#
# `x` is 64 × 256 and `w` is 256 × 32, both on the CPU, 4 bytes a number. What must go to the GPU for `x @ w`?

# %%
bet_moved = Predict("How many bytes go to the GPU for x @ w?", 1_000, 10**7, log=True, unit="bytes", name="01 bytes")
bet_moved

# %%
x, w = torch.ones(64, 256), torch.ones(256, 32)
with log_placement() as log, place("/gpu:0"):
    h = x @ w
bet_moved.reveal(log.bytes_moved, "Both inputs go, 64 · 256 and 256 · 32 numbers of 4 bytes.", shows=log)

# %% [markdown]
# In a notebook a log is a table. On simulated GPUs each line also has seconds, *modelled* from the data sheet of an
# NVIDIA H200; more on them later.

# %% tags=["nbval-check-output"]
print(f"the product is on {h.device}, x is still on {x.device}")

# %% [markdown]
# The inputs went to the op, not the op to the inputs: two copies (`_to_copy`), then one product. `x` itself stays
# where it was, and a second product would copy it again. That is why a program puts its data on the device first
# (`x = x.to("cuda:0")`), and why bytes moved is the number to watch.
#
# The same log in the manner of TensorFlow:

# %%
print("\n".join(log.lines()))

# %% [markdown]
# And as a picture. Blue is the CPU, orange a GPU; an arrow is a tensor that moves, as wide as its bytes:

# %%
log.graph("Two copies, then the product")

# %% [markdown]
# ## Six ops
#
# Now the question. The block is placed on the GPU, `x` and `w` are on the CPU.

# %%
bet_six = Predict("How many of the six run on /gpu:0?", 0, 6, unit="ops", name="01 six ops")
bet_six

# %%
x, w = torch.ones(64, 256), torch.ones(256, 32)
with log_placement() as log, place("/gpu:0"):
    h = x @ w  # 1
    h = h.relu()  # 2
    x += 1  # 3
    t = x.t()  # 4
    noise = torch.ones(4, device="cpu")  # 5
    total = h.sum()  # 6

# %% [markdown]
# Count the lines on the GPU that are no copies:

# %% tags=["nbval-check-output"]
from course import draw

there = [record.op for record in log if record.device == "/gpu:0" and not record.bytes_moved]
picture = draw.ops(log[:], f"{len(there)} of 6 ops ran on the GPU")
why = "A write stays where its target lies, a view where its memory is, and an explicit device wins over the block."
bet_six.reveal(len(there), why, shows=[log, picture])

# %% [markdown]
# <details><summary>Those that didn't obey have good reasons to stay (open it after your guess)</summary>
#
# - `x += 1` **writes to** `x`. It runs where `x` lies; on a copy the change would be lost.
# - `x.t()` is a view. A window stays where its wall is. The op that reads through it moves what it needs.
# - `torch.ones(4, device="cpu")` **says** where. The nearest word wins.
#
# </details>
#
# Two tensors moved, `x` and `w`. `relu` and `sum` found their input there already, and nothing moved for them.
#
# ## Placement by function
#
# A placement also decorates a function: every call of it runs there. Placements nest, and the innermost wins.
#
# Where is each of the three sums computed? Say it before you look.


# %% tags=["nbval-check-output"]
@place("/gpu:0")
def double(values):
    return values + values


with place("/cpu:0"):
    outer = x + x
    called = double(x)
    with place("/gpu:0"), place("/cpu:0"):
        inner = x + x
print("outer:", outer.device, "| called:", called.device, "| inner:", inner.device)

# %% [markdown]
# ## Placement by rule
#
# Instead of a name, `place` takes a function of yours. It is asked about every op, by name and inputs, and answers
# with a device, or `None` to leave the op where its inputs are. Here only products go to the GPU:


# %% tags=["nbval-check-output"]
def products_there(op):
    print(f"asked about {op}")
    return "/gpu:0" if op.name == "matmul" else None


with place(products_there):
    sums = x + x
    product = x @ w
print("the sum is on", sums.device, "- the product on", product.device)

# %% [markdown]
# Your rule hears the names that you write (`matmul`), a log those that torch runs (`mm`): the rule is asked before, the
# log written after.
#
# ## Softly
#
# Not every op has a GPU form. Here is one of your own that has only a CPU form. On a GPU it fails, and the message
# has two ways out:


# %% tags=["nbval-check-output"]
@torch.library.custom_op("chapter01::halve", mutates_args=(), device_types="cpu")
def halve(values: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(values.numpy() / 2)


try:
    with place("/gpu:0"):
        halve(x)
except NotImplementedError as error:
    print(error)

# %% [markdown]
# The second way out is to ask *softly*: such an op runs on the CPU, its result returns to the GPU, and the log says
# so. What does that cost in bytes?

# %%
there = x.to("cuda:0")
with log_placement() as log, place("/gpu:0", soft=True):
    result = halve(there) + 1
log

# %% tags=["nbval-check-output"]
print(f"{log.bytes_moved:,} bytes moved; the result is on {result.device}")

# %% [markdown]
# There and back: soft placement keeps a program running and tells you what it paid. It also covers a device that the
# machine lacks. Nobody has 65 GPUs in a notebook, so the next output is the same for all of us:

# %% tags=["nbval-check-output"]
with log_placement() as log, place("/gpu:64", soft=True):
    b = torch.ones(3) * 2
print(log)

# %% [markdown]
# ## Gradients come home
#
# A tensor whose gradient you want is a **leaf**. Say the leaf is on the CPU, and placement moves a copy of it to the
# GPU. Where must the gradient end up?
#
# Both are possible: it is computed there, and needed here.

# %%
bet_grad = Predict("On which device is leaf.grad?", choices=["cpu", "cuda:0", "both"], name="01 gradient")
bet_grad

# %% tags=["nbval-check-output"]
leaf = torch.ones(256, 32, requires_grad=True)
with log_placement() as log, place("/gpu:0"):
    (x @ leaf).sum().backward()
moved = sum(record.bytes_moved for record in log.backward)
shown = f"each entry: {leaf.grad.unique().tolist()}; {moved:,} bytes moved in the backward pass"
why = "Autograd has recorded the move, and going back it copies the gradient to its leaf, where the optimiser adds the two."
bet_grad.reveal(str(leaf.grad.device), why, shows=shown)

# %% [markdown]
# Each entry is the sum of a column of `x`: 64 rows of 2. Had the copy been made behind autograd's back, the leaf would get no gradient, or one on the wrong side. A leaf that
# you make on the GPU (`device="cuda:0"`) gets its gradient there, and nothing moves.
#
# ## One thread at a time
#
# A placement and a log belong to the **thread** that entered them; that is how torch's modes work. Another thread
# starts with nothing placed, until it enters the same placement itself.

# %% tags=["nbval-check-output"]
from concurrent.futures import ThreadPoolExecutor

on_cpu = torch.ones(2)
on_meta = place("/meta:0")  # on every machine: shapes without numbers


def add():
    return (on_cpu + on_cpu).device


with on_meta, ThreadPoolExecutor(max_workers=1) as pool:
    print("this thread:", add())
    print("another:", pool.submit(add).result())
    print("another, placed:", pool.submit(on_meta(add)).result())

# %% [markdown]
# So two threads don't disturb each other, and work that you hand to another thread takes its placement along only if
# you hand that over too. Simulated GPUs are like real ones in this: every thread sees them.
#
# This is the middle of the chapter, and a good place for a break.
#
# ## Four GPUs
#
# Four GPUs throw darts at a square and count those in the quarter circle. The darts are thrown where they are counted;
# only four counts come home. A machine with one to three real GPUs starts simulated ones here instead.

# %% tags=["nbval-check-output"]
if torch.cuda.device_count() < 4:
    gpus = simulated_gpus(4)
torch.manual_seed(0)
counts, moved = [], 0
for k in range(4):
    with log_placement() as log:
        points = torch.rand(2, 250_000, device=f"cuda:{k}")
        counts.append((points.square().sum(0) < 1).sum().item())
    moved += log.bytes_moved
print("bytes that came home:", moved)
print("different counts:", len(set(counts)))

# %% [markdown]
# Eight bytes a GPU, the count, instead of two million. But look at the second line: a million darts, and all four GPUs
# have counted the same. `torch.manual_seed` gives every GPU the *same* seed, so they threw the same darts, and the
# million is worth a quarter of a million. Real GPUs do exactly this; no error tells you. Exercise 6 is the cure.
#
# ## What a wrong placement costs
#
# A log says where and what, not how long. A simulated GPU also keeps a *modelled clock*: what each op and each copy
# would take by the maker's data sheet of an NVIDIA H200. Nobody measured these seconds, and every line says so. Only
# simulated GPUs have it, so this section starts its own; those from above are closed first.

# %% tags=["nbval-check-output"]
if gpus is not None:
    gpus.close()


def ten_products(x, w):
    for _ in range(10):
        y = (x.to("cuda:0") @ w).relu()
    return y.sum().item()


x = torch.ones(512, 512)
with simulated_gpus(1) as gpus:
    w = torch.ones(512, 512, device="cuda:0")
    with gpus.clock.timed() as every_time:
        ten_products(x, w)
    with gpus.clock.timed() as once:
        ten_products(x.to("cuda:0"), w)
print("x moved in every step:", every_time)
print("x moved once:         ", once)
print(f"{every_time.seconds / once.seconds:.1f} times as long (modelled)")

# %% [markdown]
# `.to` of a tensor that is there already moves nothing, so the second call moves `x` once. The picture shows the wrong
# one. Who waits?

# %%
every_time.picture("x moved in every step: the GPU waits for the bus")

# %% [markdown]
# The `with` has ended, and with it the simulation. Its tensors refuse every use; they never give numbers:

# %% tags=["nbval-check-output"]
try:
    w + 1
except RuntimeError as error:
    print(error)

# %% [markdown]
# ## Explore
#
# The program of the beginning, with factors of 1024 × 1024. Its inputs lie on the CPU, where the loss is read in the
# end; all six ops are on the CPU, too. Now one of them goes to `/gpu:0`, and the other five stay.

# %%
bet_alone = Predict("For how many of the six ops is the program quicker then?", 0, 6, unit="ops", name="01 alone")
bet_alone

# %% tags=["nbval-check-output"]
explorer = PlacementExplorer(width=1024)
ops = ["a", "b", "r", "h", "y", "loss"]
times = {op: PlacementExplorer(width=1024).move(op, "/gpu:0").result.run.seconds for op in ops}
quicker = [op for op in ops if times[op] < explorer.result.run.seconds]
why = "Each pays for the way there and back; only the two large products save more than that."
bet_alone.reveal(len(quicker), why, shows=f"quicker alone: {', '.join(quicker)}")

# %% [markdown]
# An op that is alone on a GPU brings its inputs along and sends its result back. What changes when its neighbours come
# too? Drag the ops, or choose one with Tab and move it with the arrow keys; bytes and modelled milliseconds follow at
# once. The best placement stays hidden until you ask for it.

# %%
explorer

# %% [markdown]
# Three things to try. Put `h = a * r` on the GPU, alone: it computes in less than a hundredth of its time, and the
# program gets slower. Then bring `a`, `b` and `r` along, one by one: which arrow goes away each time? At last choose the
# T4 and n = 2048. *Everything on one GPU* has a score of 97 there; where do the last 3 lie?
#
# The page reckons with the clock alone. `run` computes, on simulated GPUs, where you have put the ops. The loss is the
# same wherever that is:

# %% tags=["nbval-check-output"]
there = PlacementExplorer(["/gpu:0"] * 6, width=1024)
print(f"loss {explorer.run().loss:.4f} as placed above, {there.run().loss:.4f} on /gpu:0")

# %% [markdown]
# ## Exercises
#
# Each has a `check`, which runs your answer on GPUs (real ones, or simulated ones that it starts), and shows the
# smallest case on which it is wrong.
#
# ### 1. An op on /gpu:0
#
# `a` and `b` are matrices on the CPU. Return their product, computed on `/gpu:0`, as a tensor on the CPU. Slow
# specification: `a @ b`, with the `mm` of its log on `/gpu:0`, and each factor moved once.
#
# <details><summary>Hint</summary>
#
# `with place("/gpu:0"):` around the product. `.cpu()` brings a tensor back.
#
# </details>


# %% tags=["exercise"]
def on_the_gpu(a, b):
    return ...  # your code


# %% tags=["solution"]
def on_the_gpu(a, b):
    with place("/gpu:0"):
        product = a @ b
    return product.cpu()


# %%
from course import check

check(on_the_gpu)

# %% [markdown]
# ### 2. What ran there?
#
# Write the question of this chapter as a function. `log` is a list of records, `device` a name such as `"/gpu:0"`.
# Return the list of `op` names that **computed** something there, in order: no copies between devices, no views. Slow
# specification (the plainest way to a right answer; yours may be faster): go through the records one by one; keep an
# op if its `device` is the one asked for, its `view` is false, and its `bytes_moved` is 0.
#
# <details><summary>Hint</summary>
#
# A list comprehension with three conditions.
#
# </details>


# %% tags=["exercise"]
def ran_on(log, device):
    return ...  # your code


# %% tags=["solution"]
def ran_on(log, device):
    return [r.op for r in log if r.device == device and not r.view and not r.bytes_moved]


# %%
check(ran_on)

# %% [markdown]
# ### 3. A rule of your own
#
# Small products are not worth a journey. Write a device function: for a `matmul` of two matrices that takes a million
# multiplications or more return `"/gpu:0"`, for every other op `"/cpu:0"`. `op.name` is a text, `op.inputs` a tuple
# of tensors, which may be empty.
#
# <details><summary>Hint</summary>
#
# (rows, inner) times (inner, columns) takes rows · inner · columns multiplications. Ask for the name first: other ops
# may have no inputs at all.
#
# </details>


# %% tags=["exercise"]
def by_size(op):
    return ...  # your code


# %% tags=["solution"]
def by_size(op):
    if op.name != "matmul":
        return "/cpu:0"
    first, second = op.inputs
    count = first.shape[0] * first.shape[1] * second.shape[1]
    return "/gpu:0" if count >= 1_000_000 else "/cpu:0"


# %%
check(by_size)

# %% [markdown]
# Where the line between small and large lies is no matter of taste. Chapter 02 measures it.
#
# ### 4. Three wrong placements
#
# This program fits weights to data, on the GPU, and three of its lines are placed wrong. One of the three is an error,
# the other two are slow. This is the error:


# %% tags=["nbval-check-output"]
def wrong_fit(x, y, steps):
    w = torch.zeros(x.shape[1], 1, device="cuda:0", requires_grad=True)
    rates = torch.full((x.shape[1], 1), 0.1)
    for _ in range(steps):
        loss = ((x.to("cuda:0") @ w - y.to("cuda:0")) ** 2).mean()
        loss.backward()
        if loss.cpu().isnan():
            break
        with torch.no_grad():
            w -= rates * w.grad
            w.grad = None
    return w


with simulated_gpus(1):
    try:
        wrong_fit(torch.ones(4, 3), torch.ones(4, 1), steps=3)
    except RuntimeError as error:
        print(error)

# %% [markdown]
# Write `fit(x, y, steps)`: the same steps, mended. `x` and `y` are on the CPU; the weights come back on `cuda:0`.
# Every op of the loop runs on the GPU, the data moves there once, and nothing comes back. The slow specification is
# the formula on the CPU: `w` starts at 0, and `steps` times `w = w - 0.1 * (gradient of the mean squared error)`. No
# loss is NaN in the check's cases.
#
# <details><summary>Hint</summary>
#
# Make a tensor where it is used. What doesn't change in a loop belongs in front of it. Looking at a loss brings
# it home, and waits for it: look once, at the end.
#
# </details>


# %% tags=["exercise"]
def fit(x, y, steps):
    return ...  # your code


# %% tags=["solution"]
def fit(x, y, steps):
    x, y = x.to("cuda:0"), y.to("cuda:0")
    w = torch.zeros(x.shape[1], 1, device="cuda:0", requires_grad=True)
    for _ in range(steps):
        ((x @ w - y) ** 2).mean().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
    return w


# %%
check(fit)

# %% [markdown]
# ### 5. A product on two GPUs
#
# The rows of a product don't need each other. Return `a @ b` on the CPU, with one half of `a`'s rows multiplied on
# `cuda:0` and the other on `cuda:1`; with an odd number of rows one GPU gets one more. Only its own rows may travel
# to a GPU. Slow specification: `a @ b`.
#
# <details><summary>Hint</summary>
#
# `a.tensor_split(2)` gives the two halves, `torch.cat` joins two results that are on the same device.
#
# </details>


# %% tags=["exercise"]
def split_product(a, b):
    return ...  # your code


# %% tags=["solution"]
def split_product(a, b):
    halves = a.tensor_split(2)
    parts = [half.to(f"cuda:{k}") @ b.to(f"cuda:{k}") for k, half in enumerate(halves)]
    return torch.cat([part.cpu() for part in parts])


# %%
check(split_product)

# %% [markdown]
# ### 6. Pi on four GPUs
#
# Mend the darts. `darts` is their number in all, a quarter for each GPU (rounded up or down, so that all are thrown).
# Return the list of the four counts; then 4 · sum(counts) / darts is near pi. The darts differ from GPU to GPU, stay
# where they are thrown, and the four counts are all that comes home.
#
# <details><summary>Hint</summary>
#
# `torch.Generator("cuda:2").manual_seed(2)` is a stream of its own; `torch.rand(..., generator=g, device="cuda:2")`
# draws from it. `.item()` brings one number home.
#
# </details>


# %% tags=["exercise"]
def darts_on_four(darts):
    return ...  # your code


# %% tags=["solution"]
def darts_on_four(darts):
    counts = []
    for k in range(4):
        device, mine = f"cuda:{k}", (darts + k) // 4
        generator = torch.Generator(device).manual_seed(k)
        points = torch.rand(2, mine, generator=generator, device=device)
        counts.append((points.square().sum(0) < 1).sum().item())
    return counts


# %%
check(darts_on_four)

# %% [markdown]
# ## What this does not show
#
# - **Measured seconds of a GPU.** The modelled clock follows a data sheet; chapter 02 asks how far to trust one.
# - **Speed on simulated GPUs.** Your CPU does their arithmetic; four of them are no faster than one.
# - **What a kernel does inside.** On a GPU one op may start several kernels, and ops return before they are done.
# - **GPUs of other machines.** The names are ready for them: `/job:worker/task:1/gpu:0`.
#
# ## Key points
#
# 1. A name such as `/gpu:0` says kind and number; `list_devices()` says what is there, and `simulated_gpus` adds some.
# 2. `place` decides where ops run: by block, by function, by rule. The innermost and the explicit win.
# 3. Views, writes in place and explicit devices stay: 3 of the 6 ops ran on the GPU.
# 4. Inputs move to the op, and every move has a price in bytes: 98,304 for one product of 64 × 256 by 256 × 32.
# 5. A move is part of the autograd graph, so a gradient ends up on its leaf's device.
#
# ## Sources
#
# - PyTorch, *CUDA semantics*: <https://docs.pytorch.org/docs/stable/notes/cuda.html>
# - PyTorch, *Meta device*: <https://docs.pytorch.org/docs/stable/meta.html>
# - PyTorch, *Extending PyTorch* (`__torch_function__`, `__torch_dispatch__`):
#   <https://docs.pytorch.org/docs/stable/notes/extending.html>
# - TensorFlow, *Use a GPU* (placement, its log, soft placement): <https://www.tensorflow.org/guide/gpu>

# %% [markdown]
# ## Your guesses

# %%
challenge = 'write a block of six ops of your own under place("/gpu:0") of which none runs there.'
Scorecard(bet_backward, bet_moved, bet_six, bet_grad, bet_alone, challenge=challenge)
