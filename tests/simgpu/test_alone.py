"""simgpu stands on torch and the standard library alone: it works where the course and its libraries are not."""

import subprocess
import sys

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
    assert torch.cuda.device_count() == 2 and "H200" in torch.cuda.get_device_name(0)
    with gpus.clock.timed() as timed:
        layer = torch.nn.Linear(300, 10).to("cuda:1")
        layer(torch.ones(5, 300, device="cuda:1")).sum().backward()
    assert layer.weight.grad.device == torch.device("cuda", 1) and timed.seconds > 0
    assert "modelled: NVIDIA H200 SXM data sheet, not measured" in repr(timed)
    picture = timed.picture("One step")
    assert "gpu:1 compute" in repr(picture) and "not measured" in repr(picture)
    try:
        torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")
    except RuntimeError as error:
        assert "Expected all tensors to be on the same device" in str(error)
    assert pickle.loads(pickle.dumps(torch.arange(3, device="cuda:0"))).tolist() == [0, 1, 2]
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    assert torch.load(file, map_location="cpu")["bias"].device.type == "cpu"
    assert simgpu.active() is gpus
    torch.empty(64 * 2**20, dtype=torch.uint8).to("cuda")  # asks the system how much it has left

try:
    simgpu.simulated_gpus(1, "H999")
except ValueError as error:
    assert "L4, RTX4090, T4" in str(error)
assert simgpu.active() is None and [s.size for s in [simgpu.stopwatches(64, "T4")]] == [64]

for name in simgpu.__all__:
    getattr(simgpu, name)
loaded = {name.partition(".")[0] for name in sys.modules} & Blocker.blocked
assert not loaded, loaded
'''


def test_it_works_where_the_course_and_its_libraries_cannot_be_imported():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
