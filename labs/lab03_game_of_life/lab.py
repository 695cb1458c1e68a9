# %% [markdown]
# # Lab 03: the Game of Life
#
# **Chapter 03 said that what a cell *is* decides the speed more than the code does. By how much, in ten lines of
# yours?**
#
# | | |
# |---|---|
# | You will | write the rule as one operation on whole arrays; film it; read a pattern from its file; stop when a board comes back; turn the rule into data; make a generation several times as fast |
# | Minutes | 90 |
# | You need | chapter 03; NumPy |
# | Resources | 1 core, 1 GB, seconds; no GPU needed; nothing is downloaded |
#
# <!-- points -->
#
# Every exercise is a function. Write its body, run the cell, then run the `check` below it: it looks for the smallest
# input on which your answer is wrong. Marks are made in the same way, on other inputs, by calling your functions and
# comparing what they return. You may add cells and functions of your own; keep the names and the arguments.
#
# Boards are `uint8` arrays (H, W) of 0, a dead cell, and 1, a living one, of any height and width from 3 up. Edges
# meet: beyond the last column comes the first, beyond the last row the first.

# %%
import numpy as np

from course import check

# %% [markdown]
# ## 1. The op: one generation
#
# What happens to all cells at once? A dead cell with exactly 3 living neighbours is born, a living one with 2 or 3
# survives, all others are dead: `B3/S23`. A cell has eight neighbours, and is not its own.
#
# Write `next_generation(board)`. It returns the next board, a new `uint8` array (H, W). The slow specification (the
# plainest way to a right answer; yours may be faster), for every cell: look at the eight around it, indices modulo the
# size, and count.
#
# <details><summary>Hint</summary>
#
# `np.roll(board, 1, axis=0)` is the board with every row moved down by one, the last to the top: at each cell it shows
# the neighbour above. SciPy's `convolve2d(..., mode="same", boundary="wrap")` will do as well.
#
# </details>


# %% tags=["exercise:next_generation", "points:3"]
def next_generation(board):
    ### BEGIN SOLUTION
    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
    counts = sum(np.roll(board, move, axis=(0, 1)) for move in moves)
    return ((counts == 3) | ((counts == 2) & (board == 1))).astype(np.uint8)
    ### END SOLUTION


# %%
check(next_generation)

# %% [markdown]
# In chapter 03 a function like yours became a PyTorch op. This cell does that with `next_generation`, so that it runs
# where tensors are. (Cells that only show something, such as this one, are not run when marks are made.)

# %% tags=["notebook-only"]
import torch


@torch.library.custom_op("lab03::next_generation", mutates_args=())
def life_op(board: torch.Tensor) -> torch.Tensor:
    following = next_generation(board.numpy(force=True))
    return board.clone() if following is ... else torch.from_numpy(np.asarray(following)).to(board.device)


print(torch.ops.lab03.next_generation(torch.eye(4, dtype=torch.uint8)))

# %% [markdown]
# ## 2. The film
#
# A player shows a list of pictures; the list has to be made. Write `film(board, generations, step)`: an array
# (generations + 1, H, W), `uint8`, whose first frame is `board` and whose every next one is `step` of the one before.
#
# `step` is a function that takes a board and returns the next, as a new array. Here it will be your
# `next_generation`; the check passes in another, in which a cell lives next when an odd number of its four nearest
# (above, below, left, right) live now. So a mistake in exercise 1 costs nothing here. The slow specification: frame g
# is `board` after g calls of `step`, counted anew from the start for each frame.
#
# <details><summary>Hint</summary>
#
# Three generations are four frames. `np.stack` makes one array of a list of arrays.
#
# </details>


# %% tags=["exercise:film", "points:2"]
def film(board, generations, step):
    ### BEGIN SOLUTION
    frames = [board]
    for _ in range(generations):
        frames.append(step(frames[-1]))
    return np.stack(frames)
    ### END SOLUTION


# %%
check(film)

# %% [markdown]
# Now play it: 60 generations of a glider, drawn by matplotlib, each frame as you made it.

# %% tags=["notebook-only"]
from course import draw

start = np.zeros((16, 24), np.uint8)
start[1, 2] = start[2, 3] = start[3, 1:4] = 1
frames = film(start, 60, next_generation)
draw.film([start] if frames is ... else frames)

# %% [markdown]
# ## 3. A pattern from its file
#
# Beside this notebook lies `gosper_glider_gun.rle`. How do 36 columns and 9 rows become 200 signs of text? By
# *run-length encoding*:
#
# - Lines that begin with `#` are comments; they all come first.
# - The head follows: `x = 36, y = 9, rule = B3/S23`, the width, the height, and perhaps a rule.
# - Then the cells, row by row from the left: `b` is a dead cell, `o` a living one, `$` ends the row.
# - A number repeats the sign after it: `3o` is `ooo`, and `2$` ends this row and leaves the next one empty.
# - Dead cells at the end of a row, and empty rows at the end, may be left out.
# - `!` ends the pattern; whatever follows is a note. Lines may break between any two of these pieces.
#
# Write `read_rle(path)`: the pattern as a `uint8` array of the head's height and width. The slow specification: write
# out every repetition, split at `$`, and copy sign by sign onto an empty board.
#
# <details><summary>Hint</summary>
#
# `re.findall(r"(\d*)([bo$!])", text)` gives the pieces of a body as (count, sign) pairs; an empty count means 1.
#
# </details>


# %% tags=["exercise:read_rle", "points:4"]
def read_rle(path):
    ### BEGIN SOLUTION
    import re

    lines = [line for line in open(path).read().splitlines() if not line.startswith("#")]
    width, height = (int(number) for number in re.findall(r"[xy]\s*=\s*(\d+)", lines[0]))
    board = np.zeros((height, width), np.uint8)
    row = column = 0
    for count, sign in re.findall(r"(\d*)([bo$!])", "".join(lines[1:])):
        count = int(count or 1)
        if sign == "!":
            break
        if sign == "$":
            row, column = row + count, 0
            continue
        if sign == "o":
            board[row, column : column + count] = 1
        column += count
    return board
    ### END SOLUTION


# %%
check(read_rle)

# %% [markdown]
# The gun, with room to shoot: your reader, your film, your rule.

# %% tags=["notebook-only"]
gun = read_rle("gosper_glider_gun.rle")
field = np.zeros((48, 72), np.uint8)
if gun is not ...:
    field[2:11, 2:38] = gun
frames = film(field, 120, next_generation)
draw.film([field] if frames is ... else frames)

# %% [markdown]
# ## 4. Stop when it repeats
#
# A board has finitely many states, so one comes back, and from then on all is a circle. Write
# `run_until_repeat(board, limit, step)`. It runs `step` (as in exercise 2) from `board`, which is generation 0, stops
# at the first generation whose board was there before, and returns `(start, period)`: the generation that had it
# first, and how many generations later it came back. If `limit` generations bring no repeat, it returns `(limit, 0)`.
#
# The slow specification keeps every board and compares each new one with all before it. `limit` may be a thousand
# million: do stop.
#
# <details><summary>Hint</summary>
#
# `board.tobytes()` can be the key of a dictionary; its value is the generation that had it first.
#
# </details>


# %% tags=["exercise:run_until_repeat", "points:4"]
def run_until_repeat(board, limit, step):
    ### BEGIN SOLUTION
    seen = {board.tobytes(): 0}
    for generation in range(1, limit + 1):
        board = step(board)
        state = board.tobytes()
        if state in seen:
            return seen[state], generation - seen[state]
        seen[state] = generation
    return limit, 0
    ### END SOLUTION


# %%
check(run_until_repeat)

# %% [markdown]
# ## 5. Another rule
#
# In HighLife, `B36/S23`, a cell is also born with 6 neighbours, and one small pattern copies itself. Thousands of such
# rules have names. Write `rule_step(board, rule)`: one generation by the rule that the text says. The digits after `B`
# are the numbers of living neighbours with which a dead cell is born, those after `S` the numbers with which a living
# one survives; either may be missing. The text is always of the form `B…/S…` with digits from 0 to 8.
#
# The slow specification is that of exercise 1, with these digits.
#
# <details><summary>Hint</summary>
#
# Being born and surviving are two questions. `np.isin(counts, [3, 6])` asks about every cell at once.
#
# </details>


# %% tags=["exercise:rule_step", "points:3"]
def rule_step(board, rule):
    ### BEGIN SOLUTION
    birth, survive = ([int(digit) for digit in part[1:]] for part in rule.split("/"))
    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
    counts = sum(np.roll(board, move, axis=(0, 1)) for move in moves)
    return np.where(board == 1, np.isin(counts, survive), np.isin(counts, birth)).astype(np.uint8)
    ### END SOLUTION


# %%
check(rule_step)

# %% [markdown]
# ## 6. A fast step
#
# Many tutorials keep boards as NumPy's default integers and add up eight rolled copies. That is the *reference* here:


# %%
def eight_rolls(board, generations):
    board = board.astype(np.int64)
    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
    for _ in range(generations):
        counts = sum(np.roll(board, move, axis=(0, 1)) for move in moves)
        board = ((counts == 3) | ((counts == 2) & (board == 1))).astype(np.int64)
    return board.astype(np.uint8)


# %% [markdown]
# Write `fast_step(board, generations)`: the same cells after as many generations, `uint8` (H, W), at least 3 times as
# fast as the reference on boards of 512 × 512. Being right is half of the points, being fast as well the other half. The
# slow specification is that of exercise 1, generation after generation.
#
# How it is timed: from outside, each in a sandbox of its own, on the same boards, 12 generations a call. What counts is
# processor time, of all threads and processes together: a busy machine makes nobody slow, and a second process nobody
# fast. The quickest of several calls counts. Each call's board is made from the last answer and from noise, so nothing
# can be worked out ahead.
#
# <details><summary>Hint</summary>
#
# What is a cell here, and what could it be? How many bytes does one generation move? Chapter 03's ladder has the
# factors. Then: three rows added up serve nine neighbours; slices of a board with a border copy nothing.
#
# </details>


# %% tags=["exercise:fast_step", "points:4"]
def fast_step(board, generations):
    ### BEGIN SOLUTION
    height, width = board.shape
    padded = np.zeros((height + 2, width + 2), np.uint8)
    padded[1:-1, 1:-1] = board
    inner = padded[1:-1, 1:-1]
    for _ in range(generations):
        padded[0], padded[-1] = padded[-2], padded[1]
        padded[:, 0], padded[:, -1] = padded[:, -2], padded[:, 1]
        rows = padded[:-2] + padded[1:-1] + padded[2:]
        nine = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]  # the cell itself is counted too
        inner[:] = (nine == 3) | ((nine == 4) & (inner == 1))
    return inner.copy()
    ### END SOLUTION


# %%
check(fast_step)

# %% [markdown]
# `check` asks whether it is right. How fast is it on this machine?

# %% tags=["notebook-only"]
from time import perf_counter


def quickest(function, board):
    seconds = []
    for _ in range(5):
        started = perf_counter()
        function(board, 12)
        seconds.append(perf_counter() - started)
    return min(seconds)


big = (np.random.default_rng(1).random((512, 512)) < 0.35).astype(np.uint8)
if fast_step(big, 1) is not ...:
    print(f"{quickest(eight_rolls, big) / quickest(fast_step, big):.1f} times as fast as eight rolls")

# %% [markdown]
# ## A race, for fun
#
# No points, no marks: how near do you come to the last rung of chapter 03's ladder, `life.run` on all cores? Begin with
# what you have. Then climb: a compiled loop, a word as a set of cells, tiles, threads. `lap` asks first whether it is
# right, and then times both by the clock.


# %% tags=["notebook-only"]
from course import life
from course.checks import lap


def fastest_step(board, generations):
    return fast_step(board, generations)  # or anything faster


def last_rung(board, generations):
    return life.run(torch.from_numpy(board), generations, engine="packed").numpy()


draw_board = np.random.default_rng(3)
sizes = [(3, 3), (5, 7), (64, 65), (130, 96), (1024, 1024)]
questions = [((draw_board.random(size) < 0.35).astype(np.uint8), 16) for size in sizes]
lap(fastest_step, last_rung, questions)

# %% [markdown]
# ## Before you hand it in
#
# Choose *Kernel → Restart Kernel and Run All Cells*: every check should pass from the top. A cell that takes minutes
# costs marks when time runs out; what your cells print or draw does not matter.
