# %% [markdown]
# # Your own op: the Game of Life
#
# **How many cells a second is a three-line rule, and how many could it be?**
#
# Five cells walk across a board below, though nothing in their rule says "walk". What is alive here? Stop it, draw cells
# of your own, and step. The course's long task is like this one: something small, six million times, in nine
# hours. Before you share such work out among machines, ask how fast one of them can be.

# %%
from course.widgets import LifePlayer, animate

LifePlayer(pattern="glider", height=12, width=36, controls="few", playing=True)

# %% [markdown]
# *Show who is next* marks the cells that will be born and those that will die. Move the pointer over a cell: how many
# living neighbours does it take?
#
# | | |
# |---|---|
# | You will | write a rule in three lines and check it; register it as a PyTorch op; read patterns from files; find a repeated state; climb from three lines to 64 cells a word on all cores |
# | Minutes | 45 |
# | You need | chapter 01 (where an op runs); a little NumPy |
# | Resources | 2 cores, 2 GB, under 30 s; no GPU needed; nothing is downloaded |

# %% [markdown]
# ## The words first
#
# A **board** is a grid of **cells**; each is alive (1) or dead (0). A cell's **neighbours** are the eight cells
# around it. Edges meet: beyond the last column comes the first, so the board is a torus. A **rule** says who lives in
# the next **generation**: here a dead cell with exactly 3 living neighbours is born, a living one with 2 or 3
# survives, all others are dead. That rule is written `B3/S23`.

# %% tags=["nbval-check-output"]
import torch

from course import draw, life

blinker = life.from_text("""
.....
..O..
..O..
..O..
.....
""")
print(blinker.dtype, tuple(blinker.shape), "living cells:", int(blinker.sum()))

# %% [markdown]
# A board is a tensor of `uint8`, one byte a cell. Nothing about it is special: sums, slices and copies work as on any
# tensor.
#
# ## Three lines
#
# Counting neighbours is a convolution: lay a 3 × 3 window of ones, with a hole in the middle, over every cell and add
# up what lies under it. SciPy has that operation, and `boundary="wrap"` joins the edges. So the whole rule is this:

# %% tags=["nbval-check-output"]
from scipy.signal import convolve2d


def next_generation(cells):
    counts = convolve2d(cells, [[1, 1, 1], [1, 0, 1], [1, 1, 1]], mode="same", boundary="wrap")
    born_or_kept = (counts == 3) | ((counts == 2) & (cells == 1))
    return born_or_kept.astype("uint8")


after = torch.from_numpy(next_generation(blinker.numpy()))
print(life.to_text(after))

# %% [markdown]
# The column became a row. The ends had one neighbour each and died; the cells left and right of the middle had three
# and were born. After one more generation it stands again: a *blinker*.
#
# A **glider** is five cells that move. Every 4 generations it is the same shape, one cell further down and right.
#
# When is it back where it began?

# %%
from course.widgets import Predict, Scorecard

question = "On a board of 8 × 8 whose edges meet, when is the glider back?"
bet_glider = Predict(question, 1, 64, unit="generations", name="03 glider")
bet_glider

# %% [markdown]
# Step until the board is the first one again, counting:

# %% tags=["nbval-check-output"]
glider = life.put(life.empty(8, 8), life.pattern("glider"))
cells, generations = glider.numpy(), 0
while generations == 0 or (cells != glider.numpy()).any():
    cells, generations = next_generation(cells), generations + 1
bet_glider.reveal(generations, "Eight cells to go, four generations a cell.")

# %% [markdown]
# If a single neighbour were missing from the window, or the edges did not meet, this loop would not end at that number,
# or would not end at all.
#
# ## Is it right?
#
# Three lines can be wrong in one. Here is the rule again, without any cleverness: a set of living cells, their
# neighbours counted one at a time. `life.reference_step` does that, slowly. A fast version earns trust by agreeing
# with it on boards nobody chose.

# %% tags=["nbval-check-output"]
random = torch.Generator().manual_seed(7)
sizes = [(3, 3), (3, 8), (8, 3), (5, 7), (16, 16), (11, 30)]
agree = 0
for height, width in sizes * 5:
    board = life.random_board(height, width, density=0.4, generator=random)
    agree += torch.equal(torch.from_numpy(next_generation(board.numpy())), life.reference_step(board))
print(agree, "of", len(sizes) * 5, "boards agree")

# %% [markdown]
# ## Your own op
#
# To PyTorch, `next_generation` is a stranger: it takes NumPy arrays, and `torch.compile` or a placement log can't see
# into it. Registered as an **op** it becomes one of the family, with a name, a schema and a device. Two things are
# needed. The body, as above:


# %%
@torch.library.custom_op("chapter03::next_generation", mutates_args=())
def next_generation_op(board: torch.Tensor) -> torch.Tensor:
    cells = next_generation(board.numpy(force=True))
    return torch.from_numpy(cells).to(board.device)


# %% [markdown]
# And a promise for tools that plan ahead without computing: what shape, dtype and device comes out. It gets a *fake*
# tensor, which has those three and no values.


# %% tags=["nbval-check-output"]
@next_generation_op.register_fake
def _(board):
    return torch.empty_like(board)


checks = torch.library.opcheck(torch.ops.chapter03.next_generation, (glider,))
for name, verdict in sorted(checks.items()):
    print(f"{verdict}  {name}")

# %% [markdown]
# `opcheck` compares the promise with the body, and looks for inputs changed in secret. Now a compiler can put the op
# into a graph with others. `fullgraph=True` means: fail rather than fall back to plain Python.


# %% tags=["nbval-check-output"]
@torch.compile(fullgraph=True, backend="eager")
def four_generations(board):
    for _ in range(4):
        board = torch.ops.chapter03.next_generation(board)
    return board


moved = four_generations(glider)
print(life.to_text(moved))
shifted = glider.roll((1, 1), dims=(0, 1))
print("cells that differ from the first board, moved one down and one right:", int((moved != shifted).sum()))

# %% [markdown]
# `course.life` has the same op, with any rule and with edges that meet or don't: `torch.ops.course.life_step`, and
# `life.step` that calls it. And where does it run? Yours on the CPU, wherever the board lives: SciPy knows no GPU. Its
# body says so in plain sight, by `numpy(force=True)` and `.to(board.device)`: two moves of the whole board, each
# generation. The course's op has a second body, in torch's own ops, that PyTorch takes for a board on a GPU.

# %% tags=["nbval-check-output"]
print(torch.ops.course.life_step.default._schema)
yours, the_courses = torch.ops.chapter03.next_generation(glider), life.step(glider)
print("living cells:", int(yours.sum()), "and", int(the_courses.sum()), end="; ")
print("cells that differ:", int((yours != the_courses).sum()))

# %% [markdown]
# ## A gun from a file
#
# Can five cells become infinitely many? In 1970 Bill Gosper's group found a pattern that never stops growing. People
# exchange such finds as small text files. This one is *run-length encoded*: `b` is a dead cell, `o` a living one, `$`
# a new row, a number repeats what follows.

# %% tags=["nbval-check-output"]
path = life.pattern_file("gosper_glider_gun")
print(path.read_text())
gun = life.read_pattern(path)
print("shape", tuple(gun.shape), "living cells", int(gun.sum()))

# %% [markdown]
# Put on a board with room to shoot, it plays like this. The frames are drawn by matplotlib and stored in the page;
# the player needs no kernel.

# %%
board = life.put(life.empty(48, 72), gun, row=2, column=2)
animate(board, 120)

# %% [markdown]
# Every 30 generations the gun is back in its own shape, and one more glider is out. Counting cells shows it, on a
# board large enough that no glider reaches an edge (`wrap=False`: what lies outside is dead).

# %% tags=["nbval-check-output"]
field = life.put(life.empty(80, 100), gun, row=2, column=2)
living = [int(life.run(field, generation, wrap=False).sum()) for generation in range(0, 151, 30)]
print(living)
print("more every 30 generations:", torch.tensor(living).diff().tolist())

# %% [markdown]
# Five cells more each time: a glider. A board without edges would never stop growing.
#
# ## Does it ever repeat?
#
# A board *with* edges must: there are finitely many boards, so a state comes back, and from then on all is a circle.
# But when? Remember a fingerprint of every generation and stop at the first seen before.
#
# Here are 1,024 cells, filled at random: 2¹⁰²⁴ boards are possible.

# %%
question = "1,024 cells at random: from which generation on is all a circle?"
bet_soup = Predict(question, 1, 10_000, log=True, name="03 soup")
bet_soup

# %% tags=["nbval-check-output"]
soup = life.random_board(32, 32, density=0.35, generator=torch.Generator().manual_seed(12))
cycle = life.find_cycle(soup, limit=10_000)
bet_soup.reveal(cycle.start, f"Soon few cells live, and {cycle.period} boards take turns for ever.", shows=cycle)

# %% [markdown]
# From generation `start` on, the same `period` boards follow each other for ever. Don't take the fingerprint's word for
# it: run to both generations and compare the boards.

# %% tags=["nbval-check-output"]
first = life.run(soup, cycle.start)
again = life.run(soup, cycle.start + cycle.period)
print("cells that differ:", int((first != again).sum()))
print("living cells:", int(soup.sum()), "at first,", int(first.sum()), "in the circle")

# %% [markdown]
# The known periods come out as they should, on a board of their own:

# %% tags=["nbval-check-output"]
for name in ["block", "blinker", "pulsar", "pentadecathlon", "glider"]:
    found = life.find_cycle(life.put(life.empty(24, 24), life.pattern(name), row=7, column=5))
    print(f"{name:15} period {found.period}")

# %% [markdown]
# The glider's 96 is its trip around the board: 24 cells, 4 generations each.
#
# ## Play
#
# Five cells again, the *R-pentomino*, and they don't walk. How long until nothing new happens? Play it: the player notes
# each board, and says the period once one comes back. Draw with the mouse, or with the arrow keys and Enter; Space steps,
# P plays, plus and minus zoom.

# %%
player = LifePlayer(pattern="r_pentomino", height=64, width=96, speed=60)
player

# %% [markdown]
# Everything that the mouse does, Python does too: `player.toggle(3, 4)`, `player.load("acorn")`, `player.rule = "B36/S23"`,
# `player.step(100)`, `player.play()`. Another player, so that the five cells above stay yours, a hundred generations on:

# %% tags=["nbval-check-output"]
hundred = LifePlayer(pattern="r_pentomino", height=64, width=96).step(100)
print(hundred)
print(life.find_cycle(player.board, rule=player.rule))

# %% [markdown]
# ## How fast can it go?
#
# Now the question of this chapter. The lowest rung is your three lines; above it stand five more versions of the same
# rule, each faster than the one below. `climb` puts a version on the ladder: its name, and how many cells it decides a
# second. `measure` is chapter 02's stopwatch: warmed up, repeated, the median.

# %% tags=["timing"]
from course import measure

small = life.random_board(2048, 2048, density=0.35, generator=torch.Generator().manual_seed(1))


def three_lines(board, generations):
    cells = board.numpy()
    for _ in range(generations):
        cells = next_generation(cells)
    return torch.from_numpy(cells)


def speed(way, board, generations):
    return board.numel() * generations / measure(way, board, generations, seconds=0.1).median


ladder = draw.Ladder("cells").climb("three lines, SciPy", speed(three_lines, small, 1))
ladder

# %% [markdown]
# ### Rung 2: a byte a cell
#
# SciPy multiplies nine numbers by nine weights for every cell, and its counts are 64-bit numbers: eight bytes for a
# count that never exceeds 8. One byte has room. `roll` shifts a whole board, so the sum of three rows is two shifts and
# two additions. Three such sums side by side are a cell and its eight neighbours. Counted with the cell itself, a cell
# lives next if there are 3 of the nine, or if there are 4 and it lives now.
#
# Before you climb, guess the whole ladder: rung 3 is one compiled loop, rung 4 keeps 64 cells in a word, rung 5 works on
# tiles that fit in the cache, rung 6 takes all cores.

# %%
rungs = ["a byte a cell", "a compiled loop", "64 cells a word", "tiles in the cache", "all cores"]
question = "How many times the cells a second of the rung below?"
bet_rungs = Predict(question, 0.1, 100, log=True, unit="×", each=rungs, name="03 rungs")
bet_rungs


# %% tags=["timing"]
def with_rolls(board, generations):
    for _ in range(generations):
        three = board + board.roll(1, dims=0) + board.roll(-1, dims=0)
        nine = three + three.roll(1, dims=1) + three.roll(-1, dims=1)
        board = ((nine == 3) | ((nine == 4) & (board == 1))).to(torch.uint8)
    return board


ladder = ladder.climb("a byte a cell, torch", speed(with_rolls, small, 2))
bet_rungs.reveal(ladder.gains[1:], "An eighth of the bytes to write and to read.", shows=ladder)

# %% [markdown]
# ### Rung 3: one compiled loop
#
# Count the boards that torch made: four shifted ones, four sums, three comparisons … a dozen, each written and read
# again. A compiled loop needs none of them: it reads nine cells, decides, and writes one. `numba.njit` compiles a Python
# function when it is first called. The compiler sees that no cell of `new` depends on another, so it uses the
# processor's **vector units**: one instruction adds 32 or 64 bytes to 32 or 64 others. (numba gives a sum of bytes 64
# bits, eight times what it needs; `uint8` cuts it back to eight.)

# %%
import numpy as np
from numba import njit, uint8


@njit
def decide_bytes(old):
    new = np.empty((old.shape[0] - 2, old.shape[1] - 2), np.uint8)
    for y in range(len(new)):
        above, here, below, out = old[y], old[y + 1], old[y + 2], new[y]
        for x in range(len(out)):
            three = above[x] + above[x + 1] + above[x + 2]
            six = here[x] + here[x + 1] + here[x + 2] + three
            nine = uint8(below[x] + below[x + 1] + below[x + 2] + six)
            out[x] = (nine == uint8(3)) | ((nine == uint8(4)) & here[x + 1])
    return new


# %% [markdown]
# `old` is larger than `new` by a border of one cell, a copy of the opposite edge: then every cell has its neighbours
# beside it, and the loop has no special cases. `np.pad` makes the border.


# %% tags=["timing"]
def in_bytes(board, generations):
    cells = board.numpy()
    for _ in range(generations):
        cells = decide_bytes(np.pad(cells, 1, mode="wrap"))
    return torch.from_numpy(cells)


timing = measure(in_bytes, small, 8, seconds=0.1)
ladder = ladder.climb("a compiled loop", 8 * small.numel() / timing.median)
why = f"One pass instead of a dozen boards; compiling took {timing.first_call - timing.median:.1f} s."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder)

# %% [markdown]
# ### Rung 4: a word is a set of cells
#
# A cell says alive or dead: that is one bit, and a byte spends eight. Written in binary, the number `0b01101001` is a
# row of eight cells. Three operations take two such numbers and work on each column by itself, on all columns at once:
#
# - `a & b`, *and*: 1 where both are 1;
# - `a | b`, *or*: 1 where at least one is 1;
# - `a ^ b`, *exclusive or*: 1 where they differ.
#
# Can they count? Put three rows below each other. In each column stand 0, 1, 2 or 3 living cells, and that sum takes two
# binary digits, a *twos* and a *ones*. The ones digit is 1 where an odd number of the three is: `a ^ b ^ c`. The twos
# digit is 1 where two of them are, or all: both `a` and `b`, or `c` and one of the two.


# %% tags=["nbval-check-output"]
def add3(a, b, c):
    differ = a ^ b
    return differ ^ c, a & b | differ & c


above, here, below = 0b01101001, 0b01011000, 0b01001101
ones, twos = add3(above, here, below)
for name, row in {"above": above, "here": here, "below": below, "": 0, "twos": twos, "ones": ones}.items():
    print(f"{name:6} {row:08b}" if name else "")
print("sum   ", "".join(str(2 * (twos >> k & 1) + (ones >> k & 1)) for k in range(7, -1, -1)))

# %% [markdown]
# Check a column or two: the second from the left has three ones, and its digits are `1` and `1`, which is 3. The last
# has two: `1` and `0`. Five operations added eight columns. With words of 64 bits the same five add 64 columns, and
# as vector units take several words at once, several times that.
#
# Which 64 cells share a word? Not neighbours in a row: to meet, they would have to be moved past each other. Cut
# the board into 64 bands, like 64 sheets, and lay them on top of each other. Bit j of a word is the cell of sheet j. Then
# the word to the right holds the right neighbours of all 64 cells, and the word above the upper ones. `pack` lays the
# sheets on top of each other. Take a board of 128 rows: each sheet has two of them. The word in row 1, column 3 must be
# column 3 of the lower row of each sheet: of the board's rows 1, 3, 5 and so on.

# %% tags=["nbval-check-output"]
from course.life.packed import pack, unpack

striped = life.random_board(128, 5, generator=torch.Generator().manual_seed(2)).numpy()
words = pack(striped, wrap=True)
print(striped.shape, "cells became", words.shape, "words")
bits = [int(words[1, 3]) >> sheet & 1 for sheet in range(64)]
print("the word in row 1, column 3:    ", *bits, sep="")
print("every second cell of column 3:  ", *striped[1::2, 3], sep="")

# %% [markdown]
# What is left is the loop of rung 3, in words. Three adders give the sums of three columns, two digits each. A fourth
# adds the three ones digits: its ones are `n1`, its twos are `carry`. A fifth adds the three twos digits: it gives `n2`,
# which counts two, and `n4`, which counts four. So *nine*, the sum of nine cells, is `n1 + 2 · (carry + n2) + 4 · n4`.
# When is it 3? When `n1` is 1, exactly one of `carry` and `n2` is 1, and `n4` is 0. And 4? When `n1` is 0, and either
# `n4` alone is 1, or `carry` and `n2` both are and `n4` isn't.

# %%
adder = njit(add3)


@njit
def decide_words(old):
    new = np.empty((old.shape[0] - 2, old.shape[1] - 2), np.uint64)
    for y in range(len(new)):
        above, here, below, out = old[y], old[y + 1], old[y + 2], new[y]
        for x in range(len(out)):
            left1, left2 = adder(above[x], here[x], below[x])
            mid1, mid2 = adder(above[x + 1], here[x + 1], below[x + 1])
            right1, right2 = adder(above[x + 2], here[x + 2], below[x + 2])
            n1, carry = adder(left1, mid1, right1)
            n2, n4 = adder(left2, mid2, right2)
            odd = n2 ^ carry  # the twos digit of nine; the next line says "nine is 3, or it is 4 and I live"
            out[x] = n1 & odd & ~n4 | here[x + 1] & ~(n1 | odd) & (n4 ^ n2 & carry)
    return new


# %% [markdown]
# Then the border. The last row of the sheet before lies above the first row of a sheet. That is the last row of words with
# every bit moved on by one place, sheet 0's to sheet 1; `last >> 63` brings the last sheet's to sheet 0. Below, the bits
# move the other way.


# %%
def close_edges(words, k):
    last, first = words[-k:], words[:k]
    tall = np.concatenate([last << 1 | last >> 63, words, first >> 1 | first << 63])
    return np.pad(tall, ((0, 0), (k, k)), mode="wrap")


def in_words(words, generations):
    for _ in range(generations):
        words = decide_words(close_edges(words, 1))
    return words


# %% [markdown]
# For this pace the board is a larger one, of 8,192 × 8,192. It is packed once, before the watch starts.

# %% tags=["timing"]
big = life.random_board(8192, 8192, density=0.35, generator=torch.Generator().manual_seed(1))
words = pack(big.numpy(), wrap=True)
timing = measure(in_words, words, 16, seconds=0.1)
ladder = ladder.climb("64 cells a word", 16 * big.numel() / timing.median)
why = "An eighth of the bytes, and a few more operations for each word."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder)

# %% [markdown]
# ### Rung 5: stay in the cache
#
# The board is now 8 MB of words, and every generation asks the system for as much new memory, writes it, and reads it
# back in the next. The processor has a small memory of its own, the cache, some ten times as fast; the words only don't
# fit. So take a **tile** that does, with 16 more words on every side, and compute 16 generations of it before the next
# tile. The cells around the tile are missing, so its outermost ring comes out wrong, in each generation one ring more:
# after 16 the margin is used up, and the middle is right.


# %%
@njit
def decide_tiles(old, k, high, wide):
    new = np.empty((old.shape[0] - 2 * k, old.shape[1] - 2 * k), np.uint64)
    for top in range(0, new.shape[0], high):
        for left in range(0, new.shape[1], wide):
            tile = old[top : top + high + 2 * k, left : left + wide + 2 * k].copy()
            for _ in range(k):
                tile = decide_words(tile)  # a ring smaller each time
            new[top : top + high, left : left + wide] = tile
    return new


# %% [markdown]
# A tile of 64 × 512 words with its margin takes 0.4 MB, twice: once as it was, once as it will be. The margin costs
# something, too: 96 × 544 words are computed at first for 64 × 512 that count.


# %% tags=["timing"]
def in_tiles(words, generations, k=16):
    for _ in range(generations // k):
        words = decide_tiles(close_edges(words, k), k, 64, 512)
    return words


timing = measure(in_tiles, words, 16, seconds=0.1)
ladder = ladder.climb("tiles in the cache", 16 * big.numel() / timing.median)
why = "The words come from memory once for 16 generations, and from the cache for the others."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder)

# %% [markdown]
# ### Rung 6: all cores
#
# Tiles don't need each other for 16 generations, so each core can take its own: twice as fast on two cores. `life.run`
# does all of this, for any height, any rule and any number of cores; it packs the board and unpacks it again, too. Two
# more things are in its inner loop. It decides four rows at a time, so that a word which is read once serves several of
# them. And it writes each generation over the one before the last, where rung 5 asks for a new tile.


# %% tags=["timing"]
def all_cores(board, generations):
    return life.run(board, generations, engine="packed")


ladder = ladder.climb("life.run, all cores", speed(all_cores, big, 512))
why = "Each core has its own tiles; four rows at a time and no new memory make the rest."
bet_rungs.reveal(ladder.gains[1:], why, shows=ladder, stored=[10, 20, 2.8, 2.9, 2.8])

# %% [markdown]
# Fast, but right? A board of 2,048 × 1,024, 32 generations, each rung compared with the three lines, cell by cell.


# %% tags=["nbval-check-output"]
def packed(way):
    def on_bits(board, generations):
        words = way(pack(board.numpy(), wrap=True), generations)
        return torch.from_numpy(unpack(words, len(board)))

    return on_bits


soup = life.random_board(2048, 1024, density=0.35, generator=torch.Generator().manual_seed(5))
wanted = three_lines(soup, 32)
print(f"{int(wanted.sum()):,} of {soup.numel():,} cells live after 32 generations")
ways = {"rolls": with_rolls, "bytes": in_bytes, "words": packed(in_words), "tiles": packed(in_tiles)}
ways["run"] = all_cores
for name, way in ways.items():
    print(f"{name:6} {int((way(soup, 32) != wanted).sum())} cells differ")

# %% [markdown]
# And where is the end? Count the operations on a word. If each column is added up once and its sum used three times, 5
# operations do the column, 10 the two sums of three columns, and 11 decide: 26, for 64 cells. `peak_operations` measures
# how many ands, ors and the like all cores of this machine can do a second, with a loop that does nothing else.

# %% tags=["timing"]
from course.timing import peak_operations

limit = peak_operations(bits=64) / 26 * 64
draw.ladder(ladder, limit, "26 operations a word, on all cores")

# %% [markdown]
# Each step is as long as its gain. None of the steps changed the rule, or what counts as a
# neighbour. What changed is what a cell *is* (eight bytes, a byte, a bit), how many of them one instruction takes, and
# how far its bits travel. The limit has no loads and no stores in it, and each word needs some of both, so nobody gets
# there; a program in C with the vector instructions written by hand came to seven tenths of it.
#
# ## See it run
#
# A quarter of a million cells, 60 generations a second. The kernel computes the boards, some of them before they are
# shown; without a kernel the page does it. Choose a board and press *Measure each engine*: it says how many cells a second
# each reaches, asked for one generation at a time, or for as many as a frame takes at the chosen speed.
#
# On 16 × 28 cells, is the fastest of the ladder the fastest here, too? And at 6,000 generations a second?

# %%
LifePlayer(pattern="random", height=512, width=512, speed=60)

# %% [markdown]
# <details><summary>Why?</summary>
#
# A call takes some microseconds, whatever the board; 448 cells take less. The page's plain loop over bytes needs no call to
# Python, and wins there, several times over. At 6,000 generations a second an engine is asked for 100 at a time, and pays
# for its start once: then `packed` is the fastest here, too.
#
# </details>

# %% [markdown]
# **Your turn.** `ipywidgets.interact` makes a control for each argument of a function of yours, and calls it whenever one
# moves. This one counts who is left of a random board. Expect a slider, a list and a line; by the rule of *Day and Night*,
# `B3678/S34678`, a thin board nearly dies out, and a dense one nearly fills up. Then write another function, of a pattern
# or of a rule. (A page without a kernel shows nothing here: run the cell.)


# %% tags=["your-turn"]
import ipywidgets


@ipywidgets.interact(density=(0.05, 0.95, 0.05), rule=["B3/S23", "B36/S23", "B3678/S34678"])
def survivors(density=0.35, rule="B3/S23"):
    seed = torch.Generator().manual_seed(3)
    board = life.random_board(128, 128, density=density, generator=seed)
    for _ in range(100):
        board = life.step(board, rule)
    print(f"{int(board.sum()):,} of {board.numel():,} cells live after 100 generations")


# %% [markdown]
# ## Exercises
#
# Each has a `check`, which looks for the smallest board on which your answer is wrong.
#
# ### 1. Count the neighbours
#
# Write the counting without SciPy. `board` is a `uint8` tensor (H, W) whose edges meet; return how many of the eight
# neighbours of each cell live, as `uint8` (H, W). The slow specification (the plainest way to a right answer; yours
# may be faster) is `life.reference_step`: every cell, eight look-ups, indices modulo the size.
#
# <details><summary>Hint</summary>
#
# `board.roll(1, dims=0)` is the board with every row moved down by one, the last to the top: at each cell it shows
# the neighbour above. Eight such boards, summed.
#
# </details>


# %% tags=["exercise"]
def count_neighbours(board):
    return None  # your tensor here


# %% tags=["solution"]
def count_neighbours(board):
    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
    return sum(board.roll(move, dims=(0, 1)) for move in moves)


# %%
from course import check

check(count_neighbours)

# %% [markdown]
# ### 2. HighLife
#
# In HighLife, `B36/S23`, a cell is also born with 6 neighbours; nothing else differs from Conway's rule. Write one
# generation of it, using your `count_neighbours` or `convolve2d`; `board` and the result are `uint8` tensors (H, W),
# edges meet.
#
# <details><summary>Hint</summary>
#
# Being born and surviving are two different questions. With 6 neighbours a dead cell is born, and a living one dies.
#
# </details>


# %% tags=["exercise"]
def highlife_step(board):
    return None  # your tensor here


# %% tags=["solution"]
def highlife_step(board):
    counts = count_neighbours(board)
    born = (board == 0) & ((counts == 3) | (counts == 6))
    kept = (board == 1) & ((counts == 2) | (counts == 3))
    return (born | kept).to(torch.uint8)


# %%
check(highlife_step)

# %% [markdown]
# ### 3. The first repeat
#
# Write `find_cycle` yourself. Return `(start, period)` for the first state that is met again within `limit`
# generations (`board` itself is generation 0), and the empty tuple `()` if none is. Use `life.step(board)` for the
# next generation. The slow specification compares each generation with all before it.
#
# <details><summary>Hint</summary>
#
# `board.numpy().tobytes()` can be the key of a dictionary; its value is the generation that had it first.
#
# </details>


# %% tags=["exercise"]
def first_repeat(board, limit):
    return None  # your (start, period) here


# %% tags=["solution"]
def first_repeat(board, limit):
    seen = {}
    for generation in range(limit + 1):
        state = board.numpy().tobytes()
        if state in seen:
            return seen[state], generation - seen[state]
        seen[state] = generation
        board = life.step(board)
    return ()


# %%
check(first_repeat)

# %% [markdown]
# ### 4. Seven cells that die
#
# `diehard` has seven cells and then, after many generations, none. Read it from its file
# (`life.pattern_file("diehard")`), put it on an empty board of 64 × 64 at row 30, column 28, and find the first
# generation with no living cell.
#
# <details><summary>Hint</summary>
#
# `life.frames(board, 200)` gives the board and the 200 that follow, one at a time.
#
# </details>

# %% tags=["exercise"]
diehard_generation = None  # your number here

# %% tags=["solution"]
start = life.put(life.empty(64, 64), life.read_pattern(life.pattern_file("diehard")), row=30, column=28)
diehard_generation = [int(board.sum()) for board in life.frames(start, 200)].index(0)

# %%
check(diehard_generation, "diehard_generation")

# %% [markdown]
# ## What this does not show
#
# - A GPU's speed. `conv`, `roll` and the course's op compute where the board is; the op that you wrote computes on the
#   CPU, and moves a GPU's board there and back each generation. Chapter 02 shows what such moves cost.
# - Several machines, or several processes, with a part of the board each.
# - Algorithms that skip what doesn't change. *Hashlife* remembers pieces it has seen and jumps a billion generations
#   on regular patterns; it computes no cell twice, so cells a second doesn't measure it.
# - Speeds are of the machine that made this page. Run the ladder on yours.
#
# ## Key points
#
# 1. A function becomes a PyTorch op by a name, a body and a fake body; `opcheck` says whether they agree.
# 2. A fast version is held to a slow one on boards nobody chose, edges included.
# 3. What a cell *is* (eight bytes, one byte, one bit) and how far it travels decide the speed.
# 4. A finite board always repeats; a fingerprint of each generation finds when.
# 5. Cells a second, on a stated board and machine, make versions comparable.
#
# ## Sources
#
# - M. Gardner, "The fantastic combinations of John Conway's new solitaire game 'life'", *Scientific American* 223
#   (1970).
# - LifeWiki, [file formats](https://conwaylife.com/wiki/File_formats) and [Gosper glider
#   gun](https://conwaylife.com/wiki/Gosper_glider_gun).
# - PyTorch, [custom operators](https://docs.pytorch.org/tutorials/advanced/python_custom_ops.html).
# - P. Norvig, [The Game of Life](https://github.com/norvig/pytudes/blob/main/ipynb/Life.ipynb), for words before
#   code.

# %% [markdown]
# ## Your guesses

# %% tags=["timing"]
challenge = "a rung 7 of your own: beat life.run by any rule of arithmetic, and let the three lines be its judge."
Scorecard(bet_glider, bet_soup, bet_rungs, challenge=challenge)
