"""Right answers by people who have never seen how marks are made: what their cells do beside the answers."""

from tests.helpers.submissions import Submission, honest

#: name -> a cell above everything
ABOVE = {
    "a drive of Colab's mounted": "from google.colab import drive\ndrive.mount('/content/drive')",
    "warnings that are errors": "import warnings\nwarnings.simplefilter('error')",
    "a standard output that is closed": "import sys\nsys.stdout.close()",
    "numpy set to its strictest": "import numpy as np, sys, gc\nnp.seterr(all='raise')\ngc.disable()",
    "a temporary folder to work in": "import os, tempfile\nos.chdir(tempfile.mkdtemp())",
    "a package with a way round it": "try:\n    from numba import njit\nexcept ImportError:\n    njit = lambda f: f",
    "a logger": "import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.error('a log line')",
    "pictures and bars by packages that aren't installed": (
        "import seaborn as sns, plotly.express as px\nfrom rich.progress import track\nsns.set_theme()\n"
        "for k in track(range(3)):\n    fig = px.imshow([[k]])\nfig.show()"
    ),
    "a working directory of their own": "import os\n%cd /content/drive/MyDrive\nos.chdir('/')\n%cd ..",
    "shell lines, magics and help": "%load_ext autoreload\n%autoreload 2\n!ls\n!pip install numpy\n%pip list\nid?",
}

#: name -> a cell below everything
BELOW = {
    "a film for the browser": "import matplotlib.pyplot as plt\nfrom matplotlib import animation\n"
    "fig, ax = plt.subplots()\n"
    "made = animation.FuncAnimation(fig, lambda i: ax.imshow(np.eye(3)), frames=3)\nmade.to_jshtml()",
    "a pool of processes by fork": "import multiprocessing as mp\nwith mp.get_context('fork').Pool(2) as pool:\n"
    "    print(pool.map(abs, [-1, 2]))",
    "a pool of processes": "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as pool:\n"
    "    print(list(pool.map(abs, [-1, 2])))",
    "random numbers, clocks and files of their own": (
        "import json, os, pathlib, random, tempfile, time\nrandom.seed(1); np.random.seed(2)\n"
        "open('notes.txt', 'w').write('x')\n"
        "pathlib.Path('out').mkdir(exist_ok=True)\nnp.save('out/board.npy', np.eye(3))\ntime.sleep(0.01)\n"
        "tempfile.NamedTemporaryFile(); json.dump([1], open('a.json', 'w')); print(os.getcwd(), os.environ.get('HOME'))"
    ),
    "a cell that is timed": "%timeit -n 1 -r 1 next_generation(np.eye(5, dtype=np.uint8))\n%precision 3",
    "names deleted": "del check, np_, SIZE",
    "objects that are slow to go": "import atexit, time\natexit.register(time.sleep, 3600)\nclass Slow:\n"
    "    def __del__(self): time.sleep(3600)\nslow = Slow()",
}


def _above(name, text):
    return honest(name)(lambda notebook: notebook.add(text) and None)


def _below(name, text):
    return Submission(name, lambda n, host: n.solve().at_end(text) and None, else_gets="full", slow=name in SLOW)


SLOW = ("a film for the browser",)
WITH_MORE = [*(_above(*one) for one in ABOVE.items()), *(_below(*one) for one in BELOW.items())]


@honest("arguments with values of their own")
def defaults(notebook):
    notebook.change("film", ("step):", "step=next_generation, *more):"))


@honest("a pattern read by pathlib, given back as lists of booleans")
def lists_of_booleans(notebook):
    notebook.change(
        "read_rle",
        ("open(path).read()", "Path(path).read_text()"),
        ("return board", "return board.astype(bool).tolist()"),
        ("import re", "import re\n    from pathlib import Path"),
    )
