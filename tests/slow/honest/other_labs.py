"""The other labs' solutions, as they are and as Colab saves them."""

from tests.helpers.submissions import Submission
from tests.slow.honest import saving

NAMES = [
    *("lab01_devices", "lab02_matmul", "lab04_mapreduce_mean", "lab05_distributed_pi"),
    *("lab06_async_regression", "lab07_replicas"),
]


def _solved(name):
    def build(notebook, host):
        notebook.solve()

    return Submission(f"the solution of {name}", build, lab=name, else_gets="full", slow=True)


def _from_colab(name):
    return Submission(f"{name}, saved from Colab", saving.from_colab.build, lab=name, else_gets="full", slow=True)


SOLVED = [_solved(name) for name in NAMES]
SAVED = [_from_colab(name) for name in NAMES]
