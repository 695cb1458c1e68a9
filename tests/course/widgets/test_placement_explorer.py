"""PlacementExplorer: its run is its clock's replay, its best is the best, its state is one for controls and Python."""

from functools import cache

import pytest
import torch
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as some

from course import simulated_gpus
from course.devices import log_placement
from course.devices.explore import CPU, DEVICES, PROGRAM, best, explore, replay
from course.widgets import PlacementExplorer
from course.widgets.placement_explorer import WIDTHS
from simgpu import active

MIXED = ("/gpu:0", "/gpu:1", "/gpu:1", "/gpu:0", "/cpu:0", "/cpu:0")
placements = some.tuples(*[some.sampled_from(DEVICES)] * len(PROGRAM))


@pytest.fixture
def widget():
    made = PlacementExplorer(MIXED, width=64)
    yield made
    made.close()


# The engine


@given(placement=placements, width=some.sampled_from([16, 64]), model=some.sampled_from(["H200", "T4"]))
@settings(max_examples=12)
def test_a_run_on_simulated_gpus_takes_what_the_replay_of_its_clock_takes(placement, width, model):
    ran, replayed = explore(placement, width, model), replay(placement, width, model)
    assert ran.moves == replayed.moves and ran.label == replayed.label
    assert ran.seconds == pytest.approx(replayed.seconds, rel=1e-9)
    assert [(s.lane, s.what) for s in ran.spans] == [(s.lane, s.what) for s in replayed.spans]


def test_the_moves_are_those_that_a_placement_log_counts():
    with log_placement() as log:
        ran = explore(MIXED, 64)
    copies = [(record.origin, record.device, record.bytes_moved) for record in log if record.op == "_to_copy"]
    assert [(m.origin, m.target, m.nbytes) for m in ran.moves if m.reader != "read"] == copies


def test_the_loss_is_the_same_wherever_the_ops_run():
    alone = explore([CPU] * 6, 64)
    assert alone.loss > 0 and alone.moves == () and alone.bytes_moved == 0
    assert {explore(placement, 64).loss for placement in (MIXED, ["/gpu:1"] * 6)} == {alone.loss}


@given(placement=placements)
@settings(max_examples=20)
def test_no_placement_takes_less_than_the_best(placement):
    for model in ("H200", "T4"):
        assert replay(placement, 128, model).seconds >= best_of_all(model).seconds


@cache
def best_of_all(model):
    return best(128, model)


def test_small_programs_stay_on_the_cpu_and_large_ones_leave_only_the_loss_there():
    assert set(best(16).placement) == {CPU}
    assert best(1024).placement == (*["/gpu:0"] * 5, CPU)


def test_a_second_gpu_is_in_the_best_placement_where_products_are_slow_beside_copies():
    assert best(2048, "T4").placement == ("/gpu:0", "/gpu:1", "/gpu:0", "/gpu:0", "/gpu:0", CPU)


@pytest.mark.parametrize("placement", [[CPU] * 5, [CPU] * 5 + ["/gpu:2"], []])
def test_a_placement_that_does_not_fit_the_program_is_refused(placement):
    for run in (explore, replay):
        with pytest.raises(ValueError, match="6 steps; give each one a device of /cpu:0, /gpu:0"):
            run(placement, 16)
    assert active() is None


# The exhibit


def test_the_still_says_what_the_clock_says_and_that_it_is_modelled(widget):
    run, picture = widget.result.run, widget.static()
    assert run == replay(MIXED, 64)
    assert f"{run.seconds * 1e6:.0f} µs modelled" in picture.alt and "not measured" in picture.html
    assert "times as long as the best placement" in picture.alt and "simulated" in picture.html
    for move in run.moves:
        assert f"<td>{move.value}</td><td>{move.reader}</td>" in picture.html
    assert picture.html == PlacementExplorer(MIXED, width=64).static().html and "<script" not in picture.html


def test_the_best_is_hidden_until_it_is_asked_for(widget):
    assert "The best:" not in widget.static().alt
    widget.reveal = True
    assert "The best: a, b, r, h, y, loss on /cpu:0." in widget.static().alt


def test_the_score_is_a_hundred_for_the_best_alone():
    score = PlacementExplorer(width=1024).result.score
    assert score == int(100 * best(1024).seconds / replay([CPU] * 6, 1024).seconds) == 13
    nearly = PlacementExplorer(["/gpu:0"] * 6, width=1024)
    assert nearly.result.score == 98
    assert nearly.find_best().result.score == 100 and "No placement takes less." in nearly.static().alt
    twin = [device.replace("gpu:0", "gpu:1") for device in nearly.placement]
    assert PlacementExplorer(twin, width=1024).result.score == 100, "the other GPU is as quick"


def test_an_op_is_moved_by_the_name_of_what_it_makes(widget):
    assert widget.move("a", "/cpu:0").placement == ["/cpu:0", *MIXED[1:]]
    assert widget.result.run == replay(widget.placement, 64)
    with pytest.raises(ValueError, match="the ops make a, b, r, h, y, loss"):
        widget.move("x", "/gpu:0")


@pytest.mark.parametrize("wrong", [[CPU], [CPU] * 5 + ["/gpu:7"], "gpu"])
def test_a_wrong_placement_is_refused_and_the_state_stays(widget, wrong):
    with pytest.raises(traitlets.TraitError):
        widget.placement = wrong
    assert widget.placement == list(MIXED) and widget.result.run.placement == MIXED


def test_a_run_has_the_loss_uses_a_lessons_own_simulation_and_its_clock_stands_still(widget):
    alone = widget.run()
    assert alone.loss == explore([CPU] * 6, 64).loss and alone.seconds == pytest.approx(widget.result.run.seconds)
    with simulated_gpus(4, model="T4") as gpus:
        x = torch.ones(3, device="cuda:2") + 1
        before = gpus.clock, gpus.clock.host, len(gpus.clock.spans)
        assert widget.run() == alone
        assert (gpus.clock, gpus.clock.host, len(gpus.clock.spans)) == before
        assert active() is gpus and x.tolist() == [2, 2, 2]
    with simulated_gpus(1), pytest.raises(ValueError, match="a device of /cpu:0, /gpu:0\\."):
        widget.run()


def test_the_figures_in_the_page_are_of_every_size_and_model(widget):
    known = widget.data()["figures"]
    assert set(known) == {"H200", "T4"} and set(known["T4"]) == set(WIDTHS)
    assert known["T4"][64]["bytes"]["x"] == 256 * 64 * 4 and len(known["T4"][64]["work"]) == len(PROGRAM)
