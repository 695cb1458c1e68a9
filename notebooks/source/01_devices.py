# %% [markdown]
# # Devices, names, placement
#
# **Which of these six ops ran on the GPU?**
#
# | | |
# |---|---|
# | You will | list this machine's devices and name them; log every op with its device; place ops by block, by function and by rule; count the bytes that move; see why gradients come home |
# | Minutes | 35 |
# | You need | a little Python; tensors that you add and multiply |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |

# %% [markdown]
# Here are the six. The block says `/gpu:0`; how many of them obey? You will commit to a number once you know what a
# log shows, and then run them.
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
# Every machine has the first one. If a GPU is on your list, the cells below that can use it do; if not, the chapter
# is complete all the same, and says where a GPU would differ.

# %% tags=["nbval-check-output"]
print(list_devices()[0])

# %% [markdown]
# ## Names
#
# A name says which *kind* of device and which *one* of its kind, counted from 0. In front of it may stand whose
# device it is: a task of a job, which chapter 04 starts. TensorFlow and torch spell the same thing differently. How
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
# ## A log
#
# Where did an op run? TensorFlow had `log_device_placement` for this. `log_placement` asks torch itself: it stands
# between the library and its kernels, and writes down every op that passes, with device, shapes and number type.

# %% tags=["nbval-check-output"]
import torch

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
# **Predict:** how many ops does `loss.backward()` add?

# %%
prediction = None  # your number of ops

# %% tags=["nbval-check-output"]
x = torch.ones(4, 3)
w = torch.ones(3, 2, requires_grad=True)
with log_placement() as log:
    loss = (x @ w).relu().sum()
    forward = len(log)
    loss.backward()
print(forward, "ops for the loss,", len(log) - forward, "more for the gradient")
print(log)

# %%
if prediction is not None:
    print("You said", prediction, "- it was", len(log) - forward)

# %% [markdown]
# Read the second half from the top. `ones_like` is the gradient of the loss with respect to itself, a one, made
# before the backward pass begins. `expand` spreads it over what `sum` added up; `threshold_backward` undoes `relu`;
# the second `mm` is the product's gradient. The remaining lines are views: `t`, and the `detach`es that hand a tensor
# over without its history.
#
# ## Placement by block
#
# `place` says where the ops of a block run. On the CPU it changes nothing. In a notebook a log is a table too:

# %%
with place("/cpu:0"), log_placement() as log:
    b = (a + 1) @ a.t()
log

# %% [markdown]
# To see something move, a second device is needed, and your machine may have only one. Torch has a stand-in on every
# machine: `meta`. A tensor there has a shape and a number type, and **no numbers**. Every op "runs" on it: torch works
# out what a result would look like and stops there. That is enough for two of the course's three questions: *where*,
# and *what moves*. So `/meta:0` plays the GPU in the cells that follow; on a GPU the same lines give the same log,
# with its name in place of meta's.
#
# **Predict:** `x` is 64 × 256 and `w` is 256 × 32, both on the CPU, 4 bytes a number. How many bytes must go to the
# other device for `x @ w`?

# %%
prediction = None  # your number of bytes

# %% tags=["nbval-check-output"]
x, w = torch.ones(64, 256), torch.ones(256, 32)
with log_placement() as log, place("/meta:0"):
    h = x @ w
print(log)
print(f"{log.bytes_moved:,} bytes moved; the product is on {h.device}, x is still on {x.device}")

# %%
if prediction is not None:
    print(f"You said {prediction:,} - it was {log.bytes_moved:,}.")

# %% [markdown]
# The inputs went to the op, not the op to the inputs: two copies (`_to_copy`), then one product. `x` itself stays
# where it was, and a second product would copy it again. That is why a program puts its data on the device first
# (`x = x.to("cuda")`), and why bytes moved is the number to watch.
#
# ## Without placement
#
# Torch on its own moves nothing for you. Two tensors on two devices are an error:

# %% tags=["nbval-check-output"]
try:
    x + h.new_ones(64, 256)
except RuntimeError as error:
    print(error)

# %% [markdown]
# And a device that the machine lacks is an error at once, before anything runs. The first line of this one depends on
# your machine:

# %%
try:
    place("/gpu:64")
except ValueError as error:
    print(error)

# %% [markdown]
# A program that shall run anywhere can ask **softly**. Then what can't run there runs on the CPU, and the log says
# so, op by op. Nobody has 65 GPUs in a notebook, so the output below is the same for all of us:

# %% tags=["nbval-check-output"]
with log_placement() as log, place("/gpu:64", soft=True):
    b = torch.ones(3) * 2
print(log)

# %% [markdown]
# ## Six ops
#
# Now the question. The block is placed on the second device, `x` and `w` are on the CPU.
#
# **Predict:** how many of the six run on `/meta:0`?

# %%
prediction = None  # your number of ops, 0 to 6

# %% tags=["nbval-check-output"]
x, w = torch.ones(64, 256), torch.ones(256, 32)
with log_placement() as log, place("/meta:0"):
    h = x @ w  # 1
    h = h.relu()  # 2
    x += 1  # 3
    t = x.t()  # 4
    noise = torch.ones(4, device="cpu")  # 5
    total = h.sum()  # 6
print(log)

# %% tags=["nbval-check-output"]
from course import draw

there = [record.op for record in log if record.device == "/meta:0" and not record.bytes_moved]
print(len(there), "of 6:", ", ".join(there))
draw.ops(log[:], f"{len(there)} of 6 ops ran on the second device")

# %%
if prediction is not None:
    print("You said", prediction, "- it was", len(there))

# %% [markdown]
# Three. The others have good reasons to stay:
#
# - `x += 1` **writes to** `x`. It runs where `x` lies; on a copy the change would be lost.
# - `x.t()` is a view. A window stays where its wall is. The op that reads through it moves what it needs.
# - `torch.ones(4, device="cpu")` **says** where. The nearest word wins.
#
# Two tensors moved, `x` and `w`. `relu` and `sum` found their input there already, and nothing moved for them.
#
# ## Your GPU
#
# If your machine has a GPU, here are the first, second and sixth op on it, with numbers this time. Without one, this
# runs on the CPU and moves nothing.

# %%
second = [device.name for device in list_devices() if device.kind != "cpu"]
with log_placement() as log, place(second[0] if second else "/cpu:0"):
    total = (x @ w).relu().sum()
print(log)

# %% [markdown]
# ## Placement by function
#
# A placement also decorates a function: every call of it runs there. Placements nest, and the innermost wins.
#
# **Predict** where each of the three sums is computed, before you look.


# %% tags=["nbval-check-output"]
@place("/meta:0")
def double(values):
    return values + values


with place("/cpu:0"):
    outer = x + x
    called = double(x)
    with place("/meta:0"), place("/cpu:0"):
        inner = x + x
print("outer:", outer.device, "| called:", called.device, "| inner:", inner.device)

# %% [markdown]
# ## Placement by rule
#
# Instead of a name, `place` takes a function of yours. It is asked about every op, by name and inputs, and answers
# with a device, or `None` to leave the op where its inputs are. Here only products go to the second device:


# %% tags=["nbval-check-output"]
def products_there(op):
    print(f"asked about {op}")
    return "/meta:0" if op.name == "matmul" else None


with log_placement() as log, place(products_there):
    sums = x + x
    product = x @ w
print(log)

# %% [markdown]
# Your rule hears the names that you write (`matmul`), the log those that torch runs (`mm`): the rule is asked before,
# the log written after.
#
# ## Gradients come home
#
# A tensor whose gradient you want is a **leaf**. Say the leaf is on the CPU, and placement moves a copy of it to the
# device. Where must the gradient end up? With the leaf, or the optimiser could not add the two. So a move has to be
# part of what autograd records. Walk from the result back to the leaf:

# %% tags=["nbval-check-output"]
leaf = torch.ones(256, 32, requires_grad=True)
with place("/meta:0"):
    product = x @ leaf

node = product.grad_fn
while node is not None:
    at = f", adds to a gradient on {node.variable.device}" if hasattr(node, "variable") else ""
    print(node.name() + at)
    node = node.next_functions[-1][0] if node.next_functions else None

# %% [markdown]
# Between the product (`MmBackward0`) and the leaf stands `ToCopyBackward0`: the move, with its way back. Going back,
# it copies the gradient to the CPU, and those bytes count as well. Had the copy been made behind autograd's back, the
# graph would end at the device, and the leaf would get no gradient, or one on the wrong side.
#
# With numbers, on whatever this machine has:

# %% tags=["nbval-check-output"]
leaf = torch.ones(256, 32, requires_grad=True)
with place(second[0] if second else "/cpu:0"):
    (x @ leaf).sum().backward()
print("leaf on", leaf.device, "- gradient on", leaf.grad.device)
print("each entry:", leaf.grad.unique().tolist())

# %% [markdown]
# Each entry is the sum of a column of `x`: 64 rows of 2.
#
# ## One thread at a time
#
# Placement and log belong to the **thread** that entered them; that is how torch's modes work. Another thread starts
# with nothing placed, until it enters the same placement itself. So two threads don't disturb each other, and work
# that you hand to another thread takes its placement along only if you hand that over too.

# %% tags=["nbval-check-output"]
from concurrent.futures import ThreadPoolExecutor

on_second = place("/meta:0")


def add():
    return (x + x).device


with on_second, ThreadPoolExecutor(max_workers=1) as pool:
    print("this thread:", add())
    print("another:", pool.submit(add).result())
    print("another, placed:", pool.submit(on_second(add)).result())

# %% [markdown]
# ## Explore
#
# Choose a program and a place. Blue is the CPU, orange the other device; an arrow is a tensor that moves, as wide as
# its bytes. First, a network whose inputs start on the CPU:

# %%
from course.widgets import DeviceLog

explorer = DeviceLog(device="/meta:0")
explorer

# %% [markdown]
# What the controls do, Python does too. Let the inputs start on the device, and nothing moves, forward or backward:

# %% tags=["nbval-check-output"]
for explorer.from_cpu in (True, False):
    records = explorer.result.records
    moved = sum(record.bytes_moved for record in records)
    print(f"from the CPU: {explorer.from_cpu}, {moved:,} bytes moved in {len(records)} ops")

# %% [markdown]
# ## Exercises
#
# Each has a `check`, which looks for the smallest case on which your answer is wrong.
#
# ### 1. What ran there?
#
# Write the question of this chapter as a function. `log` is a list of records, `device` a name such as `"/gpu:0"`.
# Return the list of `op` names that **computed** something there, in order: no copies between devices, no views.
# Slow specification: go through the records one by one; keep an op if its `device` is the one asked for, its `view`
# is false, and its `bytes_moved` is 0.
#
# <details><summary>Hint</summary>
#
# A list comprehension with three conditions.
#
# </details>


# %% tags=["exercise"]
def ran_on(log, device):
    return None  # your list of names here


# %% tags=["solution"]
def ran_on(log, device):
    return [r.op for r in log if r.device == device and not r.view and not r.bytes_moved]


# %%
from course import check

check(ran_on)

# %% [markdown]
# ### 2. What must move?
#
# An op runs on `device`. Its `inputs` are tuples `(name, shape, where)` of float32 tensors, 4 bytes a number; the same
# name is the same tensor. Return how many bytes must move. Slow specification: for each tensor that is elsewhere and
# was not counted before, count 4 for every number in it.
#
# <details><summary>Hint</summary>
#
# `math.prod(shape)` is the number of numbers, and 1 for the empty shape. A dictionary by name counts each tensor once.
#
# </details>


# %% tags=["exercise"]
def bytes_to_move(inputs, device):
    return None  # your number here


# %% tags=["solution"]
def bytes_to_move(inputs, device):
    from math import prod

    elsewhere = {name: 4 * prod(shape) for name, shape, where in inputs if where != device}
    return sum(elsewhere.values())


# %%
check(bytes_to_move)

# %% [markdown]
# ### 3. A rule of your own
#
# Small products are not worth a journey. Write a device function: for a `matmul` of two matrices that takes a million
# multiplications or more return `"/meta:0"`, for every other op `"/cpu:0"`. `op.name` is a text, `op.inputs` a tuple
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
    return None  # your device name here


# %% tags=["solution"]
def by_size(op):
    if op.name != "matmul":
        return "/cpu:0"
    first, second_input = op.inputs
    count = first.shape[0] * first.shape[1] * second_input.shape[1]
    return "/meta:0" if count >= 1_000_000 else "/cpu:0"


# %%
check(by_size)

# %% [markdown]
# Where the line between small and large lies is no matter of taste. Chapter 02 measures it.
#
# ## What this does not show
#
# - **Time.** A log says where and what, not how long. `meta` takes no time because it does no work.
# - **Numbers on a second device**, unless your machine has one. `meta` moves no bytes in truth; the log counts those
#   that a device with numbers would be sent.
# - **What a kernel does inside.** On a GPU one op may start several kernels, and ops return before they are done.
# - **Several GPUs, and other machines.** The names are ready for them: `/gpu:3`, `/job:worker/task:1/gpu:0`.
#
# ## Key points
#
# 1. A name such as `/gpu:0` says kind and number; `list_devices()` says what is there.
# 2. `place` decides where ops run: by block, by function, by rule. The innermost and the explicit win.
# 3. Views, writes in place and explicit devices stay: 3 of the 6 ops ran on the second device.
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
