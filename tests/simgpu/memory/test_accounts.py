"""The memory of simulated GPUs: counted a storage in CUDA's steps, given back at once, full at the modelled size."""

import threading
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simgpu import simulated_gpus
from simgpu.memory import accounts as memory
from simgpu.memory.accounts import MIB, MemoryAccounts
from simgpu.memory.host import free_on_host
from simgpu.models.catalogue import model_for


def small(mebibytes):
    """Return a T4 with less memory."""
    return replace(model_for("T4"), memory=mebibytes * MIB)


def accounts(mebibytes=10, count=2):
    return MemoryAccounts(mebibytes * MIB, count, "test (simulated)")


def took(books, index, elements):
    tensor = torch.empty(elements, dtype=torch.uint8)
    books.took(index, elements, tensor)
    return tensor


def test_bytes_are_counted_in_cudas_steps_of_512_and_given_back_when_the_tensor_goes():
    books = accounts()
    tensor = took(books, 0, 513)
    assert (books.account(0).allocated, books.account(1).allocated) == (1024, 0)
    del tensor
    assert (books.account(0).allocated, books.account(0).peak) == (0, 1024)


def test_a_view_shares_its_storage_and_keeps_it():
    books = accounts()
    tensor = took(books, 0, 600)
    view = tensor[3:]
    books.took(0, 600, view)
    assert books.account(0).allocated == 1024
    del tensor
    assert books.account(0).allocated == 1024
    del view
    assert books.account(0).allocated == 0


def test_a_storage_that_resize_has_changed_is_counted_anew():
    books = accounts()
    tensor = took(books, 0, 100)
    tensor.resize_(5000)
    books.took(0, 5000, tensor)
    assert books.account(0).allocated == 5120
    del tensor
    assert books.account(0).allocated == 0


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3 * MIB), st.booleans()), max_size=20))
def test_the_account_is_the_sum_of_the_living_storages(program):
    books, living, peak = accounts(100), [], [0, 0]
    for index, size, drop in program:
        living.append((index, took(books, index, size)))
        for gpu in (0, 1):
            peak[gpu] = max(peak[gpu], slow_sum(living, gpu))
        if drop:
            del living[len(living) // 2]
        assert [books.account(gpu).allocated for gpu in (0, 1)] == [slow_sum(living, gpu) for gpu in (0, 1)]
    assert [books.account(gpu).peak for gpu in (0, 1)] == peak
    for gpu in (0, 1):
        assert books.account(gpu).allocated <= books.account(gpu).reserved <= books.account(gpu).total


def slow_sum(living, index):
    """The reference: bytes of each living storage in whole steps of 512, added up."""
    return sum((tensor.numel() + 511) // 512 * 512 for where, tensor in living if where == index)


@pytest.mark.parametrize(
    ("nbytes", "reserved"),
    [(MIB, 2), (MIB + 1, 20), (10 * MIB - 512, 20), (10 * MIB, 10), (10 * MIB + 1, 12), (21 * MIB, 22)],
)
def test_segments_are_of_2_mib_for_small_tensors_20_for_middle_ones_and_whole_2_for_large_ones(nbytes, reserved):
    books = accounts(100)
    tensor = took(books, 0, nbytes)
    assert books.account(0).reserved == reserved * MIB
    del tensor


def test_reserved_memory_stays_until_the_cache_is_emptied():
    books = accounts(100)
    small_one, large_one = took(books, 0, 1000), took(books, 0, 30 * MIB)
    assert books.account(0).reserved == 32 * MIB  # a segment of 2 MiB for the small ones, 30 for the large one
    del small_one, large_one
    assert books.account(0).reserved == 32 * MIB
    books.account(0).empty_cache()
    assert (books.account(0).reserved, books.account(0).peak_reserved) == (0, 32 * MIB)
    books.account(0).reset_peak()
    assert (books.account(0).peak, books.account(0).peak_reserved) == (0, 0)


def test_many_threads_lose_no_byte():
    books = accounts(100)

    def work():
        for size in range(1, 200):
            took(books, 0, size)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    account = books.account(0)
    assert (account.allocated, account.blocks, account.blocks_taken) == (0, 0, 4 * 199)


def test_out_of_memory_says_what_cuda_says():
    books = accounts(10)
    held = took(books, 0, 8 * MIB)
    with pytest.raises(torch.OutOfMemoryError) as failed:
        took(books, 0, 3 * MIB)
    text = str(failed.value)
    assert text.startswith(
        "CUDA out of memory. Tried to allocate 3.00 MiB. GPU 0 has a total capacity of 10.00 MiB of which 0 bytes is "
        "free. Including non-PyTorch memory, this process has 10.00 MiB memory in use. Of the allocated memory 8.00 "
        "MiB is allocated by PyTorch, and 2.00 MiB is reserved by PyTorch but unallocated. If reserved but unallocated "
        "memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    )
    took(books, 1, 3 * MIB)
    del held
    took(books, 0, 3 * MIB)


def test_a_program_that_fills_the_second_gpu_is_told_of_that_one():
    with simulated_gpus(2, model=small(4)):
        x = torch.ones(2**20 - 1000, device="cuda:1")
        other = torch.ones(1000, device="cuda:0")
        for fill in (
            lambda: x + 1,
            lambda: torch.zeros(2**20, device="cuda:1"),
            lambda: torch.ones(2**18).to("cuda:1"),
        ):
            with pytest.raises(torch.OutOfMemoryError, match="GPU 1 has a total capacity of 4.00 MiB"):
                fill()
        assert torch.equal(other.cpu(), torch.ones(1000))


@pytest.mark.parametrize("index", [0, 1])
def test_what_fits_exactly_fits_and_a_step_of_512_bytes_more_does_not(index):
    books = accounts(10)
    half = took(books, index, 5 * MIB)
    books.check_room(index, 5 * MIB)
    books.check_room(index, 5 * MIB - 511)
    with pytest.raises(torch.OutOfMemoryError):
        books.check_room(index, 5 * MIB + 1)  # a byte takes a step
    rest = took(books, index, 5 * MIB - 511)
    assert books.account(index).allocated == books.account(index).total
    with pytest.raises(torch.OutOfMemoryError):
        took(books, index, 1)
    del half, rest


def test_a_peak_reset_while_tensors_live_begins_at_what_they_take():
    with simulated_gpus(1, model=small(64)):
        x, y = (
            torch.zeros(3 * MIB, dtype=torch.uint8, device="cuda"),
            torch.zeros(MIB, dtype=torch.uint8, device="cuda"),
        )
        del y
        torch.cuda.reset_peak_memory_stats()
        assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated() == 3 * MIB
        assert torch.cuda.max_memory_reserved() == torch.cuda.memory_reserved() >= 3 * MIB
        y = torch.zeros(2 * MIB, dtype=torch.uint8, device="cuda")
        del x, y
        assert (torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()) == (0, 5 * MIB)


def test_what_only_this_computer_lacks_is_said_of_this_computer(monkeypatch):
    books = MemoryAccounts(141 * 10**9, 1, "H200")
    monkeypatch.setattr(memory, "free_on_host", lambda system: 100 * MIB)
    books.check_room(0, 90 * MIB)
    with pytest.raises(
        MemoryError, match=r"GPU 0 \(H200\) has room for 200.00 MiB, this computer has not: .* 100.00 MiB"
    ):
        books.check_room(0, 200 * MIB)
    with pytest.raises(torch.OutOfMemoryError):  # the GPU's own end comes first
        books.check_room(0, 200 * 2**30)


def test_the_hosts_free_memory_is_a_number_of_bytes():
    assert 0 <= free_on_host() < 2**50


def test_a_program_sees_its_memory_through_torch_cuda():
    with simulated_gpus(2, model=small(64)):
        assert torch.cuda.memory_allocated() == 0
        x = torch.zeros(1000, 1000, device="cuda:0")
        assert torch.cuda.memory_allocated() == 4_000_256
        assert torch.cuda.memory_allocated("cuda:1") == torch.cuda.memory_allocated(1) == 0
        y = x + 1
        z = y.t()[2:]
        assert torch.cuda.memory_allocated() == 2 * 4_000_256
        del y
        assert torch.cuda.memory_allocated() == 2 * 4_000_256
        del z, x
        assert torch.cuda.memory_allocated() == 0
        assert torch.cuda.max_memory_allocated() == 2 * 4_000_256
        torch.cuda.reset_peak_memory_stats()
        assert torch.cuda.max_memory_allocated() == 0
        assert torch.cuda.memory_reserved() > 0
        torch.cuda.empty_cache()
        assert torch.cuda.mem_get_info() == (64 * MIB, 64 * MIB)
        assert "simulated" in torch.cuda.memory_summary()


def test_a_loop_that_keeps_its_losses_runs_out_and_one_that_takes_numbers_does_not():
    with simulated_gpus(1, model=small(2)):
        losses = []
        with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 391.00 KiB"):
            for _ in range(100):
                losses.append(torch.ones(100, 1000, device="cuda"))
        assert 4 <= len(losses) <= 5
        losses = None
        losses = [torch.ones(100, 1000, device="cuda").sum().item() for _ in range(20)]
        assert losses == [100_000.0] * 20


def test_moving_to_a_full_gpu_is_refused_before_the_copy():
    with simulated_gpus(1, model=small(1)):
        with pytest.raises(
            torch.OutOfMemoryError, match="Tried to allocate 4.00 MiB. GPU 0 has a total capacity of 1024.00 KiB"
        ):
            torch.ones(2**20).to("cuda")
        with pytest.raises(torch.OutOfMemoryError):
            torch.nn.Linear(1024, 1024).cuda()


def test_a_tensor_larger_than_this_computer_is_refused_in_clear_words():
    with simulated_gpus(1, model=replace(model_for("H200"), memory=2**60)):
        with pytest.raises(MemoryError, match="this computer has not"):
            torch.empty(2**46, device="cuda")
        with pytest.raises(MemoryError, match="this computer has not"):
            torch.ones(1, device="cuda").expand(2**46).clone()
