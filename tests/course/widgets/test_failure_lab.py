"""The failure lab: real processes are hit by plan, by hand and by button; the timeline tells it; closing ends all."""

import threading
import time

import pytest
import traitlets

from course.training.driver.rehearsal import Rehearsal
from course.training.records import Event, Step
from course.widgets import FailureLab
from tests.course.widgets.lab_processes import assert_ended, below
from tests.course.widgets.page_of import Line

WORKER, PS = "/job:worker/task:1", "/job:ps/task:0"
WORKERS = [f"/job:worker/task:{worker}" for worker in range(3)]


@pytest.fixture(scope="module")
def lab(no_leaks_from_this_file):
    widget = FailureLab(seconds=1)
    try:
        yield widget.wait()
    finally:
        widget.close()


def events(lab, task=WORKER):
    return [event.what for event in lab.result.events if event.task == task]


def until(lab, condition, patience=90.0):
    """Wait until the training that runs satisfies `condition(record)`; fail after `patience` seconds."""
    deadline = time.monotonic() + patience
    while not (lab._rehearsal and condition(lab._rehearsal.record)):
        assert time.monotonic() < deadline, "the training never came so far"
        time.sleep(0.02)


def press(lab, action, task):
    """Let the lab hear that a button was pressed, and wait until it has said what came of it."""
    lab._wire = line = Line()
    lab._heard(line, {"do": "press", "with": [action, task]}, [])
    deadline = time.monotonic() + 60
    while not (answers := [message["said"] for message in line.sent if "said" in message]):
        assert time.monotonic() < deadline, "a button said nothing"
        time.sleep(0.01)
    return answers[0]


@pytest.mark.long
def test_an_undisturbed_training_has_three_lanes_and_says_that_nobody_was_hit(lab):
    for _ in range(5):
        if set(lab.result.history["worker"].tolist()) == {0, 1, 2}:
            break
        lab.refresh()  # a busy machine may keep one of them waiting for this second
        lab.wait()
    shown = lab.static()
    assert "Nobody has been hit" in shown.alt and "1 seconds are over" in shown.alt
    for lane in ("loss", "version", "staleness", "seconds"):
        assert lane in shown.html
    assert len(lab.result.history) > 20 and set(lab.result.history["worker"].tolist()) == {0, 1, 2}


@pytest.mark.long
def test_a_plan_kills_a_worker_and_the_others_go_on(lab):
    lab.update(plan=[(0.2, "kill", WORKER)], seconds=60.0)

    def others_went_on(record):
        lost = [event.seconds for event in record.events if event.what == "worker lost"]
        return lost and {0, 2} <= set(record.history["worker"][record.history["applied"] > lost[0]].tolist())

    until(lab, others_went_on)
    lab.stop()
    lab.wait()
    assert events(lab)[:2] == ["killed", "worker lost"]
    assert "worker 1 killed" in lab.static().alt and "noticed after" in lab.static().alt
    lives = lab.answer(lab.result)["lives"]
    assert "dead" in [what for *_, what in lives[WORKER]] and "dead" not in [what for *_, what in lives[WORKERS[0]]]


def test_a_killed_parameter_server_costs_what_came_since_the_checkpoint_and_training_goes_on(lab):
    lab.update(plan=[(0.7, "kill", PS)], seconds=1.0)  # a recovery under way is waited for
    lab.wait()
    happened = [event.what for event in lab.result.events]
    assert "ps lost" in happened and happened.index("restored") > happened.index("ps lost")
    assert [what for *_, what in lab.answer(lab.result)["lives"][PS]] == ["works", "dead", "works"]
    restored = next(event for event in lab.result.events if event.what == "restored")
    assert (lab.result.history["applied"] > restored.seconds).any()
    assert f"restored from step {restored.step}" in lab.static().html and "updates undone" in lab.static().alt


@pytest.mark.long
def test_a_parameter_server_killed_at_the_last_moment_is_restored_and_used_before_the_training_ends():
    rehearsal = Rehearsal(None, None, seconds=0.0)
    killed = rehearsal.seconds - 10
    rehearsal.record.rows.append(Step(1, 0, 0, 1.0, killed - 1, killed - 1))
    assert rehearsal._is_time_over()
    for what in ("killed", "ps lost", "restored"):
        rehearsal.record.add(Event(killed, what, PS, 1))
        assert not rehearsal._is_time_over(), what
    rehearsal.record.rows.append(Step(1, 1, 0, 1.0, killed + 1, killed + 1))
    assert rehearsal._is_time_over()


def test_buttons_do_what_they_say_to_the_worker_that_they_name(lab):
    lab.plan = []
    lab.wait()  # each setting begins a training: the first must not be there to be hit instead of the second
    lab.seconds = 60.0
    until(lab, lambda record: len(record.rows) > 30)
    assert press(lab, "freeze", "/job:worker/task:2") == ""  # the picture tells it
    until(lab, lambda record: any(event.what == "frozen" for event in record.events))
    press(lab, "thaw", "/job:worker/task:2")
    until(lab, lambda record: press(lab, "slow", WORKER) == "")  # a busy worker may not answer in time
    begun = len(lab._rehearsal.record.rows) + 50  # of those, some were computed before

    def is_slow(record):
        workers = record.history["worker"][begun:].tolist()
        return workers.count(0) > 50 + 3 * workers.count(1)

    until(lab, is_slow)
    lab.stop()
    lab.wait()
    assert events(lab, "/job:worker/task:2")[0] == "frozen" and "thawed" in events(lab, "/job:worker/task:2")
    assert events(lab)[0] == "slowed"


@pytest.mark.long
def test_the_picture_grows_while_the_training_runs(lab):
    lab._wire = line = Line()
    lab.seconds = 61.0
    until(lab, lambda record: len([one for one in line.sent if one.get("answer", {}).get("versions")]) >= 3)
    begun, *later = [message for message in line.sent if "answer" in message]
    assert begun["answer"]["versions"] == [] and list(begun["answer"]["lives"]) == [PS, *WORKERS]
    assert all(message["settings"] == lab.state() and 0 < message["busy"] < 1 for message in later)
    assert later[0]["answer"]["until"] < later[-1]["answer"]["until"]
    assert later[-1]["answer"]["versions"][-1][1] > 0 and set(later[-1]["answer"]["losses"]) <= {0, 1, 2}
    lab.stop()
    lab.wait()
    assert "answer" in line.sent[-1] and "busy" not in line.sent[-1]


def test_when_nothing_runs_hits_are_refused_and_a_button_says_so(lab):
    with pytest.raises(RuntimeError, match="no training runs. Start one by refresh"):
        lab.act("kill", WORKER)
    assert "no training runs" in press(lab, "kill", WORKER)


def test_a_task_or_an_action_that_does_not_exist_is_named(lab):
    lab.seconds = 62.0
    until(lab, lambda record: record.rows)
    with pytest.raises(ValueError, match="the tasks of this cluster are"):
        lab.act("kill", "/job:worker/task:7")
    with pytest.raises(ValueError, match="kill, freeze, thaw, slow, quick"):
        lab.act("tickle", WORKER)
    for plan in ([(1, "tickle", WORKER)], [(1, "kill")], [("soon", "kill", WORKER)]):
        with pytest.raises(traitlets.TraitError, match="give \\(second, action, task\\)"):
            lab.plan = plan
    lab.stop()
    lab.wait()


def test_a_plan_that_cannot_be_done_ends_the_training_and_says_why(lab):
    lab.plan = [(0.2, "kill", "/job:worker/task:7")]
    lab.wait()
    assert "the plan could not kill /job:worker/task:7" in lab.result.ended


@pytest.mark.long
def test_a_run_may_be_stopped_and_run_again_from_another_thread(lab):
    lab.plan = []
    lab.seconds = 59.0
    until(lab, lambda record: len(record.rows) > 10)
    lab.stop()
    assert "by its button" in lab.wait().result.ended
    thread = threading.Thread(target=lab.set_trait, args=("seconds", 1.0))
    thread.start()
    thread.join()
    assert "1 seconds are over" in lab.wait().result.ended


def test_a_new_lab_ends_the_one_before_and_closing_one_in_the_middle_ends_its_processes_and_may_be_done_twice(lab):
    of_the_first = below()
    second = FailureLab(seconds=30)
    until(second, lambda record: record.rows)
    assert_ended(of_the_first)
    with pytest.raises(RuntimeError, match="it is closed; make a new one"):
        lab.engine(**lab.state())
    of_the_second = below()
    second.close()
    second.close()
    assert_ended(of_the_second)
