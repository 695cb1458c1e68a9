"""Summaries: TensorBoard's own reader finds in the event files what training did."""

import errno
import os
import subprocess
import sys
import time
from functools import partial

import pytest
import torch
from tensorboard.compat.proto.graph_pb2 import GraphDef

from course.training import Hook, Validate, WriteSummaries, linear_regression, mnist, train_in_turns

LINE = linear_regression()
SGD = partial(torch.optim.SGD, lr=0.02)


class Layers:
    """A problem with a matrix, a vector, a single number and an empty tensor."""

    def initial(self):
        return {"matrix": torch.ones(3, 4), "vector": torch.ones(5), "number": torch.ones(()), "none": torch.ones(0)}

    def batch(self, worker, version, generator):
        return torch.rand(1, generator=generator)

    def loss(self, parameters, batch):
        return sum((value * batch).square().sum() for value in parameters.values())

    def validate(self, parameters):
        return {"norm": parameters["vector"].norm()}


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    return events


def scalars(events, tag):
    return [(event.step, event.value) for event in events.Scalars(tag)]


def texts(events, tag):
    return [event.tensor_proto.string_val[0].decode() for event in events.Tensors(f"{tag}/text_summary")]


def test_losses_and_staleness_are_the_means_of_each_worker_since_the_last_time(tmp_path):
    result = train_in_turns(LINE, optimizer=SGD, workers=2, total_steps=100, hooks=[WriteSummaries(tmp_path, every=20)])
    events = read(tmp_path)
    for worker in (0, 1):
        rows = result.of_worker(worker)
        mine = [rows[(rows["step"] > end - 20) & (rows["step"] <= end)] for end in range(20, 101, 20)]
        wanted = [(end, part["loss"].mean()) for end, part in zip(range(20, 101, 20), mine, strict=True)]
        got = scalars(events, f"loss/worker_{worker}")
        assert [at for at, _ in got] == [at for at, _ in wanted]
        assert [value for _, value in got] == pytest.approx([value for _, value in wanted], rel=1e-6)
        late = [(part["step"] - 1 - part["version"]).mean() for part in mine]
        assert [value for _, value in scalars(events, f"staleness/worker_{worker}")] == pytest.approx(late)
    rates = scalars(events, "steps_per_second")
    assert len(rates) >= 3 and all(rate > 0 for _, rate in rates)


def test_a_synchronous_update_counts_all_its_gradients(tmp_path):
    hooks = [WriteSummaries(tmp_path, every=1)]
    result = train_in_turns(LINE, optimizer=SGD, mode="sync", workers=3, total_steps=4, hooks=hooks)
    written = sum(len(scalars(read(tmp_path), f"loss/worker_{worker}")) for worker in range(3))
    assert written == len(result.history) - 2, "the last update's last two are told after it was written"


def test_parameters_are_histograms_and_single_numbers_curves(tmp_path):
    hooks = [WriteSummaries(tmp_path, every=10, histograms=10)]
    result = train_in_turns(Layers(), optimizer=SGD, total_steps=25, hooks=hooks)
    events = read(tmp_path)
    assert sorted(events.Tags()["histograms"]) == ["parameters/matrix", "parameters/vector"]
    assert [event.step for event in events.Histograms("parameters/matrix")] == [10, 20, 25]
    last = events.Histograms("parameters/matrix")[-1].histogram_value
    assert last.num == 12 and last.sum == pytest.approx(result.parameters["matrix"].sum().item())
    assert scalars(events, "parameters/number")[-1] == (25, pytest.approx(result.parameters["number"].item()))


def test_histograms_may_be_left_out(tmp_path):
    train_in_turns(Layers(), optimizer=SGD, total_steps=25, hooks=[WriteSummaries(tmp_path, every=5, histograms=None)])
    events = read(tmp_path)
    assert events.Tags()["histograms"] == [] and not any("parameters" in tag for tag in events.Tags()["scalars"])


@pytest.mark.parametrize("first", [True, False])
def test_the_last_validation_is_written_whichever_hook_comes_first(first, tmp_path):
    hooks = [WriteSummaries(tmp_path), Validate(every=10)]
    train_in_turns(Layers(), optimizer=SGD, total_steps=25, hooks=hooks if first else hooks[::-1])
    results = next(hook for hook in hooks if isinstance(hook, Validate)).results
    assert scalars(read(tmp_path), "validation/norm") == [(at, pytest.approx(v["norm"])) for at, v in results]
    assert [at for at, _ in results] == [10, 20, 25]


@pytest.mark.parametrize(
    ("problem", "parameters", "operations"),
    [(LINE, {"slope", "intercept"}, {"mul", "mean"}), (Layers(), {"matrix", "vector", "number", "none"}, {"sum"})]
    + [(mnist(), {"hidden", "hidden_bias", "output", "output_bias"}, {"addmm", "sigmoid", "cross_entropy_loss"})],
    ids=["line", "layers", "mnist"],
)
def test_the_graph_has_the_parameters_and_the_operations_of_the_loss(problem, parameters, operations, tmp_path, capsys):
    train_in_turns(problem, optimizer=SGD, total_steps=1, hooks=[WriteSummaries(tmp_path, histograms=None)])
    nodes = GraphDef.FromString(read(tmp_path).Graph().SerializeToString()).node
    names = {node.name.rpartition("/")[2] for node in nodes if node.op == "prim::GetAttr"}
    assert parameters <= names and operations <= {node.op.removeprefix("aten::") for node in nodes}
    assert sum(node.name.startswith("input/") for node in nodes) == (1 if isinstance(problem, Layers) else 2)
    arrows = {source for node in nodes for source in node.input if not source.endswith("/self")}
    assert arrows <= {node.name for node in nodes}
    assert capsys.readouterr().out == ""


class Untraceable(Layers):
    def batch(self, worker, version, generator):
        return {"a word": "no tensor"}

    def loss(self, parameters, batch):
        return sum(value.sum() for value in parameters.values())


def test_what_cannot_be_drawn_is_a_text_and_may_be_left_out(tmp_path, capsys):
    for graph in (True, False):
        hooks = [WriteSummaries(tmp_path / str(graph), graph=graph)]
        assert train_in_turns(Untraceable(), optimizer=SGD, total_steps=2, hooks=hooks).version == 2
        events = read(tmp_path / str(graph))
        assert not events.Tags()["graph"] and ("graph/text_summary" in events.Tags()["tensors"]) == graph
    assert "the loss can't be traced: " in texts(read(tmp_path / "True"), "graph")[0] and capsys.readouterr().out == ""


def test_settings_and_events_are_texts(tmp_path):
    hooks = [WriteSummaries(tmp_path / "s")]
    train_in_turns(LINE, optimizer=SGD, total_steps=3, hooks=hooks, seed=41, checkpoint_dir=tmp_path / "c")
    events = read(tmp_path / "s")
    (settings,) = texts(events, "settings")
    assert "LinearRegression(y = 2·x + 10 + noise, 100 points)" in settings and "| seed | 41 |" in settings
    assert texts(events, "events") == ["checkpoint saved the start", "checkpoint saved the end"]


def test_a_resumed_training_s_curves_go_on_and_what_was_undone_is_gone(tmp_path):
    def run(steps, **more):
        second = int(time.time())  # TensorBoard reads files in the order of the second in their names
        while int(time.time()) == second:  # a sleep may end a little before the clock's second does
            time.sleep(0.01)
        hooks = [WriteSummaries(tmp_path / "s", every=1)]
        return train_in_turns(
            LINE, optimizer=SGD, total_steps=steps, hooks=hooks, checkpoint_dir=tmp_path / "c", **more
        )

    run(20)
    for path in (tmp_path / "c").glob("checkpoint-0000-000000000020*"):
        path.unlink()
    resumed = run(5)  # from step 0: as after a crash before the second save
    assert resumed.restored_from == 0
    run(8)
    steps = [at for at, _ in scalars(read(tmp_path / "s"), "loss/worker_0")]
    assert steps == list(range(1, 9))


class Broken(Hook):
    def after_run(self, session, step):
        if step.step == 30:
            raise RuntimeError("broken")


def test_what_was_collected_is_in_the_file_after_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="broken"):
        train_in_turns(LINE, optimizer=SGD, hooks=[WriteSummaries(tmp_path, every=10), Broken()])
    assert [at for at, _ in scalars(read(tmp_path), "loss/worker_0")] == [10, 20, 30]


def test_a_folder_that_cannot_be_written_is_a_warning_and_training_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="summaries can't be written") as caught:
        result = train_in_turns(
            LINE, optimizer=SGD, total_steps=300, hooks=[WriteSummaries(tmp_path / "file", every=10)]
        )
    assert result.version == 300 and len(caught) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # TensorBoard's thread says it too
def test_a_disk_that_fills_up_is_a_warning_and_training_goes_on(tmp_path, monkeypatch):
    from tensorboard.compat.tensorflow_stub.io import gfile

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class Filling(Hook):
        def after_run(self, session, step):
            if step.step == 50:
                monkeypatch.setattr(gfile.LocalFileSystem, "append", full)
                monkeypatch.setattr(gfile.LocalFileSystem, "write", full)

    with pytest.warns(UserWarning, match="No space left.*Training goes on"):
        result = train_in_turns(
            LINE, optimizer=SGD, total_steps=3000, hooks=[WriteSummaries(tmp_path, every=1), Filling()]
        )
    assert result.version == 3000


@pytest.mark.long
def test_tensorboard_is_imported_by_who_writes_summaries_only():
    code = "import sys, course.training; sys.exit('tensorboard' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0


def test_an_address_in_a_store_is_refused_with_what_to_give_instead():
    with pytest.raises(ValueError, match="can't. Name a folder here"):
        WriteSummaries("s3://bucket/summaries")
