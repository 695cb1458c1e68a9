# %% [markdown]
# # Your own op: the Game of Life
#
# **How many cells a second is a three-line rule, and how many could it be?**
#
# | | |
# |---|---|
# | You will | write a rule in three lines and check it; register it as a PyTorch op; read patterns from files; find a repeated state; climb from three lines to 64 cells a word |
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
# **Predict:** on a board of 8 × 8 whose edges meet, after how many generations is the glider back where it began?

# %%
prediction = None  # your number of generations

# %% [markdown]
# Step until the board is the first one again, counting:

# %% tags=["nbval-check-output"]
glider = life.put(life.empty(8, 8), life.pattern("glider"))
cells, generations = glider.numpy(), 0
while generations == 0 or (cells != glider.numpy()).any():
    cells, generations = next_generation(cells), generations + 1
print("back after", generations, "generations")

# %% [markdown]
# And your number?

# %%
if prediction is not None:
    print("You said", prediction, "-", "right." if prediction == generations else f"it was {generations}.")

# %% [markdown]
# Eight cells to go, four generations a cell. If a single neighbour were missing from the window, or the edges did not
# meet, this loop would not end at that number, or would not end at all.
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
print("one down, one right:", torch.equal(moved, glider.roll((1, 1), dims=(0, 1))))

# %% [markdown]
# `course.life` has the same op, with any rule and with edges that meet or don't: `torch.ops.course.life_step`, and
# `life.step` that calls it. And where does it run? Yours on the CPU, wherever the board lives: SciPy knows no GPU. Its
# body says so in plain sight, by `numpy(force=True)` and `.to(board.device)`: two moves of the whole board, each
# generation. The course's op has a second body, in torch's own ops, that PyTorch takes for a board on a GPU.

# %% tags=["nbval-check-output"]
print(torch.ops.course.life_step.default._schema)
print("same cells:", torch.equal(life.step(glider), torch.ops.chapter03.next_generation(glider)))

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
draw.animate(board, 120)

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
# **Predict:** 1,024 cells, filled at random. Does this board repeat within 10,000 generations, and what will be left?

# %% tags=["nbval-check-output"]
soup = life.random_board(32, 32, density=0.35, generator=torch.Generator().manual_seed(12))
cycle = life.find_cycle(soup, limit=10_000)
print(cycle)

# %% [markdown]
# From generation `start` on, the same `period` boards follow each other for ever. Don't take the fingerprint's word for
# it: run to both generations and compare the boards.

# %% tags=["nbval-check-output"]
first = life.run(soup, cycle.start)
again = life.run(soup, cycle.start + cycle.period)
print("same board:", torch.equal(first, again))
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
# Draw cells with the mouse, or with the arrow keys and Enter; Space steps, P plays. Every generation is computed in
# Python by `life.run`; the page only draws.

# %%
from course.widgets import LifePlayer

player = LifePlayer(pattern="r_pentomino", height=32, width=48)
player

# %% [markdown]
# Everything that the mouse does, Python does too. Five cells, a hundred generations:

# %% tags=["nbval-check-output"]
player.step(100)
print(player)

# %% [markdown]
# ## The ladder
#
# Now the question of this chapter. One generation of 1,024 × 1,024 cells is about a million cells decided. Four
# versions of the same rule, each held to the same cells as the slow one:
#
# - **scipy**: your three lines, as an op;
# - **conv**: `torch.nn.functional.conv2d`, in `float32`;
# - **roll**: eight shifted boards added up, one byte a cell;
# - **packed**: one *bit* a cell, 64 cells in each 64-bit word.
#
# **Predict:** how many times as many cells a second as the first does the last decide?

# %%
prediction = None  # your factor

# %% [markdown]
# How can one instruction decide 64 cells? By adding in parallel, as a circuit does. `^` (exclusive or) gives the ones
# digit of a sum of bits, `&` (and) the carry. Below are two rows of eight cells, each row in one number. Every column
# is added, all at once:

# %% tags=["nbval-check-output"]
above, below = 0b01101001, 0b01011000
ones, twos = above ^ below, above & below
for name, word in [("above", above), ("below", below), ("twos", twos), ("ones", ones)]:
    print(f"{name:6}{word:08b}")

# %% [markdown]
# Read the last two lines column by column: `00`, `10`, `01`, `01`, `10` … are the sums 0, 2, 1, 1, 2 …. Three such
# adders count all eight neighbours, and a few more operations apply the rule: 20 in all, for 64 cells. First: is it
# the same rule?

# %% tags=["nbval-check-output"]
soup = life.random_board(192, 100, density=0.35, generator=torch.Generator().manual_seed(5))
for engine in life.ENGINES:
    print(f"{engine:7} {int(life.run(soup, 50, engine=engine).sum()):5} living cells after 50 generations")

# %% [markdown]
# All four agree, so only the time is left to differ. `measure` is chapter 02's stopwatch: warmed up, repeated, the
# median.

# %% tags=["timing"]
from course import measure

side = 1024
board = life.random_board(side, side, density=0.35, generator=torch.Generator().manual_seed(1))
corner = board[:64, :64].contiguous()
speeds = {"one by one": corner.numel() / measure(life.reference_step, corner).median}
# the faster the engine, the more generations in one go, so that each is timed over milliseconds
for engine, generations in {"scipy": 1, "conv": 1, "roll": 8, "packed": 64}.items():
    speeds[engine] = board.numel() * generations / measure(life.run, board, generations, engine, seconds=0.1).median
for name, speed in speeds.items():
    print(f"{name:11} {speed / 1e6:10,.1f} million cells a second")

# %% [markdown]
# Numbers this far apart need a scale on which equal steps are equal factors. Beside each bar: how many times the three
# lines.

# %% tags=["timing"]
factor = speeds["packed"] / speeds["scipy"]
with draw.figure() as (fig, ax):
    bars = ax.barh(list(speeds), list(speeds.values()), color=draw.ROLES["cpu"].colour)
    ax.bar_label(bars, [f"{speed / speeds['scipy']:.3g} ×" for speed in speeds.values()], padding=4)
    ax.set(xscale="log", xlabel="cells a second (each line is ten times the one before)")
    ax.set_xlim(right=4 * max(speeds.values()))
    ax.grid(axis="x")
    ax.invert_yaxis()
    where = f"{side} × {side} cells, {torch.get_num_threads()} CPU threads"
    ax.set_title(f"A bit a cell decides {factor:.0f} times as many as three lines\n({where})")
draw.picture(fig, f"Cells a second by engine on a log scale: packed is {factor:.0f} times scipy.")

# %% [markdown]
# And your factor?

# %%
if prediction is not None:
    print(f"You said {prediction} times; this machine says {factor:.0f}.")

# %% [markdown]
# The first step up, from counting one by one to three lines, is a factor of some tens: the loop moved from Python to
# C. The last is a hundred or two, on the same cores: the same arithmetic on 64 cells at once, and an eighth of the
# bytes to move. Between them lie choices of what a cell is: `conv` makes it four bytes of floating point for a sum
# that never exceeds 8.
#
# Where is the end? `packed` asks memory for its intermediate sums twenty times a generation. A program in C that
# keeps them in registers, and computes many generations on a piece of the board before it touches the next, decides
# some 25 times as many again at this size on two cores (121 billion cells a second where `packed` reached 4.8,
# measured side by side). Those rungs come later in the course; they need a compiler.
#
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
# - The rungs above `packed`: compiled kernels that keep their sums in registers, and several processes with a part of
#   the board each.
# - Algorithms that skip what doesn't change. *Hashlife* remembers pieces it has seen and jumps a billion generations
#   on regular patterns; it computes no cell twice, so cells a second doesn't measure it.
# - Speeds are of the machine that made this page. Run the ladder on yours.
#
# ## Key points
#
# 1. A function becomes a PyTorch op by a name, a body and a fake body; `opcheck` says whether they agree.
# 2. A fast version is held to a slow one on boards nobody chose, edges included.
# 3. What a cell *is* (four bytes, one byte, one bit) decides the speed more than the code does.
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
