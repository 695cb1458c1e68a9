# %% [markdown]
# # Start here
#
# **Which machine are you on, and which chapters will be slow on it?**
#
# A **cell** is a piece of code with its output. Click into one and press Shift+Enter: it runs, and the next one is
# chosen. The outputs you see now were stored when the course was made; yours replace them.
#
# This is the way: ten chapters, each with a question, guesses and exercises. Your browser keeps what you have done.

# %%
from course.widgets import CourseMap

CourseMap()

# %% [markdown]
# Click on a name to open its chapter. The questions beside it are explained below.
#
# | | |
# |---|---|
# | You will | run cells, stop one, check an answer; see what your machine has; test every part of the course; learn which chapters will take long here |
# | Minutes | 15 |
# | You need | a little Python; no PyTorch, no Dask |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |
#
# One task goes through all of them: a network learns from six million *gradients*, each worked out from a hundred images,
# and one machine takes **nine hours** for that, as long as you will read. Each chapter takes something away from the nine
# hours, or shows why it can't, and chapter 09 adds up what is left, in minutes and in dollars. Nobody has waited for it:
# these hours are *simulated* with the costs of a real machine, or *modelled* from data sheets.

# %% tags=["nbval-check-output"]
import sys

import course

python = "new enough" if sys.version_info >= (3, 11) else "too old: the course needs 3.11 or later"
print("course:", course.__version__, "| Python:", python)

# %% [markdown]
# ## Predict, run, compare
#
# Each chapter asks for a guess before the cell that has the answer: you remember what surprised you. Move the handle or
# type a number, and press *Commit*. The answer is folded until then; it opens with your guess in its picture. If you
# would rather not bet, click on it. The cells run without a guess as well.
#
# A `float32` number has 4 bytes. How many does a matrix of them have?

# %%
from course.widgets import Predict, Scorecard

bet_bytes = Predict(
    "How many bytes has a float32 matrix of 1,000 × 1,000?", 1_000, 10**9, log=True, unit="bytes", name="00 matrix"
)
bet_bytes

# %% tags=["nbval-check-output"]
import torch

matrix = torch.ones(1000, 1000)
bet_bytes.reveal(matrix.nbytes, "A million numbers of 4 bytes each.")

# %% [markdown]
# Your browser keeps your guesses, and only it; the card at the end of each chapter shows them all, and can forget them.
#
# A chapter's key numbers are checked automatically against the stored ones, so what the text says is what
# the code does. Seconds differ from machine to machine; they are shown and never checked.
#
# ## An exercise and its check
#
# An exercise is a function with nothing in it. `check` tries your version against a slow and certain one, from the
# smallest case up, and shows the first that differs. Here is a wrong answer to the exercise below, to see that.

# %% tags=["nbval-check-output"]
from course import check

check(lambda rows, columns: rows * columns, "matrix_bytes")

# %% [markdown]
# **Exercise.** Write `matrix_bytes(rows, columns)`: the bytes of a `float32` matrix. Each exercise has a *slow
# specification*: the plainest way to a right answer, however slow; yours may be another. This one counts 4 for every
# number of every row.
#
# <details><summary>Hint</summary>How many numbers are there?</details>


# %% tags=["exercise"]
def matrix_bytes(rows, columns):
    return ...  # your code


# %% tags=["solution"]
def matrix_bytes(rows, columns):
    return 4 * rows * columns


# %%
check(matrix_bytes)

# %% [markdown]
# Until you write it, the check says so and nothing stops.
#
# ## The machine
#
# Chapter 01 is about devices. This is what torch can use here. One line, `/cpu:0`, means no GPU: every chapter works
# without.

# %% tags=["timing"]
from course import list_devices

list_devices()

# %% [markdown]
# A container or a hosted notebook may see a large machine and be allowed a small part of it. The part counts.

# %% tags=["timing"]
import platform

from course.chapter_times import usable_cores

cores = usable_cores()
memory = list_devices()[0].memory / 2**30
print(f"cores: {cores}, memory: {memory:.1f} GiB, {platform.system()}")
print(f"Python {platform.python_version()}, torch {torch.__version__}")

# %% [markdown]
# ## The self-test
#
# One cell for each part of the course. Each prints something that must be the same everywhere. If one fails, the
# chapters that use that part will, too. Then restart the kernel and run this page again; if it still fails, stop
# JupyterLab and type `make env`.
#
# Devices: an op runs, and a log says which op, where.

# %% tags=["nbval-check-output"]
from course import log_placement, place

with place("/cpu:0"), log_placement() as log:
    torch.ones(2, 3) @ torch.ones(3, 2)
print([(record.op, record.device) for record in log])

# %% [markdown]
# The clock: a call is warmed up, repeated, and its median taken.

# %% tags=["nbval-check-output"]
from course import measure

timing = measure(torch.mm, matrix, matrix)
print("on:", timing.device, "| repeated:", "at least 3 times" if timing.repeats >= 3 else f"{timing.repeats} times")

# %% [markdown]
# The cluster: a second process starts, is sent a function, answers, and is gone at the end of the `with`.

# %% tags=["nbval-check-output"]
import os
import time

from course import local_cluster

started = time.perf_counter()
with local_cluster(worker=1) as cluster:
    ready = time.perf_counter() - started
    answer = cluster.executor.submit(sum, [1, 2, 3]).result(timeout=30)
    process = cluster.executor.submit(os.getpid).result(timeout=30)
    print("tasks:", list(cluster.tasks), "| answer:", answer)
    print("different processes, this one and the task's:", len({process, os.getpid()}))

# %% [markdown]
# How long did you wait for it?

# %% tags=["timing"]
print(f"a process with torch was ready after {ready:.1f} s")

# %% [markdown]
# ## Three questions
#
# Every line of this course answers three questions, and every picture in it is one of them drawn.
#
# 1. **Where** does it run?
# 2. **What moves** to get it there, how many bytes?
# 3. **Who waits**, and for how long?
#
# You have answered all three. The sum ran in another process, `/job:worker/task:0`. A list of three numbers moved there
# and one number moved back. This notebook waited, mostly for the process to start. The colours are the same in every
# chapter, and each has a second sign, so that nothing depends on colour alone.

# %% tags=["nbval-check-output"]
from course import draw

meaning = {"cpu": "CPU", "gpu": "GPU", "ps": "parameter server", "worker": "worker"}
meaning |= {"bytes": "bytes moving", "waiting": "waiting", "error": "killed, or an error"}
for role, words in meaning.items():
    print(draw.ROLES[role].sign, words)

# %% [markdown]
# The signs stand in text and tables. In pictures they look so:

# %%
with draw.figure(figsize=(7.2, 0.9)) as (figure, axes):
    for x, (role, words) in enumerate(meaning.items()):
        look = draw.ROLES[role]
        axes.plot(x, 1, look.marker, color=look.colour, markersize=14)
        axes.annotate(words, (x, 0.45), ha="center", fontsize=9)
    axes.set(xlim=(-0.6, 6.6), ylim=(0.3, 1.4))
    axes.axis("off")
draw.picture(figure, "The seven roles, each in its colour with its sign")

# %% [markdown]
# ## What will be slow here, and why
#
# The chapters were run on two cores of the machine named below, and their seconds kept. How does yours compare? In
# products: both figures are for two 1024 × 1024 matrices. And in starting a process: a machine may be slow in one only.

# %% tags=["timing"]
from course.chapter_times import READY
from course.traces import load_trace

recorded = load_trace("epyc-2-cores").at(1024)
threads = min(2, cores)
here = measure(torch.mm, torch.rand(1024, 1024), torch.rand(1024, 1024), threads=threads)
slower = here.median / recorded.compute * threads / recorded.threads
print(f"{recorded.gflops:.0f} GFLOP/s {recorded.label}")
print(f"{here.gflops(recorded.flops):.0f} GFLOP/s measured here")
starts = ready / READY
print(f"a product takes {slower:.1f} times as long on a core of yours, a process's start {starts:.1f} times")

# %% [markdown]
# With these two factors, your cores and your memory, there is a rough outlook for *Run All* of each chapter. It is an
# estimate, not a measurement: within a factor of two, if what was measured here is what your machine usually does.
# Before you see yours, take a machine away: one core, as a free hosted notebook may have.

# %%
bet_slow = Predict("How many of the ten chapters take longer than 30 s on one core?", 0, 10, name="00 one core")
bet_slow

# %% tags=["nbval-check-output"]
from course.chapter_times import outlook

slow = [o.chapter.name for o in outlook(cores=1, memory=8) if o.why]
why = "As estimated: those that keep two cores busy for most of their time; who keeps one busy loses nothing."
bet_slow.reveal(len(slow), why, shows=", ".join(slow))

# %% [markdown]
# And yours? The same map, now with what was found here. Give it more cores, or less memory: which bars move, and which
# don't?

# %% tags=["timing"]
CourseMap(cores=cores, memory=memory, slower=slower, starts=starts, devices=list_devices())

# %% [markdown]
# Cores shorten only what keeps several of them busy: the training of chapter 06, hardly the game of chapter 03. What
# waits for a clock, as the slow line of chapter 09, takes as long on any machine.
#
# ## Stopping, and starting again
#
# - **Stop a cell**: the ■ button, or press I twice. The cell ends with `KeyboardInterrupt`; what was computed before stays.
#   A cluster of this course survives it.
# - **Start over**: *Kernel → Restart Kernel and Run All Cells*. All variables are gone and every cell runs in order. The
#   processes a chapter started end with its kernel.
# - **Undo your edits**: *File → Revert Notebook to Checkpoint*, or `git restore notebooks/00_start_here.ipynb` in a
#   terminal for the notebook as it came.
# - **A notebook out of order**: cells run top to bottom build on each other. If a name is missing, run the ones above:
#   *Run → Run All Above Selected Cell*.
#
# You may try it: run the next cell with `seconds = 60` and stop it.

# %%
seconds = 0  # try 60, and press ■
time.sleep(seconds)

# %% [markdown]
# ## What this does not show
#
# - The self-test touches each part once. It does not say that a long chapter fits in memory beside your browser.
# - The outlook knows cores, memory, one product and one start. A battery saver, a busy neighbour or a slow disk may come
#   and go between the measurement and the chapter.
#
# ## Key points
#
# - Predict, run, compare. The check shows the smallest case in which an answer is wrong.
# - Ask of every line: where does it run, what moves, who waits?
# - What you may use of a machine counts, not what it has.
# - ■ stops a cell, *Restart* resets a notebook, and nothing is left running.
#
# **Next:** chapter 01, devices.
#
# ## Sources
#
# - JupyterLab documentation, *Notebooks* and *Kernels*.
# - Linux kernel documentation, *Control Group v2*: where a container's cores and memory are limited.

# %% [markdown]
# ## Your guesses

# %%
Scorecard(
    bet_bytes, bet_slow, challenge="find the least number of cores with which no chapter is slow, by the outlook above."
)
