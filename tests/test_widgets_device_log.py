"""DeviceLog: a program, a place, and the log of what ran, as picture and table."""

import threading

import ipywidgets
import pytest
import traitlets

from course.devices import list_devices
from course.widgets import DeviceLog
from course.widgets.device_log import PROGRAMS


@pytest.fixture
def widget():
    made = DeviceLog(device="/cpu:0")
    yield made
    made.close()


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_runs_forward_and_backward_on_the_cpu(widget, program):
    widget.program = program
    assert {r.device for r in widget.result.records} == {"/cpu:0"}
    assert any(r.backward for r in widget.result.records)


def test_inputs_on_the_cpu_move_to_another_place_and_inputs_made_there_do_not(widget):
    widget.device = "/meta:0"
    # x 32 × 20, w 20 × 16, bias 16, v 16 × 1, 4 bytes a number
    assert sum(r.bytes_moved for r in widget.result.records) == 4 * (640 + 320 + 16 + 16)
    assert "3,968 bytes moved" in widget.static().html and "No backward pass" in widget.static().alt
    widget.from_cpu = False
    assert sum(r.bytes_moved for r in widget.result.records) == 0
    assert any(r.backward for r in widget.result.records), "on meta alone a backward pass has shapes to work with"


def test_forward_and_backward_can_be_seen_apart(widget):
    widget.part = "backward"
    assert "threshold_backward" in widget.static().html and "<td>relu</td>" not in widget.static().html
    widget.part = "forward"
    assert "threshold_backward" not in widget.static().html and "<td>relu</td>" in widget.static().html


@pytest.mark.parametrize(("wrong", "says"), [("/gpu:99", "this machine has"), ("gppu:<1>", "Nearest legal name")])
def test_a_place_that_is_none_of_this_machines_is_answered_in_the_picture(widget, wrong, says):
    widget.device = wrong
    assert says in widget.static().alt
    assert "<1>" not in widget.static().html, "what is typed is escaped"
    widget.device = "/cpu:0"
    assert widget.result.error == ""


def test_controls_are_labelled_and_tied_to_the_state(widget):
    program, where, start, part = widget.children[:4]
    assert [c.description for c in (program, where, start, part)] == [
        "Program",
        "Place on",
        "Inputs start on the CPU",
        "Show",
    ]
    assert isinstance(where, ipywidgets.Combobox)
    assert list(where.options) == [*(d.name for d in list_devices()), "/meta:0"]
    start.value = False
    part.value = "forward"
    assert (widget.from_cpu, widget.part) == (False, "forward")


def test_a_change_from_another_thread_changes_the_picture(widget):
    before = widget.static().html
    thread = threading.Thread(target=setattr, args=(widget, "program", "variance"))
    thread.start()
    thread.join(20)
    assert widget.static().html != before


def test_an_unknown_program_is_refused(widget):
    with pytest.raises(traitlets.TraitError):
        widget.program = "something else"


def test_the_static_twin_is_the_same_every_time_and_needs_no_kernel(widget):
    assert widget.static().html == DeviceLog(device="/cpu:0").static().html
    assert "<script" not in widget.static().html
