"""course::life_step on devices: a kernel for each, and what happens to an op that has one for the CPU only."""

import pytest
import torch

from course import life, log_placement, place, simulated_gpus

BOARD = life.put(life.empty(9, 8), life.pattern("glider"), row=6, column=6)  # across both edges


@pytest.fixture(scope="module")
def cpu_only():
    """An op of the same sort as life_step, registered without a second kernel: how many neighbours each cell has."""

    @torch.library.custom_op("life_tests::neighbours", mutates_args=(), device_types="cpu")
    def neighbours(board: torch.Tensor) -> torch.Tensor:
        rows = board + board.roll(1, 0) + board.roll(-1, 0)
        return rows + rows.roll(1, 1) + rows.roll(-1, 1) - board

    neighbours.register_fake(torch.empty_like)
    return torch.ops.life_tests.neighbours


@pytest.fixture
def gpu():
    """A CUDA GPU where there is one, else a simulated one."""
    if torch.cuda.is_available():
        yield "cuda:0"
    else:
        with simulated_gpus(1):
            yield "cuda:0"


def test_a_board_on_a_gpu_stays_there_and_gets_the_same_cells(gpu):
    for rule, wrap in (("B3/S23", True), ("B36/S23", False)):
        following = life.step(BOARD.to(gpu), rule, wrap)
        assert str(following.device) == gpu and torch.equal(following.cpu(), life.step(BOARD, rule, wrap))


@pytest.mark.parametrize("engine", life.ENGINES)
def test_every_engine_leaves_the_board_on_its_gpu(gpu, engine):
    after = life.run(BOARD.to(gpu), 5, engine)
    assert str(after.device) == gpu and torch.equal(after.cpu(), life.run(BOARD, 5, "roll"))


def test_a_board_on_a_gpu_has_the_cycle_of_the_same_board_on_the_cpu(gpu):
    board = life.put(life.empty(5, 5), life.pattern("blinker"), row=2, column=1)
    assert life.find_cycle(board.to(gpu)) == life.find_cycle(board) == life.Cycle(0, 2)


def test_life_placed_on_a_gpu_runs_there_without_soft(gpu):
    with log_placement() as log, place("/gpu:0"):
        following = life.step(BOARD)
    assert str(following.device) == gpu and torch.equal(following.cpu(), life.step(BOARD))
    assert {r.device for r in log if "life_step" in r.op} == {"/gpu:0"}


def test_an_op_with_a_kernel_for_the_cpu_alone_fails_on_a_gpu_and_says_both_ways_out(gpu, cpu_only):
    with pytest.raises(NotImplementedError, match="life_tests::neighbours.*CUDA"):
        cpu_only(BOARD.to(gpu))
    with place("/gpu:0"), pytest.raises(NotImplementedError, match="soft=True"):
        cpu_only(BOARD)


def test_soft_placement_runs_it_on_the_cpu_brings_the_result_back_and_the_log_says_so(gpu, cpu_only):
    with log_placement() as log, place("/gpu:0", soft=True):
        counts = cpu_only(BOARD)
        following = life.step(BOARD)
    assert str(counts.device) == str(following.device) == gpu and torch.equal(counts.cpu(), cpu_only(BOARD))
    (record,) = [r for r in log if "neighbours" in r.op]
    assert record.device == "/cpu:0" and "no kernel" in record.note
    assert {r.device for r in log if "life_step" in r.op} == {"/gpu:0"}  # it has a kernel there
