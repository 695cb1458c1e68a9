"""course::life_step on devices: it has a kernel for each, and runs where it is placed."""

import pytest
import torch

from course import life, log_placement, place, simulated_gpus

BOARD = life.put(life.empty(9, 8), life.pattern("glider"), row=6, column=6)  # across both edges


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


def test_life_placed_on_a_gpu_runs_there_without_soft(gpu):
    with log_placement() as log, place("/gpu:0"):
        following = life.step(BOARD)
    assert str(following.device) == gpu and torch.equal(following.cpu(), life.step(BOARD))
    assert {r.device for r in log if "life_step" in r.op} == {"/gpu:0"}
