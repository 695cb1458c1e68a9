"""Hooks: what they are told and when, what they save, measure and show, and what happens when they fail."""

import io
import os
import sys
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from course.training import (
    Checkpoints,
    Hook,
    SaveCheckpoint,
    ShowProgress,
    Snapshot,
    StepRate,
    StopAtStep,
    StopOnNaN,
    Validate,
    WriteSummaries,
    linear_regression,
    train,
    train_in_turns,
)
from course.training.hooks import every
from course.training.hooks.base import Session, begun
from course.training.hooks.every import USUAL_SECONDS, with_saving
from course.training.hooks.fetches import tell
from course.training.records import Step

LINE = linear_regression()
SGD = partial(torch.optim.SGD, lr=0.02)
TURNS = partial(train_in_turns, LINE, optimizer=SGD)


class Held(type(LINE)):
    """A line with a validation, which counts how often it is asked."""

    asked = 0

    def validate(self, parameters):
        type(self).asked += 1
        return {"slope": parameters["slope"], "intercept": parameters["intercept"].item()}


HELD = Held(LINE.x, LINE.y, LINE.slope, LINE.intercept, LINE.batch_size)


class Diary(Hook):
    def __init__(self):
        self.lines, self.last = [], None

    def begin(self, session):
        self.lines.append("begin")

    def event(self, session, event):
        self.lines.append(f"{event.what} {event.step}")

    def validated(self, session, step, values):
        self.lines.append(f"validated {step}")

    def end(self, session):
        self.lines.append("end")
        self.last = session.parameters() if session.finished else None


def step(number, worker=0, loss=1.0, applied=None):
    return Step(number, worker, number - 1, loss, 0.0, number / 100 if applied is None else applied)


# --- failures --------------------------------------------------------------------------------------------------------


class Failing(Diary):
    """Raises in the methods named."""

    def __init__(self, *methods, error=RuntimeError):
        def fail(method):
            def call(*_):
                raise error(f"failed in {method}")

            return call

        super().__init__()
        for method in methods:
            setattr(self, method, fail(method))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("method", ["begin", "before_run", "after_run", "event", "validated", "finished", "end"])
def test_wherever_a_hook_fails_the_others_are_told_the_end_and_its_error_is_raised(method, error, tmp_path):
    before, failing, after = Diary(), Failing(method, error=error), Diary()
    hooks = [before, Validate(every=1), failing, after]
    with pytest.raises(error, match=f"failed in {method}$"):
        train_in_turns(HELD, optimizer=SGD, total_steps=5, hooks=hooks, checkpoint_dir=tmp_path)
    assert before.lines[0] == "begin" and before.lines[-1] == "end" and before.lines.count("end") == 1
    assert method == "end" or failing.lines[-1] == "end", "it may have opened something in begin"
    assert after.lines == [] if method == "begin" else after.lines[-1] == "end"
    if method not in ("begin", "event"):
        reached = 5 if method in ("finished", "end") else 0 if method == "before_run" else 1
        assert Checkpoints(tmp_path).latest().version == reached
        assert torch.equal(after.last["slope"], Checkpoints(tmp_path).latest().parameters["slope"])


def test_the_first_failure_is_raised_and_those_of_other_ends_are_its_notes():
    hooks = [Failing("end"), Diary(), Failing("end", error=OSError), Failing("after_run", error=KeyError)]
    with pytest.raises(KeyError, match="failed in after_run") as caught:
        TURNS(hooks=hooks)
    assert caught.value.__notes__ == [
        "Failing.end then raised OSError: failed in end",
        "Failing.end then raised RuntimeError: failed in end",
    ]
    assert hooks[1].lines == ["begin", "end"]


def test_what_fails_while_the_last_state_is_saved_is_a_note_of_the_error_that_ended_training(tmp_path):
    class Late(Failing):
        def event(self, session, event):
            if session.step == 1:
                raise OSError("no room for news")

    with pytest.raises(RuntimeError, match="failed in after_run") as caught:
        TURNS(hooks=[Late("after_run")], checkpoint_dir=tmp_path)
    assert caught.value.__notes__ == ["The last state could not be kept: OSError: no room for news"]
    assert Checkpoints(tmp_path).latest().version == 1, "the hook failed after it was saved"


def test_stop_on_nan_leaves_a_checkpoint_from_before(tmp_path):
    wild, hooks = partial(torch.optim.SGD, lr=5.0), [StopOnNaN(), SaveCheckpoint(steps=10)]
    result = train_in_turns(LINE, optimizer=wild, hooks=hooks, checkpoint_dir=tmp_path)
    assert "not finite" in result.stopped_by
    assert all(value.isfinite().all() for value in Checkpoints(tmp_path).latest().parameters.values())


# --- saving ----------------------------------------------------------------------------------------------------------


def saved(result):
    return [event.step for event in result.events if event.what == "checkpoint saved"]


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [(10, [0, 10, 20, 25]), (25, [0, 25]), (100, [0, 25]), (7, [0, 7, 14, 21, 25]), (1, list(range(26)))],
)
@pytest.mark.parametrize("mode", ["async", "sync"])
def test_checkpoints_come_every_so_many_steps_at_the_start_and_at_the_end_each_once(steps, wanted, mode, tmp_path):
    hooks = [SaveCheckpoint(steps=steps)]
    result = TURNS(mode=mode, workers=2, total_steps=25, hooks=hooks, checkpoint_dir=tmp_path, keep=99)
    assert saved(result) == wanted == [checkpoint.version for checkpoint in Checkpoints(tmp_path).all()]


def test_a_resumed_training_saves_at_the_same_steps(tmp_path):
    hooks = [SaveCheckpoint(steps=10)]
    TURNS(total_steps=25, hooks=hooks, checkpoint_dir=tmp_path)
    assert saved(TURNS(total_steps=45, hooks=hooks, checkpoint_dir=tmp_path)) == [25, 30, 40, 45]


def test_seconds_are_counted_from_the_end_of_the_last_save(monkeypatch, tmp_path):
    clock = [0.0]
    monkeypatch.setattr(every, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    hook = SaveCheckpoint(seconds=10)

    class Slow(Checkpoints):
        def save(self, snapshot):
            clock[0] += 8
            return super().save(snapshot)

    session = saving(Slow(tmp_path, keep=9))
    with begun(session, [hook]):
        for number in range(1, 40):
            clock[0] += 1
            tell(session, step(number))
    assert [checkpoint.version for checkpoint in Checkpoints(tmp_path).all()] == [10, 20, 30]


def saving(checkpoints):
    """Return a session of a training that saves into `checkpoints`."""
    session = Session(100, dict, lambda: Snapshot(session.step, {"w": torch.zeros(1)}), checkpoints=checkpoints)
    return session


@pytest.mark.parametrize(
    ("steps", "multiples"),
    [
        ([*range(1, 35), *range(13, 23)], [10, 20, 30, 20]),
        ([10, 11], [10]),  # the first step may be any number
        ([11, 19, 21], [21]),
        ([25, 20, 21], [20]),  # and so may the first one after a restart
        ([25, 11, 30], [30]),
    ],
)
def test_steps_are_counted_anew_after_a_restart_from_a_checkpoint(tmp_path, steps, multiples):
    session = saving(Checkpoints(tmp_path, 99))
    with begun(session, [SaveCheckpoint(steps=10)]):
        for number in steps:
            tell(session, step(number))
    assert [event.step for event in session.events] == multiples


def test_to_save_without_a_folder_is_refused_before_training():
    with pytest.raises(ValueError, match=r"SaveCheckpoint\(steps=3\).*checkpoint_dir="):
        TURNS(hooks=[SaveCheckpoint(steps=3)])


def test_without_the_hook_a_folder_means_a_checkpoint_now_and_then():
    (added,) = with_saving((), "checkpoints")
    assert added.seconds == USUAL_SECONDS
    assert with_saving([added], "checkpoints") == [added] and with_saving((), None) == []


def test_a_learner_s_hook_can_save_when_it_likes(tmp_path):
    class Best(Hook):
        def after_run(self, session, step):
            if step.step == 3:
                self.path = session.save("the third")

    best = Best()
    result = TURNS(total_steps=5, hooks=[best], checkpoint_dir=tmp_path)
    assert saved(result) == [0, 3, 5] and Checkpoints(tmp_path).load(best.path).version == 3
    assert result.events[1].reason == "the third"
    assert TURNS(total_steps=5, hooks=[best]).version == 5 and best.path is None


# --- validating ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("total_steps", "steps"), [(25, [10, 20, 25]), (20, [10, 20])])
def test_validation_comes_every_so_many_updates_and_at_the_end_once(capsys, total_steps, steps):
    hook, diary = Validate(every=10, show=True), Diary()
    result = train_in_turns(HELD, optimizer=SGD, workers=2, total_steps=total_steps, hooks=[hook, diary])
    assert [at for at, _ in hook.results] == steps
    assert hook.results[-1][1]["slope"] == result.parameters["slope"].item()
    assert all(type(value) is float for _, values in hook.results for value in values.values())
    assert diary.lines == ["begin", *(f"validated {at}" for at in steps), "end"]
    assert capsys.readouterr().out.splitlines()[0].startswith("step 10: slope ")


@pytest.mark.parametrize("train", [TURNS, partial(train, LINE, None, optimizer=SGD)])
def test_a_problem_that_cannot_be_validated_is_refused_before_anything_starts(train, tmp_path):
    diary = Diary()
    with pytest.raises(ValueError, match="LinearRegression.* has no validate"):
        train(hooks=[diary, Validate()], checkpoint_dir=tmp_path / "new")
    assert diary.lines == [] and not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("hook", "arguments", "words"),
    [
        *((SaveCheckpoint, {"seconds": seconds, "steps": 0}, "above 0") for seconds in (None, 1)),
        (SaveCheckpoint, {}, "give one of them, above 0"),
        (SaveCheckpoint, {"seconds": -1}, "above 0"),
        (SaveCheckpoint, {"seconds": float("nan")}, "above 0"),
        (StepRate, {"every": 0}, "from 1 up"),
        (StopAtStep, {"last_step": -1}, "from 0 up"),
        (Validate, {"every": 0}, "every=0"),
        (WriteSummaries, {"folder": "", "every": 0}, r"WriteSummaries\(every=0"),
        (WriteSummaries, {"folder": "", "histograms": 0}, "histograms=0"),
    ],
)
def test_a_hook_that_would_never_or_always_act_is_refused(hook, arguments, words):
    with pytest.raises(ValueError, match=words):
        hook(**arguments)


# --- measuring and showing -------------------------------------------------------------------------------------------


def test_the_rate_is_that_of_the_store_s_clock_and_starts_anew_after_a_restart():
    hook = StepRate(every=10)
    session = Session(100, dict, dict)
    with begun(session, [hook]):
        for number in range(1, 32):
            tell(session, step(number, applied=number / 50))
        for number in range(21, 32):
            tell(session, step(number, applied=10 + number / 200))
    assert [at for at, _ in hook.rates] == [11, 21, 31, 31]
    assert [rate for _, rate in hook.rates] == pytest.approx([50, 50, 50, 200]) and hook.rate == hook.rates[-1][1]


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_one_line_that_renews_itself_on_a_screen(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr("course.progress_line._RENEW", 0.0)
    TURNS(total_steps=30, hooks=[ShowProgress()])
    shown = screen.getvalue()
    assert shown.count("\n") == 1 and shown.count("\r") == 31
    first, *_, last = shown.strip().split("\r")
    assert first.startswith("1 of 30 updates · loss ") and last.strip() == "30 of 30 updates"
    assert "a second" in shown


def test_progress_says_why_it_stopped_and_counts_to_the_limit_that_holds(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    TURNS(hooks=[ShowProgress(), StopAtStep(20)])
    assert screen.getvalue().strip().split("\r")[-1].strip() == "20 of 20 updates"


def test_progress_writes_nothing_into_a_file(capsys):
    TURNS(total_steps=30, hooks=[ShowProgress()])
    assert capsys.readouterr().out == ""


@pytest.mark.long
def test_progress_leaves_one_stored_output_that_is_the_same_in_every_run():
    import nbformat
    from nbclient import NotebookClient

    source = (
        "import torch\nfrom functools import partial\n"
        "from course.training import ShowProgress, linear_regression, train_in_turns\n"
        "sgd = partial(torch.optim.SGD, lr=0.02)\n"
        "train_in_turns(linear_regression(), optimizer=sgd, total_steps=300, hooks=[ShowProgress()]);"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(book, timeout=100, kernel_name="python3", resources={"metadata": {"path": os.getcwd()}}).execute()
    assert [output.data for output in book.cells[0].outputs] == [{}, {"text/plain": "300 of 300 updates"}]


# --- over real processes ---------------------------------------------------------------------------------------------


def test_over_a_cluster_hooks_see_snapshots_and_a_failing_one_loses_nothing(shared_cluster, tmp_path):
    class Stopping(Diary):
        def after_run(self, session, step):
            if step.step >= 60:
                raise RuntimeError("enough")

    adam = partial(torch.optim.Adam, lr=0.05)
    diary, validated = Stopping(), Validate(every=20)
    hooks = [validated, SaveCheckpoint(steps=20), diary]
    with pytest.raises(RuntimeError, match="enough"):
        train(HELD, shared_cluster, optimizer=adam, hooks=hooks, checkpoint_dir=tmp_path)
    newest = Checkpoints(tmp_path).latest()
    assert newest.version >= 60 and newest.kind == "Adam" and set(newest.optimizer["state"]) == {"slope", "intercept"}
    assert torch.equal(diary.last["slope"], newest.parameters["slope"]) and diary.lines[-1] == "end"
    assert validated.results[-1] == (newest.version, HELD.validate(newest.parameters))
    steps = [at for at, _ in validated.results]
    assert steps == sorted(set(steps)) and len(steps) >= 3
    # what was saved goes on in one process as it would have gone on in two
    result = train_in_turns(HELD, optimizer=adam, total_steps=newest.version + 1, checkpoint_dir=tmp_path)
    assert result.restored_from == newest.version and len(result.history) == 1
