# %% [markdown]
# # Lab 01: devices
#
# **A program is slow, and its log says that 40 MB moved. Which op asked for them, and how would you have placed it?**
#
# | | |
# |---|---|
# | You will | put a product on a GPU; keep layers there; place ops by a rule; fall back softly; find the op that moved 40 MB; count what a placement moves before it runs |
# | Minutes | 75 |
# | You need | chapter 01; no GPU |
# | Resources | 1 core, 1 GB, seconds; nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function. Write its body, run the cell, then run the `check` below it: it looks for the smallest
# input on which your answer is wrong. Marks are made in the same way, on other inputs, by calling your functions and
# reading what they return. You may add cells and functions of your own; keep the names and the arguments.
#
# Device names are the chapter's: `/cpu:0`, `/gpu:0`, `/gpu:1`. Torch calls them `cpu`, `cuda:0`, `cuda:1`. All tensors
# are `float32`: 4 bytes a number.

# %%
import math

from course import check
from course.devices.names import DeviceName

# %% [markdown]
# ## 1. An op on a GPU
#
# `a` and `b` are two matrices on the CPU. Write `product_on_gpu(a, b)`: their product, computed on `cuda:0`, given back
# on the CPU. Each factor moves there once, the product moves home, and nothing else moves.
#
# How can that be marked on a machine that has no GPU? Your function is called with tensors that have a shape and a
# device and no numbers. They write down what is done to them. The lines are a program, it is run elsewhere on numbers
# that nobody in here has seen, and so your code itself is what is marked. Such a tensor understands `.to(device)`,
# `.cuda()`, `.cpu()`, `@` and `.relu()`, as torch's do (`torch.mm`, `torch.matmul` and `torch.relu` too), and nothing
# else: no `place`, no new tensors. For these tensors `cuda:0` is always there, so don't ask torch whether it is.
#
# The slow specification (the plainest way to a right answer; yours may be faster): `a @ b`, on the right device, by
# five lines of such a program.
#
# <details><summary>Hint</summary>
#
# Both factors must be where the product is computed. `a.to("cuda:0")` changes nothing about `a`: it returns the copy.
#
# </details>


# %% tags=["exercise:product_on_gpu", "points:2"]
def product_on_gpu(a, b):
    ### BEGIN SOLUTION
    there = a.to("cuda:0") @ b.to("cuda:0")
    return there.to("cpu")
    ### END SOLUTION


# %%
check(product_on_gpu)

# %% [markdown]
# Real tensors take the same function. Here they go through it on a simulated GPU, and a log looks on. (Cells that only show something, such as this one, are not run when marks are made.)

# %% tags=["notebook-only"]
import torch

from course import log_placement, simulated_gpus

with simulated_gpus(1), log_placement() as log:
    product_on_gpu(torch.ones(64, 256), torch.ones(256, 32))
print(log)

# %% [markdown]
# ## 2. Stay there
#
# What does it cost to come home after every op? Write `layers_on_gpu(x, w, steps)`. A layer multiplies by `w` and sets
# what is negative to zero: `(x @ w).relu()`. The result of one is the `x` of the next, `steps` times, 0 or more. `x`
# and `w` are on the CPU, `w` is square, and the last result comes back to the CPU.
#
# All products and all `relu`s run on `cuda:0`. `x` and `w` move there at most once, the last result home at most once.
#
# The slow specification: the loop on the CPU. Marks are made from the program that your loop leaves behind.
#
# <details><summary>Hint</summary>
#
# What doesn't change in a loop belongs in front of it, and what is wanted only at the end belongs behind it.
#
# </details>


# %% tags=["exercise:layers_on_gpu", "points:3"]
def layers_on_gpu(x, w, steps):
    ### BEGIN SOLUTION
    x, w = x.to("cuda:0"), w.to("cuda:0")
    for _ in range(steps):
        x = (x @ w).relu()
    return x.to("cpu")
    ### END SOLUTION


# %%
check(layers_on_gpu)

# %% [markdown]
# ## 3. Place by function
#
# A rule can place ops that you never see. Write `device_for(op)`: the name of the device on which `op` shall run. `op`
# is a dictionary:
#
# - `op["name"]`: `"matmul"`, `"add"`, `"cat"`, …
# - `op["shapes"]`: the shapes of its inputs, a list of tuples; it may be empty
# - `op["devices"]`: where these inputs lie, a list of names as long as `shapes`
#
# The rule has two sentences. A `matmul` that takes a million multiplications or more runs on `/gpu:0`, wherever its
# factors are. Every other op runs on the device that holds most of the numbers it reads; if no device holds more than
# each of the others, or there are no inputs, on `/cpu:0`.
#
# A `matmul` has two matrices. (r, k) times (k, c) takes r · k · c multiplications. The slow specification: add up the
# numbers on each device, then compare every device with every other.
#
# <details><summary>Hint</summary>
#
# `math.prod(shape)` is how many numbers a tensor of that shape holds. A dictionary from device to sum holds the rest.
#
# </details>


# %% tags=["exercise:device_for", "points:3"]
def device_for(op):
    ### BEGIN SOLUTION
    if op["name"] == "matmul":
        (rows, inner), (_, columns) = op["shapes"]
        if rows * inner * columns >= 1_000_000:
            return "/gpu:0"
    held = {}
    for shape, device in zip(op["shapes"], op["devices"], strict=True):
        held[device] = held.get(device, 0) + math.prod(shape)
    most = max(held.values(), default=0)
    holders = [device for device, numbers in held.items() if numbers == most]
    return holders[0] if len(holders) == 1 else "/cpu:0"
    ### END SOLUTION


# %%
check(device_for)

# %% [markdown]
# `place` takes such a rule, and asks it about every op of a block:

# %% tags=["notebook-only"]
from course import place


def rule(op):
    devices = [str(DeviceName.parse(tensor.device)) for tensor in op.inputs]
    chosen = device_for({"name": op.name, "shapes": [tuple(t.shape) for t in op.inputs], "devices": devices})
    return None if chosen is ... else chosen


small, large = torch.ones(90, 90), torch.ones(110, 110)
with simulated_gpus(1), place(rule):
    for matrix in (small, large):
        print(tuple(matrix.shape), "times itself is computed on", (matrix @ matrix).device)

# %% [markdown]
# ## 4. Softly
#
# A program was written for four GPUs and comes to a laptop. Under *soft placement* it runs: what can't be had is
# replaced by the CPU. Write `runs_on(wanted, present, kernels)`: where an op runs for which the program asks for the
# device `wanted`.
#
# - `wanted` is written in one of the ways that chapter 01 shows: `/gpu:1`, `gpu:1`, `cuda:1` or `/device:GPU:1`, in
#   small or large letters; a name without a number, such as `cpu` or `cuda`, is number 0.
# - `present` is the list of devices that the machine has, as plain names: `["/cpu:0", "/gpu:0"]`. `/cpu:0` is always
#   one of them.
# - `kernels` lists the kinds of device on which the op can be computed at all: `"cpu"`, `"gpu"`, both or none.
#
# If the wanted device is there and the op has a kernel for its kind, return its plain name, such as `"/gpu:1"`. If not,
# return `"/cpu:0"` where the op has a kernel for the CPU, else `"nowhere"`.
#
# The slow specification: write down every spelling of every device that is there, and look `wanted` up.
#
# <details><summary>Hint</summary>
#
# `text.lower()`, `text.replace("cuda", "gpu")` and `text.split("/")[-1]` take a name apart. So does
# `DeviceName.parse(text)`, which has a `kind` and an `index`.
#
# </details>


# %% tags=["exercise:runs_on", "points:3"]
def runs_on(wanted, present, kernels):
    ### BEGIN SOLUTION
    name = wanted.lower().split("/")[-1].removeprefix("device:").replace("cuda", "gpu")
    kind, _, number = name.partition(":")
    device = f"/{kind}:{number or 0}"
    if device in present and kind in kernels:
        return device
    return "/cpu:0" if "cpu" in kernels else "nowhere"
    ### END SOLUTION


# %%
check(runs_on)

# %% [markdown]
# ## 5. Who moved 40 MB?
#
# The chapter's log has a line for every op, and one before it for each tensor that was brought to it. Here a log is a
# list of dictionaries, in the order in which things happened. Of each line you need two fields:
#
# - `line["bytes_moved"]`: more than 0 in a copy from one device to another, else 0
# - `line["view"]`: True for an op that computes nothing, such as `t`; it needs no copies
#
# A line that is neither a copy nor a view *computes*. It is the one that asked for all copies since the computing line
# before it, or since the log began. Write `who_moved(log)`. It returns `(position, bytes)`: the position in the list
# of the computing line that asked for most bytes, and how many. Of several with as many it is the first. Copies after
# the last computing line were asked for by nobody in the log. If nobody asked for anything: `(-1, 0)`.
#
# The slow specification: from every computing line go back to the one before, and add up what lies between.
#
# <details><summary>Hint</summary>
#
# Go through the log once with a running sum. A copy adds to it. A line that computes takes it all.
#
# </details>


# %% tags=["exercise:who_moved", "points:3"]
def who_moved(log):
    ### BEGIN SOLUTION
    best, waiting = (-1, 0), 0
    for position, line in enumerate(log):
        waiting += line["bytes_moved"]
        if line["bytes_moved"] or line["view"]:
            continue
        if waiting > best[1]:
            best = (position, waiting)
        waiting = 0
    return best
    ### END SOLUTION


# %%
check(who_moved)

# %% [markdown]
# This program moves 40 MB for one op of three. Its log is a real one:

# %% tags=["notebook-only"]
x, table = torch.ones(1000, 1000), torch.ones(1000, 10_000)
with simulated_gpus(1), log_placement() as log, place("/gpu:0"):
    x = x.to("cuda:0").relu()
    x = x @ table
    x.sum()
lines = [record.row() for record in log]
found = who_moved(lines)
if found is not ...:
    position, moved = found
    print(f"line {position}, {lines[position]['op']}, asked for {moved / 1e6:.0f} MB")
print(log)

# %% [markdown]
# ## 6. What does a placement move?
#
# It can be known before anything runs. A *program* is a list of tensors in the order in which they are made; each is a
# dictionary with its `"name"`, its `"shape"`, and its `"inputs"`: the names of the tensors from which it is computed.
# Those with no inputs lie ready. `places` says for each name on which device it is made, or lies ready.
#
# A tensor is computed where it is made, and all its inputs have to be there. One that isn't is copied from where it was
# made, 4 bytes a number, and the copy stays: another op on that device reads it without a second copy. When all is
# done, the last tensor of the program is needed on `/cpu:0`. Write `bytes_to_move(program, places)`: the bytes that
# are copied, all in all.
#
# The slow specification: for every tensor, on how many devices is it needed besides its own?
#
# <details><summary>Hint</summary>
#
# Walk through the program with a set of pairs (name, device): what is where. `math.prod([])` is 1, and a tensor of
# shape `()` is one number.
#
# </details>


# %% tags=["exercise:bytes_to_move", "points:4"]
def bytes_to_move(program, places):
    ### BEGIN SOLUTION
    size = {tensor["name"]: 4 * math.prod(tensor["shape"]) for tensor in program}
    there = set(places.items())
    moved = 0
    needed = [(name, places[tensor["name"]]) for tensor in program for name in tensor["inputs"]]
    for name, device in [*needed, (program[-1]["name"], "/cpu:0")]:
        if (name, device) not in there:
            there.add((name, device))
            moved += size[name]
    return moved
    ### END SOLUTION


# %%
check(bytes_to_move)

# %% [markdown]
# A network of three layers, placed in three ways. Which would you choose, and what is missing from this count?

# %% tags=["notebook-only"]
network = [{"name": "x", "shape": (1000, 784), "inputs": []}]
for number, (rows, columns) in enumerate([(784, 512), (512, 256), (256, 10)]):
    before = network[-1]["name"]
    network.append({"name": f"w{number}", "shape": (rows, columns), "inputs": []})
    network.append({"name": f"h{number}", "shape": (1000, columns), "inputs": [before, f"w{number}"]})
every = [tensor["name"] for tensor in network]
for title, on_gpu in (("all on the CPU", ""), ("ops on the GPU", "h"), ("weights and ops on the GPU", "hw")):
    places = {name: "/gpu:0" if name[0] in on_gpu else "/cpu:0" for name in every}
    print(f"{title}: {bytes_to_move(network, places)} bytes")

# %% [markdown]
# Bytes are not seconds: a placement that moves nothing may still compute on the slower device. Lab 02 takes times.
#
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
