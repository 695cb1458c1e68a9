"""Right answers as people write them: prints, plots, warnings, helpers, another style or dtype, slow but right."""

from tests.helpers.submissions import honest

GUESSED = """\
def next_generation(board):
    result = board.tolist()
    for y in range(len(result)):
        for x in range(len(result[0])):
            n = 0
            for dy in [-1, 0, 1]:
                for dx in [-1, 0, 1]:
                    if dy != 0 or dx != 0:
                        n += board[(y + dy) % board.shape[0], (x + dx) % board.shape[1]]
            result[y][x] = 1 if n == 3 or (n == 2 and board[y, x] == 1) else 0
    return result"""


@honest("the solution with its race", races=True, slow=True)
def with_its_race(notebook):
    pass


@honest("prints in every answer")
def prints(notebook):
    for exercise in notebook.lab.exercises:
        text = notebook.cell(exercise.name)["source"]
        head = next(line for line in text.splitlines() if line.startswith("def "))
        notebook.change(exercise.name, (head, f"{head}\n    print('in', 'an answer: ü ∑ 🐢')"))


@honest("plots", slow=True)
def plots(notebook):
    notebook.add("%matplotlib inline\nimport matplotlib.pyplot as plt")
    notebook.at_end(
        "plt.imshow(film(np.eye(9, dtype=np.uint8), 3, next_generation)[-1])\nplt.title('a board')\nplt.show()"
    )


@honest("progress bars")
def progress_bars(notebook):
    notebook.change("film", ("in range(generations)", "in tqdm(range(generations))"))
    notebook.change("film", ("def film", "from tqdm.auto import tqdm\ndef film"))


@honest("helpers in a cell of their own")
def helper_cells(notebook):
    notebook.answer(
        "next_generation",
        "def next_generation(board):\n    n = counted(board)\n"
        "    return ((n == 3) | ((n == 2) & (board > 0))).astype(np.uint8)",
    )
    notebook.add(
        "from scipy.signal import convolve2d\nKERNEL = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])\n\n"
        "def counted(board):\n    return convolve2d(board, KERNEL, mode='same', boundary='wrap')",
        before=notebook.place("next_generation"),
    )


@honest("helpers below the answer that uses them")
def helpers_below(notebook):
    notebook.answer("film", "def film(board, generations, step):\n    return stacked(board, generations, step)")
    text = notebook.lab.source.cell("film").solution.split("\n", 1)[1].replace("def film", "def stacked")
    notebook.at_end(text)


@honest("a class in place of a function")
def callable_class(notebook):
    body = notebook.lab.source.cell("film").solution.split("\n", 1)[1].replace("def film(", "def __call__(self, ")
    lines = "\n".join("    " + line for line in body.splitlines())
    notebook.answer("film", f"class Film:\n{lines}\n\nfilm = Film()")


@honest("a lambda, and a function that is made by another")
def lambdas(notebook):
    notebook.answer(
        "film",
        "from itertools import accumulate\nfilm = lambda board, generations, step: np.array("
        "list(accumulate(range(generations), lambda b, _: step(b), initial=board)))",
    )


@honest("decorators and annotations")
def decorated(notebook):
    annotated = "def rule_step(board: np.ndarray, rule: str = 'B3/S23', *, debug=False) -> np.ndarray:"
    decorator = "import functools\ndef quiet(f):\n    return functools.wraps(f)(lambda *a, **k: f(*a, **k))\n\n@quiet\n"
    notebook.change("rule_step", ("def rule_step(board, rule):", decorator + annotated))


@honest("integers, booleans and floats for cells")
def other_cells(notebook):
    notebook.change("next_generation", ("np.uint8", "np.int64"))
    notebook.change("read_rle", (", np.uint8)", ", dtype=bool)"))
    notebook.change("rule_step", (".astype(np.uint8)", ".astype(float)"))


@honest("slow but right: loops, and lists for arrays")
def loops(notebook):
    notebook.answer("next_generation", GUESSED)


@honest("numbers of numpy in a list for a pair of whole numbers")
def numpy_numbers(notebook):
    pair = "seen[state], generation - seen[state]"
    notebook.change(
        "run_until_repeat",
        (f"return {pair}", f"return np.array([{pair}])"),
        ("return limit, 0", "return [np.int32(limit), 0.0]"),
    )


@honest("tensors of torch for arrays", slow=True)
def tensors(notebook):
    notebook.answer(
        "next_generation",
        "import torch\n\ndef next_generation(board):\n    b = torch.from_numpy(board).int()\n"
        "    n = sum(torch.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - b\n"
        "    return ((n == 3) | ((n == 2) & (b == 1))).to(torch.uint8)",
    )


@honest("views that aren't in one piece, and boards changed in place")
def views(notebook):
    head = "def next_generation(board):"
    notebook.change("next_generation", (head, f"{head}\n    board += 0"))
    notebook.change("rule_step", (".astype(np.uint8)", ".astype(np.uint8).T.copy().T"))


@honest("threads, processes and async")
def concurrent(notebook):
    notebook.answer(
        "film",
        "import asyncio, threading\nfrom concurrent.futures import ThreadPoolExecutor\n\n"
        "def film(board, generations, step):\n    frames = [board]\n    with ThreadPoolExecutor(2) as pool:\n"
        "        for _ in range(generations):\n            frames.append(pool.submit(step, frames[-1]).result())\n"
        "    return np.stack(frames)",
    )
    notebook.at_end(
        "import subprocess\nsubprocess.run(['true'])\nawait asyncio.sleep(0)\nthreading.Thread(target=print).start()"
    )


@honest("work that is half done", gets={"film": 0.0, "fast_step": 0.0, "rule_step": 0.0})
def half_done(notebook):
    """Three answers are missing, as a syntax error, as a stub, as a cell that was deleted; three are right."""
    notebook.answer("film", "def film(board, generations, step:\n    return").answer("fast_step", "fast_step = ...")
    notebook.drop(lambda cell: cell.get("id") == "rule_step")


@honest("a slow specification handed in as a fast step", gets={"fast_step": 2.0}, races=True, slow=True)
def not_fast(notebook):
    notebook.answer("fast_step", "def fast_step(board, generations):\n    return eight_rolls(board, generations)")
