"""What plausible wrong answers to lab 03 look like, and the slow specifications: the lab's self-test marks them all.

`Edit` changes the solution in `lab.py`; source text stands for the whole answer.
"""

from grader.lab.spec import Edit

CELL_BY_CELL = """
def {name}:
    {before}
    height, width = board.shape
    for _ in range({generations}):
        following = np.zeros((height, width), np.uint8)
        for row in range(height):
            for column in range(width):
                count = -int(board[row, column])
                for down in (-1, 0, 1):
                    for right in (-1, 0, 1):
                        count += int(board[(row + down) % height, (column + right) % width])
                following[row, column] = count in (survive if board[row, column] else birth)
        board = following
    return board
"""
LIFE = "birth, survive = (3,), (2, 3)"

SPECIFICATION = {
    "next_generation": CELL_BY_CELL.format(name="next_generation(board)", before=LIFE, generations=1),
    "film": """
def film(board, generations, step):
    frames = np.zeros((generations + 1, *board.shape), np.uint8)
    for number in range(generations + 1):
        frame = board
        for _ in range(number):
            frame = step(frame)
        frames[number] = frame
    return frames
""",
    "read_rle": """
def read_rle(path):
    import re

    lines = [line.strip() for line in open(path) if not line.startswith("#")]
    width, height = [int(number) for number in re.findall("[0-9]+", lines[0].split("rule")[0])]
    body = "".join(lines[1:]).split("!")[0]
    while re.search("[0-9]", body):
        body = re.sub("([0-9]+)(.)", lambda found: found[2] * int(found[1]), body)
    board = np.zeros((height, width), np.uint8)
    for row, signs in enumerate(body.split("$")):
        for column, sign in enumerate(signs):
            board[row, column] = sign == "o"
    return board
""",
    "run_until_repeat": """
def run_until_repeat(board, limit, step):
    every = [board]
    for generation in range(1, limit + 1):
        every.append(step(every[-1]))
        for start in range(generation):
            if np.array_equal(every[start], every[generation]):
                return start, generation - start
    return limit, 0
""",
    "rule_step": CELL_BY_CELL.format(
        name="rule_step(board, rule)",
        before='birth, survive = ([int(digit) for digit in part[1:]] for part in rule.split("/"))\n'
        "    birth, survive = list(birth), list(survive)",
        generations=1,
    ),
    "fast_step": CELL_BY_CELL.format(name="fast_step(board, generations)", before=LIFE, generations="generations"),
}

WRONG = {
    "next_generation": {
        "born with 2 as well": Edit("& (board == 1)", "& (board >= 0)"),
        "nobody dies": Edit("((counts == 2) & (board == 1))", "(board == 1)"),
        "a cell is its own neighbour": Edit(" if (down, right) != (0, 0)", ""),
        "only four neighbours": Edit("!= (0, 0)", "!= (0, 0) and 0 in (down, right)"),
        "dead beyond the edge": """
def next_generation(board):
    from scipy.signal import convolve2d

    counts = convolve2d(board, [[1, 1, 1], [1, 0, 1], [1, 1, 1]], mode="same")
    return ((counts == 3) | ((counts == 2) & (board == 1))).astype(np.uint8)
""",
        "only one pair of edges meets": """
def next_generation(board):
    padded = np.pad(np.pad(board, ((1, 1), (0, 0)), mode="wrap"), ((0, 0), (1, 1)))
    height, width = board.shape
    counts = sum(padded[d : d + height, r : r + width] for d in range(3) for r in range(3)) - board
    return ((counts == 3) | ((counts == 2) & (board == 1))).astype(np.uint8)
""",
        "the board is changed while it is read": """
def next_generation(board):
    height, width = board.shape
    for row in range(height):
        for column in range(width):
            block = [board[(row + d) % height, (column + r) % width] for d in (-1, 0, 1) for r in (-1, 0, 1)]
            count = sum(map(int, block)) - int(board[row, column])
            board[row, column] = count == 3 or (count == 2 and board[row, column])
    return board
""",
        "survives with 3 only": Edit("(counts == 3) | ((counts == 2) & (board == 1))", "counts == 3"),
    },
    "film": {
        "the board itself is left out": Edit("return np.stack(frames)", "return np.stack(frames[1:])"),
        "one frame too few": Edit("range(generations)", "range(generations - 1)"),
        "the last frame is missing": Edit("return np.stack(frames)", "return np.stack(frames)[:generations]"),
        "only the last frame": Edit("return np.stack(frames)", "return frames[-1]"),
        "always the step of the first": Edit("step(frames[-1])", "step(board)"),
        "life whatever the step": Edit("step(frames[-1])", "next_generation(frames[-1])"),
        "one array, seen many times": """
def film(board, generations, step):
    frames = []
    board = board.copy()
    for _ in range(generations + 1):
        frames.append(board)
        board[:] = step(board)
    return np.stack(frames)
""",
        "backwards": Edit("np.stack(frames)", "np.stack(frames[::-1])"),
    },
    "read_rle": {
        "only counts of one digit": Edit(r'r"(\d*)([bo$!])", "".join', r'r"(\d?)([bo$!])", "".join'),
        "a count before $ is ignored": Edit("row, column = row + count, 0", "row, column = row + 1, 0"),
        "the column goes on in the next row": Edit("row, column = row + count, 0", "row = row + count"),
        "only the first line of cells": Edit('"".join(lines[1:])', "lines[1]"),
        "height and width exchanged": Edit(
            "np.zeros((height, width), np.uint8)", "np.zeros((width, height), np.uint8)"
        ),
        "alive and dead exchanged": Edit('if sign == "o":', 'if sign == "b":'),
        "what follows ! is read too": Edit("            break\n", "            continue\n"),
        "comments are taken for cells": Edit(
            'lines = [line for line in open(path).read().splitlines() if not line.startswith("#")]',
            'lines = open(path).read().splitlines()\n    lines = [line for line in lines if "x =" in line] + lines',
        ),
        "always the gun": """
def read_rle(path):
    from course import life

    return life.pattern("gosper_glider_gun").numpy()
""",
    },
    "run_until_repeat": {
        "compared with the first board only": Edit("        seen[state] = generation\n", ""),
        "compared with the one before only": Edit("seen[state] = generation\n", "seen = {state: generation}\n"),
        "the generation instead of the period": Edit("generation - seen[state]", "generation"),
        "one generation too early": Edit("range(1, limit + 1)", "range(1, limit)"),
        "counts from one": Edit("{board.tobytes(): 0}", "{board.tobytes(): 1}"),
        "as many living cells is taken for the same board": """
def run_until_repeat(board, limit, step):
    seen = {int(board.sum()): 0}
    for generation in range(1, limit + 1):
        board = step(board)
        if int(board.sum()) in seen:
            return seen[int(board.sum())], generation - seen[int(board.sum())]
        seen[int(board.sum())] = generation
    return limit, 0
""",
        "stops only when nothing lives": """
def run_until_repeat(board, limit, step):
    for generation in range(limit + 1):
        if not board.any():
            return generation, 1
        board = step(board)
    return limit, 0
""",
        "period and start exchanged": Edit(
            "return seen[state], generation - seen[state]", "return generation - seen[state], seen[state]"
        ),
    },
    "rule_step": {
        "the rule is ignored": Edit("rule.split", '"B3/S23".split'),
        "HighLife only": Edit("rule.split", '"B36/S23".split'),
        "birth and survival exchanged": Edit("birth, survive = (", "survive, birth = ("),
        "a cell is its own neighbour": Edit(" if (down, right) != (0, 0)", ""),
        "survivors need only be alive": Edit("np.isin(counts, survive), ", "True, "),
        "born cells too ask S": Edit("np.isin(counts, birth))", "np.isin(counts, survive + birth))"),
        "the digits are one number": Edit("[int(digit) for digit in part[1:]]", "[int(part[1:] or -1)]"),
        "nothing is born of nothing": Edit("np.isin(counts, birth))", "np.isin(counts, birth) & (counts > 0))"),
    },
    "fast_step": {
        "as slow as the reference": Edit(
            "    height, width = board.shape\n",
            "    return eight_rolls(board, generations)\n    height, width = board.shape\n",
            gets=0.5,
        ),
        "one generation only": Edit("range(generations)", "range(1)"),
        "the border is made once": """
def fast_step(board, generations):
    padded = np.pad(board, 1, mode="wrap")
    inner = padded[1:-1, 1:-1]
    for _ in range(generations):
        rows = padded[:-2] + padded[1:-1] + padded[2:]
        nine = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
        inner[:] = (nine == 3) | ((nine == 4) & (inner == 1))
    return inner.copy()
""",
        "rows beyond the edge are dead": Edit("        padded[0], padded[-1] = padded[-2], padded[1]\n", ""),
        "nine are counted as eight": Edit(
            "(nine == 3) | ((nine == 4) & (inner == 1))", "(nine == 3) | ((nine == 2) & (inner == 1))"
        ),
        "the board comes back unchanged": Edit("    return inner.copy()", "    return board"),
    },
}
