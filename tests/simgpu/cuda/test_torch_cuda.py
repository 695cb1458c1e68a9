"""torch.cuda while GPUs are simulated: what programs ask it, what it refuses, and that all of it is put back."""

import threading

import pytest
import torch
from torch.cuda import device_count as device_count_imported_before
from torch.cuda import is_available as is_available_imported_before
from torch.utils.data import DataLoader, TensorDataset

from simgpu import simulated_gpus

real = torch.cuda.is_available()


@pytest.fixture
def gpus():
    with simulated_gpus(2) as gpus:
        yield gpus


def test_the_usual_line_of_tutorials_finds_the_gpu(gpus):
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    assert (torch.ones(2, device=device) + 1).device == device
    device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
    assert device == "cuda"
    assert torch.accelerator.current_accelerator(check_available=True) == torch.device("cuda")
    assert torch.cuda.device_count() == torch.accelerator.device_count() == 2
    assert torch.get_device_module("cuda") is torch.cuda


def test_functions_imported_by_name_before_the_simulation_answer_for_it():
    with simulated_gpus(3):
        assert is_available_imported_before()
        assert device_count_imported_before() == 3
    assert is_available_imported_before() is real


def test_a_device_tells_its_name_memory_and_capability_and_says_simulated(gpus):
    assert "H200" in torch.cuda.get_device_name() and "simulated" in torch.cuda.get_device_name("cuda:1")
    properties = torch.cuda.get_device_properties(torch.device("cuda:1"))
    assert properties.total_memory == gpus.model.memory == torch.cuda.mem_get_info(1)[1]
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability() == (9, 0)
    assert properties.multi_processor_count == 132
    assert "simulated" in repr(properties)
    assert torch.cuda.is_bf16_supported()
    assert torch.cuda.get_arch_list() == ["sm_90"]


def test_a_t4_has_no_bfloat16_units():
    with simulated_gpus(1, model="T4"):
        assert torch.cuda.get_device_capability() == (7, 5)
        assert not torch.cuda.is_bf16_supported(including_emulation=False)
        assert not torch.cuda.is_tf32_supported()


def test_the_current_device_is_where_cuda_without_an_index_goes(gpus):
    assert torch.zeros(2, device="cuda").device == torch.device("cuda:0")
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == torch.accelerator.current_device_index() == 1
        assert torch.zeros(2, device="cuda").device == torch.device("cuda:1")
        assert torch.ones(2).cuda().device == torch.ones(2).to("cuda").device == torch.device("cuda:1")
        with torch.cuda.device("cuda:0"), torch.cuda.device(torch.device("cuda:1")), torch.cuda.device(-1):
            assert torch.cuda.current_device() == 1
        assert torch.nn.Linear(2, 2).cuda().weight.device == torch.device("cuda:1")
    assert torch.cuda.current_device() == 0
    torch.cuda.set_device("cuda:1")
    assert torch.rand(2, device="cuda").device == torch.device("cuda:1")
    with torch.cuda.device_of(torch.ones(2, device="cuda:0")), torch.cuda.device_of(torch.ones(2)):
        assert torch.cuda.current_device() == 0
    with pytest.raises(KeyError), torch.cuda.device(0):
        {}[0]
    assert torch.cuda.current_device() == 1
    torch.accelerator.set_device_index(0)
    with torch.accelerator.device_index(1):
        assert torch.cuda.current_device() == 1


def test_the_current_device_is_a_threads_own(gpus):
    torch.cuda.set_device(1)
    answers = []
    thread = threading.Thread(target=lambda: answers.append((torch.cuda.current_device(), torch.cuda.is_available())))
    thread.start()
    thread.join(60)
    assert answers == [(0, True)]


def test_a_device_that_is_not_there_is_refused_in_cudas_words(gpus):
    for program in (
        lambda: torch.zeros(1, device="cuda:2"),
        lambda: torch.zeros(1).to("cuda:7"),
        lambda: torch.nn.Linear(1, 1).cuda(5),
        lambda: torch.cuda.set_device(2),
        lambda: torch.cuda.synchronize(2),
        lambda: torch.cuda.device("cuda:5").__enter__(),
        lambda: torch.accelerator.set_device_index(9),
        lambda: torch.cuda.reset_peak_memory_stats(2),
    ):
        with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
            program()
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(2)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        torch.cuda.get_device_name("cpu")
    assert torch.cuda.current_device() == 0


def test_synchronize_waits_on_the_modelled_clock(gpus):
    x = torch.ones(2000, 2000, device="cuda")
    gpus.clock.synchronize()
    for wait in (torch.cuda.synchronize, lambda: torch.cuda.synchronize("cuda:0"), torch.accelerator.synchronize):
        before = gpus.clock.host
        y = x @ x
        accepted = gpus.clock.host
        torch.cuda.synchronize(1)  # another device's queue is empty
        assert gpus.clock.host == accepted
        wait()
        assert gpus.clock.host - accepted > accepted - before
    assert y.device == x.device


def test_what_needs_real_hardware_says_so_and_names_the_function(gpus):
    for name in ("temperature", "utilization", "power_draw", "memory_snapshot", "list_gpu_processes", "MemPool"):
        with pytest.raises(RuntimeError, match=f"^torch.cuda.{name}: simulated GPUs do not do this"):
            getattr(torch.cuda, name)()
    # torch 2.15's graphs ask this of each pool
    assert not isinstance((0, 1), torch.cuda.MemPool) and not isinstance(3, torch.cuda.ExternalStream)


def test_marks_for_a_profiler_and_switches_for_libraries_are_taken(gpus):
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("step"):
        torch.cuda.nvtx.mark("here")
    torch.cuda.cudart().cudaProfilerStart()
    torch.cuda.ipc_collect()
    assert torch.cuda.is_initialized() and torch.cuda.init() is None
    assert not torch.cuda.is_current_stream_capturing()
    assert torch.cuda.can_device_access_peer(0, 1)


def test_a_profile_shows_the_cpu_and_says_that_there_is_no_gpu_to_profile(gpus, capfd):
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(3, device="cuda")
    with pytest.warns(UserWarning, match="Simulated GPUs have no hardware to profile"):
        # acc_events: without it torch 2.11 has a warning of its own
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as profiled:
            x.exp()
    assert any("exp" in event.key for event in profiled.key_averages())
    assert "Failed to record CUDA event" not in capfd.readouterr().err


def test_a_fraction_of_the_memory_can_be_set(gpus):
    torch.cuda.set_per_process_memory_fraction(0.5, 1)
    assert torch.cuda.get_per_process_memory_fraction(1) == pytest.approx(0.5)
    torch.cuda.set_per_process_memory_fraction(1e-5)
    with pytest.raises(torch.OutOfMemoryError, match=r"1\.34 MiB allowed; Of the allocated memory"):
        torch.zeros(2**20, device="cuda")


def test_pinned_memory_is_marked_and_shared_by_views(gpus):
    x = torch.arange(6.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned[2:].is_pinned() and not x.is_pinned()
    assert pinned.pin_memory() is pinned
    assert torch.equal(pinned, x) and pinned.data_ptr() != x.data_ptr()
    assert not pinned.clone().is_pinned()
    assert torch.equal(pinned.to("cuda", non_blocking=True).cpu(), x)
    assert torch.empty(3, pin_memory=True).is_pinned() and torch.zeros(3, device="cpu", pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(3, device="cuda", pin_memory=True)
    with pytest.raises(RuntimeError, match=r"cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"):
        torch.ones(2, device="cuda").pin_memory()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_data_loader_pins_its_batches(gpus, workers):
    data = TensorDataset(torch.arange(8.0), torch.arange(8))
    for x, y in DataLoader(data, batch_size=4, pin_memory=True, num_workers=workers, timeout=100 * workers):
        assert x.is_pinned() and y.is_pinned()
        assert x.to("cuda:1", non_blocking=True).device == torch.device("cuda:1")
