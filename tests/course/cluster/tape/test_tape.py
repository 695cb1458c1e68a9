"""A tape tells the truth: known tasks, dependencies and bytes, deaths, a training, a ring; and it ends well."""

import json
import operator
import time
from functools import partial, reduce

import numpy
import pytest
import torch
from dask import delayed

from course import map_reduce, replicas, training
from course.cluster import connect, local_cluster
from course.cluster.tape.columns import TICK
from course.cluster.tape.on_worker import TAPE_FLUSHED_EVERY
from course.cluster.tape.tape import Tape
from course.widgets import ClusterTimeline
from tests.helpers.shells import eventually

ONE, TWO = "/job:worker/task:0", "/job:worker/task:1"


@pytest.fixture(autouse=True)
def a_busy_task_is_waited_for(monkeypatch):
    """What a task has not sent when a tape ends is left out, and here each is to send all."""
    monkeypatch.setattr("course.cluster.tape.recorder.TAPE_ENDS", 60.0)


def at_work(*inputs):
    """Take 5 ms; return 100 kB."""
    time.sleep(0.005)
    return numpy.ones(12_500)


def lanes_of(record):
    return [(record.lanes[bar.lane], record.names[bar.name]) for bar in record.bars]


def test_every_task_is_on_the_tape_once_in_order_where_it_ran_with_what_it_waited_for(cluster):
    def first(*inputs):
        return at_work()

    def second(*inputs):
        return at_work()

    with cluster.record() as tape:
        with cluster.at(ONE):
            here = [delayed(first)(number) for number in range(3)]
        with cluster.at(TWO):
            last = delayed(second)(*here)
        cluster.client.compute(last, optimize_graph=False).result(timeout=30)
    record = tape.record
    assert lanes_of(record) == [(ONE, "first")] * 3 + [(TWO, "second")]
    assert record.edges == [(0, 3), (1, 3), (2, 3)]
    *earlier, end = record.bars
    assert all(bar.length * TICK >= 0.005 for bar in record.bars)
    assert all(one.stop <= other.start for one, other in zip(earlier, earlier[1:], strict=False))
    assert all(bar.stop <= end.start and bar.asked <= bar.start for bar in earlier)
    between = [move for move in record.moves if record.lanes[move.source] == ONE and record.lanes[move.target] == TWO]
    assert sum(move.nbytes for move in between) == pytest.approx(300_000, rel=0.01)
    # all on one clock, this machine's: what is sent was computed before, and its receiver waits for it
    assert all(earlier[0].stop <= move.start <= end.start for move in between)
    home = [move for move in record.moves if record.lanes[move.target] == "this process"]
    assert sum(move.nbytes for move in home) == pytest.approx(100_000, rel=0.01)


def test_arguments_that_leave_this_process_are_counted_and_arrive_when_their_task_begins(cluster):
    parts = [numpy.ones(1000), numpy.ones(3000)]
    with cluster.record() as tape:
        map_reduce(numpy.sum, operator.add, parts, cluster.executor)
        list(cluster.executor.map(len, [b"four"], timeout=30))
    sent = [move for move in tape.record.moves if tape.record.lanes[move.source] == "this process"]
    assert sorted(move.nbytes for move in sent) == [4, 8000, 24_000]
    starts = {(bar.lane, bar.start) for bar in tape.record.bars}
    assert all((move.target, move.start + move.length) in starts for move in sent)


def test_the_death_of_a_process_is_on_the_tape_with_the_work_that_it_took_along(cluster, tmp_path):
    begun = tmp_path / "begun"

    def slow():
        if begun.exists():
            return 1
        begun.touch()
        time.sleep(60)

    with cluster.record() as tape:
        with cluster.at(TWO):
            future = cluster.executor.submit(slow)
        eventually(begun.exists)
        cluster.kill(TWO)
        assert future.result(timeout=60) == 1
    record = tape.record
    changes = [event.what for event in record.events if record.lanes[event.lane] == TWO]
    assert [change for change in changes if change != "killed"] == ["gone", "joined"] and "killed" in changes
    lost, again = [bar for bar in record.bars if record.names[bar.name] == "slow"]
    gone = next(event.tick for event in record.events if event.what == "gone")
    assert (lost.ended, again.ended) == (2, 0)
    assert lost.stop <= gone <= again.start


def test_a_task_that_raises_is_marked_and_an_error_inside_keeps_the_tape(cluster):
    with pytest.raises(ZeroDivisionError), cluster.record() as tape:
        cluster.executor.submit(operator.truediv, 1, 0).result(timeout=30)
    assert [bar.ended for bar in tape.record.bars] == [1]
    tape.close()  # again
    assert len(tape.record.bars) == 1


def test_one_tape_at_a_time_and_a_tape_that_records_has_nothing_yet(cluster):
    with cluster.record() as tape:
        with pytest.raises(RuntimeError, match="being recorded already"):
            cluster.record()
        with pytest.raises(RuntimeError, match="still records"):
            ClusterTimeline(tape)
    assert cluster.recorder is None
    with cluster.record() as other:
        pass
    assert other.record.bars == []
    with pytest.raises(ValueError, match="no task ran"):
        ClusterTimeline(other)


def test_beyond_a_limit_a_tape_is_thinned_and_says_so_in_thirty_bytes_a_task(cluster, monkeypatch):
    monkeypatch.setattr("course.cluster.tape.recorder._LIMIT", 50)
    with cluster.record() as tape:
        assert len(list(cluster.executor.map(abs, range(200), timeout=60))) == 200
    record = tape.record
    assert record.seen["bars"] == 200
    assert 10 < len(record.bars) <= 50
    assert f"one in {record.one_in['bars']} of 200 tasks" in record.thinned
    assert record.thinned in repr(tape)
    assert record.waits() == {}  # what was left out would look like waiting
    assert record.nbytes - 22 * len(record.moves) <= 30 * len(record.bars)


def test_what_recording_costs_is_counted_a_few_calls_a_task(cluster):
    scheduler = cluster._runtime._scheduler
    calls, began = [], time.monotonic()
    with cluster.record():
        (plugin,) = [one for name, one in scheduler.plugins.items() if name.startswith("course-tape-")]
        for name in ("transition", "take_notes"):
            whole = getattr(plugin, name)

            def counted(*given, whole=whole, **more):
                calls.append(whole.__name__)
                return whole(*given, **more)

            setattr(plugin, name, counted)
        list(cluster.executor.map(abs, range(100), timeout=60))
    assert calls.count("transition") <= 6 * 100
    pauses = (time.monotonic() - began) / TAPE_FLUSHED_EVERY
    assert calls.count("take_notes") <= len(cluster.tasks) * (pauses + 2)  # and not one a transfer


def test_nothing_of_a_tape_is_left_in_any_process(cluster):
    def ours(dask_worker=None):
        return type(dask_worker.transfer_outgoing_log).__name__, [n for n in dask_worker.plugins if "tape" in n]

    with cluster.record():
        pass
    assert set(map(str, cluster.client.run(ours).values())) == {"('deque', [])"}
    scheduler = cluster._runtime._scheduler
    assert not [name for name in [*scheduler.plugins, *scheduler.handlers] if "course-tape" in name]


def test_a_cluster_that_was_joined_is_recorded_too(cluster):
    with connect(cluster.session_target, security=cluster._runtime.security) as joined, joined.record() as tape:
        with joined.at(ONE):
            assert joined.executor.submit(operator.add, 1, 2).result(timeout=30) == 3
    assert lanes_of(tape.record) == [(ONE, "add")]
    assert "one machine" in tape.record.clocks[ONE]


def test_a_tape_whose_cluster_is_closed_before_it_says_what_there_is():
    with local_cluster(worker=1) as short:
        tape = short.record()
        assert short.executor.submit(abs, -1).result(timeout=30) == 1
    assert len(tape.record.bars) == 1  # the cluster closed it first


def test_a_training_is_on_the_tape_its_gradients_pushes_pulls_and_versions(cluster):
    problem = training.linear_regression(slope=2, intercept=10, noise=0.3, points=100, batch_size=10)
    SGD = partial(torch.optim.SGD, lr=0.1)
    with cluster.record() as tape:
        result = training.train(problem, cluster, optimizer=SGD, mode="sync", total_steps=6)
    record, ps = tape.record, "/job:ps/task:0"
    gradients = {place: bar for place, bar in enumerate(record.bars) if record.names[bar.name] == "gradient"}
    numbers = [bar.number for bar in gradients.values()]
    assert numbers[:2] == [0, 0] and sorted(numbers)[:12] == [version for version in range(6) for _ in range(2)]
    assert [(mark.number, record.lanes[mark.lane]) for mark in record.marks] == [(number, ps) for number in range(1, 7)]
    size = sum(value.nbytes for value in result.parameters.values())
    assert sum(record.lanes[move.target] == ps and move.nbytes == size for move in record.moves) == 12
    ticks, workers = [mark.tick for mark in record.marks], sorted({bar.lane for bar in gradients.values()})
    assert ticks == sorted(ticks)
    used = {place: bar for place, bar in gradients.items() if bar.number <= 5}
    for place, bar in used.items():
        if bar.number:  # it waited for all gradients of the step before
            assert sorted(record.bars[source].lane for source, target in record.edges if target == place) == workers
    # a pull follows its version, and the next version follows it; the driver sets the versions' clock, late as it hears
    least = max(ticks[bar.number - 1] - bar.start for bar in used.values() if bar.number)
    assert least - 2 <= min(ticks[bar.number] - bar.start for bar in used.values()) and least * TICK < 5


def test_the_steps_of_ranks_wait_for_each_other_and_send_around_the_ring(cluster):
    def three_sums(rank, size):
        from torch import distributed

        for _ in range(3):
            distributed.all_reduce(torch.ones(1000))
        return rank

    with cluster.record() as tape:
        assert replicas.run_ranks(three_sums, cluster) == [0, 1]
    record = tape.record
    steps = [bar for bar in record.bars if record.names[bar.name] == "step of a rank"]
    assert sorted(bar.number for bar in steps) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(record.edges) == 3 * 4
    assert [move.nbytes for move in record.moves if move.nbytes == 4000] == [4000] * 6


def test_a_stored_tape_comes_back_as_it_was_and_says_that_it_is_recorded(cluster, tmp_path):
    with cluster.record() as tape:
        reduce(operator.add, cluster.executor.map(abs, range(3), timeout=30))
    tape.save(tmp_path / "tape.json")
    again = Tape.load(tmp_path / "tape.json")
    kept = {**vars(tape.record), "label": "recorded"}
    assert vars(again.record) == kept
    assert again.record.machine and again.record.date
    assert "recorded" in repr(ClusterTimeline(again))
    for broken in ("", "{}", json.dumps({"format": "course-tape 1"}), '{"format": "course-tape 2"}', "[1]"):
        (tmp_path / "no.json").write_text(broken)
        with pytest.raises(ValueError, match="this is no tape"):
            Tape.load(tmp_path / "no.json")


def test_the_tapes_that_come_with_the_course_can_be_shown_beside_another_one():
    assert [event.what for event in Tape.stored("darts").record.events] == ["killed", "gone", "joined"]
    shown = ClusterTimeline(Tape.stored("mean"), beside="darts")
    assert [record.label for record in shown.records] == ["recorded", "recorded"]
    assert "64 MB move" in shown.static().alt
    with pytest.raises(ValueError, match="darts, mean"):
        Tape.stored("median")
    with pytest.warns(DeprecationWarning, match="ClusterTimeline"):
        assert Tape.stored("mean").timeline("darts").records == shown.records


#: Source: Google's "Trace Event Format": what each kind of event must have.
NEEDED = {"X": {"dur", "name"}, "i": {"s", "name"}, "M": {"name", "args"}, "s": {"id", "name"}, "f": {"id", "bp"}}


def test_chromes_trace_has_the_fields_that_its_format_asks_for(cluster, tmp_path):
    with cluster.record() as tape:
        values = [delayed(operator.add)(number, number, pure=False) for number in range(3)]
        cluster.client.compute(delayed(sum)(values)).result(timeout=30)
    tape.chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    assert all(NEEDED[event["ph"]] | {"pid", "tid", "ts"} <= event.keys() for event in events)
    assert all(isinstance(event["ts"], int) and event.get("dur", 0) >= 0 for event in events)
    bars = [event for event in events if event["ph"] == "X" and event["cat"] == "task"]
    assert [(one["ts"], one["dur"]) for one in bars] == [(10 * bar.start, 10 * bar.length) for bar in tape.record.bars]
    flows = {phase: {event["id"] for event in events if event["ph"] == phase} for phase in "sf"}
    assert flows["s"] == flows["f"] == set(range(len(tape.record.edges)))
    assert flows["s"]


def test_what_if_a_bar_took_longer_in_python(cluster):
    with cluster.record() as tape:
        first = delayed(at_work)(0)
        cluster.client.compute(delayed(at_work)(first)).result(timeout=30)
    longer = tape.what_if(0, tape.record.bars[0].length * TICK + 0.1).record
    assert longer.bars[1].start == tape.record.bars[1].start + 10_000
    assert "what if bar 0" in repr(tape.what_if(0, 1))
    for bar, seconds in ((2, 1), (-1, 1), (0, -1)):
        with pytest.raises(ValueError, match="tape.what_if"):
            tape.what_if(bar, seconds)
