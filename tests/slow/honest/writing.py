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


@honest("the solution as it is")
def as_it_is(notebook):
    pass


@honest("the solution with its race", races=True, slow=True)
def with_its_race(notebook):
    pass


@honest("warnings on stderr in every call")
def warnings_everywhere(notebook):
    notebook.add("import sys, warnings\nwarnings.warn('old')\nprint('careful', file=sys.stderr)")
    text = notebook.cell("film")["source"].replace("return", "import warnings; warnings.warn('slow')\n    return")
    notebook.cell("film")["source"] = text
    notebook.at_end("np.array([1.0]) / np.array([0.0])")


@honest("warnings as errors elsewhere, and a logger")
def loggers(notebook):
    notebook.add("import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.error('a log line')")


@honest("prints in every answer")
def prints(notebook):
    for exercise in notebook.lab.exercises:
        text = notebook.cell(exercise.name)["source"]
        head = next(line for line in text.splitlines() if line.startswith("def "))
        notebook.cell(exercise.name)["source"] = text.replace(head, f"{head}\n    print('in', 'an answer: ü ∑ 🐢')")


@honest("plots", slow=True)
def plots(notebook):
    notebook.add("%matplotlib inline\nimport matplotlib.pyplot as plt")
    notebook.at_end(
        "plt.imshow(film(np.eye(9, dtype=np.uint8), 3, next_generation)[-1])\nplt.title('a board')\nplt.show()"
    )


@honest("progress bars")
def progress_bars(notebook):
    text = notebook.cell("film")["source"].replace("in range(generations)", "in tqdm(range(generations))")
    notebook.cell("film")["source"] = "# exercise: film\nfrom tqdm.auto import tqdm\n" + text.split("\n", 1)[1]


@honest("pictures and bars by packages that aren't installed")
def missing_pictures(notebook):
    notebook.add("import seaborn as sns, plotly.express as px\nfrom rich.progress import track\nsns.set_theme()")
    notebook.at_end(
        "for k in track(range(3)):\n    fig = px.imshow(next_generation(np.eye(4, dtype=np.uint8)))\nfig.show()"
    )


@honest("rich displays")
def displays(notebook):
    notebook.at_end(
        "from IPython.display import HTML, Markdown, display\ndisplay(HTML('<b>done</b>'))\nMarkdown('# done')"
    )


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
    text = notebook.cell("rule_step")["source"].replace(
        "def rule_step(board, rule):",
        "def rule_step(board: np.ndarray, rule: str = 'B3/S23', *, debug=False) -> np.ndarray:",
    )
    notebook.cell("rule_step")["source"] = text.replace(
        "def rule", "import functools\n@functools.lru_cache(None)\ndef rule", 1
    )
    notebook.cell("rule_step")["source"] = notebook.cell("rule_step")["source"].replace(
        "@functools.lru_cache(None)\n",
        "def quiet(f):\n    return functools.wraps(f)(lambda *a, **k: f(*a, **k))\n\n@quiet\n",
    )


@honest("other integers where the cells survive")
def other_integers(notebook):
    text = notebook.cell("next_generation")["source"]
    notebook.cell("next_generation")["source"] = text.replace("np.uint8", "np.int64")
    notebook.cell("read_rle")["source"] = notebook.cell("read_rle")["source"].replace(", np.uint8)", ", dtype=int)")


@honest("booleans and floats for cells")
def booleans(notebook):
    text = notebook.cell("next_generation")["source"]
    notebook.cell("next_generation")["source"] = text.replace(".astype(np.uint8)", "")
    text = notebook.cell("rule_step")["source"]
    notebook.cell("rule_step")["source"] = text.replace(".astype(np.uint8)", ".astype(float)")


@honest("slow but right: loops, and lists for arrays")
def loops(notebook):
    notebook.answer("next_generation", GUESSED)


@honest("numbers of numpy in a list for a pair of whole numbers")
def numpy_numbers(notebook):
    text = notebook.cell("run_until_repeat")["source"]
    text = text.replace(
        "return seen[state], generation - seen[state]", "return np.array([seen[state], generation - seen[state]])"
    )
    notebook.cell("run_until_repeat")["source"] = text.replace("return limit, 0", "return [np.int32(limit), 0.0]")


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
    text = notebook.cell("next_generation")["source"]
    notebook.cell("next_generation")["source"] = text.replace(
        "def next_generation(board):", "def next_generation(board):\n    board += 0"
    )
    text = notebook.cell("rule_step")["source"]
    notebook.cell("rule_step")["source"] = text.replace(".astype(np.uint8)", ".astype(np.uint8).T.copy().T")


@honest("random numbers, clocks and files of their own")
def own_files(notebook):
    notebook.at_end(
        "import json, os, pathlib, random, tempfile, time\nrandom.seed(1); np.random.seed(2)\n"
        "open('notes.txt', 'w').write('x')\n"
        "pathlib.Path('out').mkdir(exist_ok=True)\nnp.save('out/board.npy', np.eye(3))\ntime.sleep(0.01)\n"
        "tempfile.NamedTemporaryFile(); json.dump([1], open('a.json', 'w')); print(os.getcwd(), os.environ.get('HOME'))"
    )


@honest("a working directory of their own")
def moved_away(notebook):
    notebook.add("import os\n%cd /content/drive/MyDrive\nos.chdir('/')\n%cd ..")


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


@honest("a cell of notes that fails")
def failing_cells(notebook):
    notebook.add("this is not python", before=notebook.place("film"))
    notebook.add("1 / 0", before=notebook.place("read_rle"))
    notebook.at_end("assert film is None, 'a test of mine'")


@honest("shell lines, magics and help")
def magics(notebook):
    notebook.add("%load_ext autoreload\n%autoreload 2\n!ls\nnp.roll?\n%precision 3")
    notebook.at_end("%%time\nx = next_generation(np.eye(5, dtype=np.uint8))")
    notebook.at_end("%timeit -n 1 -r 1 next_generation(np.eye(5, dtype=np.uint8))")
    notebook.at_end("!pip install numpy\n%pip list")


@honest("a shape that is asked by hand and a question answered by input")
def asks_the_keyboard(notebook):
    notebook.at_end("try:\n    input('name? ')\nexcept Exception as problem:\n    print(problem)")


@honest("an early exit at the end")
def early_exit(notebook):
    notebook.at_end("import sys\nsys.exit()")
    notebook.at_end("raise KeyboardInterrupt")


@honest("work that is half done", gets={"film": 0.0, "fast_step": 0.0, "rule_step": 0.0})
def half_done(notebook):
    """Three answers are missing, as a syntax error, as a stub, as a cell that was deleted; three are right."""
    notebook.answer("film", "def film(board, generations, step:\n    return").answer("fast_step", "fast_step = ...")
    notebook.drop(lambda cell: cell.get("id") == "rule_step")


@honest("a slow specification handed in as a fast step", gets={"fast_step": 2.0}, races=True, slow=True)
def not_fast(notebook):
    notebook.answer("fast_step", "def fast_step(board, generations):\n    return eight_rolls(board, generations)")
