"""simgpu stands on torch and the standard library alone: it works where the course and its libraries are not."""

import subprocess
import sys

import pytest

ALONE = '''
import sys

class Blocker:
    """Lets nothing in but torch, what torch itself needs, and the standard library."""

    blocked = {"course", "grader", "labs", "psutil", "numpy", "scipy", "dask", "distributed", "matplotlib", "click"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.blocked:
            raise ModuleNotFoundError(f"No module named {name!r}: blocked", name=name)

sys.meta_path.insert(0, Blocker())
import warnings
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")

import simgpu

assert "torch" not in sys.modules, "importing simgpu loads torch"
assert set(simgpu.__all__) <= set(dir(simgpu))

import io
import pickle
import torch

with simgpu.simulated_gpus(2) as gpus:
    with gpus.clock.timed() as timed:
        layer = torch.nn.Linear(300, 10).to("cuda:1")
        layer(torch.ones(5, 300, device="cuda:1")).sum().backward()
    assert layer.weight.grad.device == torch.device("cuda", 1) and timed.seconds > 0
    assert "gpu:1 compute" in repr(timed.picture("One step"))
    file = io.BytesIO()
    torch.save(pickle.loads(pickle.dumps(layer.state_dict())), file)
    file.seek(0)
    assert torch.load(file, map_location="cpu")["bias"].device.type == "cpu"
    torch.empty(64 * 2**20, dtype=torch.uint8).to("cuda")  # asks the system how much it has left

assert simgpu.active() is None and [s.size for s in [simgpu.stopwatches(64, "T4")]] == [64]

for name in simgpu.__all__:
    getattr(simgpu, name)
loaded = {name.partition(".")[0] for name in sys.modules} & Blocker.blocked
assert not loaded, loaded
'''


@pytest.mark.long
def test_it_works_where_the_course_and_its_libraries_cannot_be_imported():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
