"""An interrupt in the middle of a first import: what was begun is there in whole, and the next try works."""

import subprocess
import sys

import pytest

#: Raises SIGINT when the module `name` begins to be imported.
STRIKE = """
import signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)

class Strike:
    def __init__(self, name):
        self.name, self.struck = name, False

    def find_spec(self, name, path=None, target=None):
        if name == self.name and not self.struck:
            self.struck = True
            signal.raise_signal(signal.SIGINT)
"""

#: Runs each statement, interrupted, and once more.
SCRIPT = """
def run(statement, name):
    strike = Strike(name)
    sys.meta_path.insert(0, strike)
    try:
        exec(statement, {})
        print("not interrupted:", statement)
    except KeyboardInterrupt:
        assert strike.struck
        if name not in sys.modules:
            print("half imported:", name, "by", statement)
    exec(statement, {})

for line in sys.argv[1:]:
    run(*line.split(" @ "))
print("done")
"""

OPTIMISER = "import torch; from course.training import ParameterServer as P; P({'w': torch.ones(1)}, torch.optim.SGD)"


@pytest.mark.long
@pytest.mark.parametrize(
    "lines",
    [
        ["from course import list_devices @ torch.fx", f"{OPTIMISER} @ sympy.core.numbers"],
        ["from course.training import train @ torch.fx", "from course.widgets import PiDarts @ ipywidgets.widgets"],
        [
            "from course.checks.shrink import smallest as s; s(None, None, seconds=0) @ hypothesis.internal",
            "from course import local_cluster @ distributed",
            "from course.cluster.certificates import new_certificate as new; new() @ cryptography.x509",
            "from course import life; life.step(life.empty(4, 4)) @ scipy.signal",
        ],
    ],
)
def test_an_interrupted_import_is_finished_first_and_can_be_tried_again(lines):
    done = subprocess.run([sys.executable, "-c", STRIKE + SCRIPT, *lines], capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stdout + done.stderr


@pytest.mark.parametrize("command, code", [("train", 130), ("task", 0)])
def test_a_role_that_is_interrupted_while_it_imports_ends_without_a_word(command, code, tmp_path):
    hosts = ["--ps-hosts", "127.0.0.1:2301", "--worker-hosts", "127.0.0.1:2302", "--job-name", "worker"]
    # where the imports end and no interrupt came, it says that there is no certificate, and ends with another code
    program = f"{STRIKE}\nsys.meta_path.insert(0, Strike('distributed.client'))\nfrom course.__main__ import main\n"
    run = f"main({[command, *hosts, '--certificate', str(tmp_path / 'none.pem')]!r})"
    done = subprocess.run([sys.executable, "-c", program + run], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
