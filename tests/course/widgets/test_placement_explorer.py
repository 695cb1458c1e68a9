"""PlacementExplorer: its run is its clock's replay, its best is the best, its state is one for controls and Python."""

import threading
from functools import cache

import ipywidgets
import pytest
import torch
import traitlets
from hypothesis import given, settings
from hypothesis import strategies as some

from course import simulated_gpus
from course.devices import log_placement
from course.devices.explore import CPU, DEVICES, PROGRAM, best, explore, replay
from course.widgets import PlacementExplorer
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
    assert "/gpu:1" not in best(2048, "T4", gpus=1).placement


@pytest.mark.parametrize("placement", [[CPU] * 5, [CPU] * 5 + ["/gpu:2"], []])
def test_a_placement_that_does_not_fit_the_program_is_refused(placement):
    for run in (explore, replay):
        with pytest.raises(ValueError, match="6 steps; give each one a device of /cpu:0, /gpu:0"):
            run(placement, 16)
    assert active() is None


# The widget


def test_the_picture_says_what_the_run_says_and_that_it_is_modelled(widget):
    run, picture = widget.result.run, widget.static()
    assert run == replay(MIXED, 64).__class__(**{**vars(replay(MIXED, 64)), "spans": run.spans, "loss": run.loss})
    assert f"{run.seconds * 1e6:.0f} µs modelled" in picture.alt and "not measured" in picture.html
    assert "more than the best placement" in picture.alt and "simulated" in picture.html
    for move in run.moves:
        assert f"<td>{move.value}</td><td>{move.reader}</td>" in picture.html
    assert picture.html == PlacementExplorer(MIXED, width=64).static().html and "<script" not in picture.html


def test_an_ops_control_and_its_trait_are_one_state(widget):
    first = widget.children[0].children[0]
    assert isinstance(first, ipywidgets.Dropdown) and first.description == "a = x @ w"
    first.value = "/cpu:0"
    assert widget.a == "/cpu:0" and widget.placement == ("/cpu:0", *MIXED[1:])
    assert widget.result.run.placement == widget.placement
    widget.b = "/gpu:0"
    assert widget.children[0].children[1].value == "/gpu:0"


def test_every_control_has_a_label(widget):
    controls = [control for box in widget.children[:2] for control in box.children]
    assert len(controls) == 11 and all(control.description for control in controls)


def test_the_best_placement_is_a_button_away(widget, monkeypatch):
    runs = []
    monkeypatch.setattr("course.widgets.placement_explorer.explore", lambda *a: runs.append(a) or explore(*a))
    button = next(c for c in widget.children[1].children if c.description == "Best placement")
    button.click()
    assert widget.placement == best(64).placement and "No placement takes less." in widget.static().alt
    assert len(runs) == 1, "six traits change, one run"
    widget.placement = ["/gpu:0"] * 6
    assert widget.placement == ("/gpu:0",) * 6 and "more than the best" in widget.static().alt


def test_a_wrong_placement_is_refused_and_the_state_stays(widget):
    with pytest.raises(ValueError, match="give 6 devices, one for each of a, b, r, h, y, loss"):
        widget.placement = ["/cpu:0"]
    with pytest.raises(traitlets.TraitError):
        widget.a = "/gpu:7"
    assert widget.placement == MIXED


def test_a_change_from_another_thread_changes_the_picture(widget):
    before = widget.static().html
    thread = threading.Thread(target=setattr, args=(widget, "loss", "/gpu:0"))
    thread.start()
    thread.join(30)
    assert widget.static().html != before and widget.result.run.placement[-1] == "/gpu:0"
    assert active() is None


def test_a_lessons_own_simulation_is_used_and_its_clock_stands_still(widget):
    with simulated_gpus(4, model="T4") as gpus:
        x = torch.ones(3, device="cuda:2") + 1
        before = gpus.clock, gpus.clock.host, len(gpus.clock.spans)
        thread = threading.Thread(target=setattr, args=(widget, "placement", ["/gpu:1"] * 6))
        thread.start()
        thread.join(30)
        assert widget.result.run.seconds == pytest.approx(replay(["/gpu:1"] * 6, 64).seconds)
        assert (gpus.clock, gpus.clock.host, len(gpus.clock.spans)) == before
        assert active() is gpus and x.tolist() == [2, 2, 2]


def test_with_one_simulated_gpu_the_second_is_refused_in_the_picture(widget):
    with simulated_gpus(1):
        with pytest.raises(ValueError, match="a device of /cpu:0, /gpu:0"):
            widget.b = "/gpu:1" if widget.b != "/gpu:1" else "/gpu:0"
        assert "a device of /cpu:0, /gpu:0." in widget.children[-1].value
        widget.placement = ["/gpu:0"] * 6
        assert '<p class="wrong">' not in widget.children[-1].value
