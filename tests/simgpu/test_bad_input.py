"""What makes no sense is refused in plain words, and torch is afterwards as it was."""

import threading

import pytest
import torch
from torch.fx.experimental import proxy_tensor

import simgpu.session
from simgpu import active, model_for, simulated_gpus
from simgpu.__main__ import main
from simgpu.ops.dispatch import run_op
from simgpu.simulated_tensor import SimulatedTensor


def state():
    """Return what a simulation replaces of torch, and what it answers otherwise."""
    return [
        torch.cuda.is_available(), torch.cuda.device_count(), active(), torch.get_default_device(), torch.device,
        torch.Tensor.to, torch.Tensor.cuda, torch.tensor, torch.zeros, torch.cuda.Stream, torch.cuda.set_stream,
        torch.autograd.Function.__dict__["apply"], proxy_tensor.HANDLED_TYPES, torch.cuda.FloatTensor,
        torch.__future__.get_swap_module_params_on_conversion(), hasattr(torch._C, "_cuda_getDeviceCount"),
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def all_is_as_it_was():
    before = state()
    yield
    open_still = active()
    if open_still is not None:  # a test has failed: the next one begins anew
        open_still.close()
    assert open_still is None and state() == before
    with pytest.raises((AssertionError, NotImplementedError, RuntimeError)):
        torch.zeros(1, device="cuda")


@pytest.mark.parametrize("count", [129, 0, -1, 1.5, True, "2", None, 10**30, float("nan")])
def test_a_count_that_makes_no_sense(count):
    with pytest.raises(ValueError, match="give a whole number from 1 to 128, as in simulated_gpus"):
        simulated_gpus(count)


@pytest.mark.parametrize(
    "name, near", [("H20", "H200"), ("a10", "A100"), ("RTX 4080", "RTX4090"), ("L40", "L4"), ("T40", "T4")]
)
def test_an_unknown_model_is_told_the_nearest(name, near):
    with pytest.raises(ValueError, match=rf"no data sheet by that name. Did you mean '{near}'\? Use A100, B200"):
        simulated_gpus(1, model=name)
    with pytest.raises(ValueError, match="by that name. Use A100"):  # nothing is near
        model_for("abacus")


@pytest.mark.parametrize("model", [5, None, True, 1.5, ["H200"]])
def test_a_model_of_no_kind(model):
    with pytest.raises(
        TypeError, match="a name such as 'H200', a card's path, a data sheet's mapping or a DeviceModel"
    ):
        simulated_gpus(1, model=model)


def test_a_data_sheet_that_lacks_figures():
    with pytest.raises(ValueError, match="a data sheet needs hardware, peak, memory, .*assumed, too, as the files in"):
        simulated_gpus(1, model={"name": "mine"})


def test_entered_twice_it_ends_with_the_outer_block():
    with simulated_gpus(1) as gpus:
        with gpus as same:
            assert same is gpus
        assert torch.ones(1, device="cuda").is_cuda and not gpus.closed
    assert gpus.closed
    with pytest.raises(RuntimeError, match=r"is closed and doesn't start again: simulated_gpus\(1\) starts others"):
        gpus.__enter__()


def test_another_inside_is_refused_and_the_first_goes_on():
    with simulated_gpus(1, model="T4") as gpus:
        x = torch.ones(2, device="cuda")
        with pytest.raises(RuntimeError, match=r"simulated_gpus\(1, model='T4'\) is active already. Close it first"):
            simulated_gpus(2)
        assert active() is gpus and (x + 1).tolist() == [2, 2]


def test_left_in_another_thread():
    gpus = simulated_gpus(2)
    x = torch.ones(2, device="cuda:1")
    thread = threading.Thread(target=gpus.close)
    thread.start()
    thread.join(60)
    with pytest.raises(RuntimeError, match="which was closed"):
        x + 1


def test_left_while_streams_are_busy():
    gpus = simulated_gpus(1)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        product = torch.ones(2000, 2000, device="cuda") @ torch.ones(2000, 2000, device="cuda")
        event = side.record_event()
    assert not side.query()
    gpus.close()
    assert "cuda:0" in repr(side) and "ms" in repr(event)
    with pytest.raises(RuntimeError, match="which was closed"):
        product.sum()


def test_left_inside_the_block_of_a_stream_or_a_device():
    gpus = simulated_gpus(2)
    with pytest.raises(RuntimeError, match="its simulated GPUs are closed. Close them after the block of the stream"):
        with torch.cuda.stream(torch.cuda.Stream()):
            gpus.close()
    assert gpus.closed


def test_left_with_a_default_device_of_its_own():
    with simulated_gpus(1):
        torch.set_default_device("cuda")
        assert torch.zeros(1).is_cuda
    assert torch.zeros(1).device.type == "cpu"


def test_left_while_other_threads_compute():
    gpus, errors, going = simulated_gpus(1), [], threading.Barrier(4)

    def work():
        x = torch.full((20, 20), 0.1, device="cuda")
        going.wait(60)
        try:
            while True:
                x = (x @ x).tanh() + x.cpu().to("cuda")
        except Exception as error:  # it ends by the closing alone
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    going.wait(60)
    gpus.close()
    for thread in threads:
        thread.join(60)
    assert len(errors) == 3 and all(isinstance(error, (RuntimeError, AssertionError)) for error in errors), errors
    assert torch.ones(2).add(1).tolist() == [2, 2]


def test_a_real_gpu_is_hidden_meanwhile_and_there_again(monkeypatch):
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", lambda: 1, raising=False)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    with simulated_gpus(3):
        assert torch.cuda.device_count() == 3 and "simulated" in torch.cuda.get_device_name(0)
        assert "simulated" in repr(torch.ones(1, device="cuda:2"))
    assert torch.cuda.is_available() and torch._C._cuda_getDeviceCount() == 1
    monkeypatch.undo()


def test_a_tensor_of_a_real_gpu_beside_simulated_ones():
    class Real(torch.Tensor):  # stands in for one: this computer has none
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return run_op(SimulatedTensor, func, (SimulatedTensor,), args, kwargs)  # a real one has no say

    real = torch.Tensor._make_wrapper_subclass(Real, (2,), device="cuda:0")
    with simulated_gpus(1):
        with pytest.raises(RuntimeError, match="A tensor on the real cuda:0 can't be used with simulated ones"):
            torch.ones(2, device="cuda") + real


def test_a_torch_that_is_too_old(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.9.1+cpu")
    with pytest.raises(
        RuntimeError, match="This is torch 2.9.1.cpu, and simulated GPUs need 2.11 to 2.15: python -m pip"
    ):
        simulated_gpus(1)


def test_a_torch_that_is_too_new_is_tried_and_named_where_it_fails(monkeypatch, capsys):
    def fails():
        raise AttributeError("module 'torch' has no attribute 'gone'")

    monkeypatch.setattr(torch, "__version__", "2.99.0")
    with simulated_gpus(1):
        assert torch.ones(1, device="cuda").is_cuda
    monkeypatch.setattr(simgpu.session, "kernels", fails)
    with pytest.raises(RuntimeError, match=r"torch 2.99.0, newer than 2.11 to 2.15, .*'gone'.* or 'torch<2.16'"):
        simulated_gpus(1)
    monkeypatch.setattr(torch, "__version__", "2.13.0")
    with pytest.raises(AttributeError, match="gone"):  # it is a mistake of ours
        simulated_gpus(1)
    monkeypatch.setattr(simgpu.versions, "version", lambda name: "2.99.0")
    assert main(["doctor"]) == 0 and "PyTorch 2.99.0, NOT tried: 2.11 to 2.15 are" in capsys.readouterr().out
