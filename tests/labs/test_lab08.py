"""Lab 08 holds what it promises: oracles against other ways to know, and a server whose record nobody else writes."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings

from course.checks import check
from course.checks.discovery import load_part
from course.checks.exercise import Case
from tests.labs.solved import solved

LAB = Path(__file__).parents[2] / "labs/lab08_serving"
driver, oracles, scripts = (load_part(LAB, name) for name in ("driver", "oracles", "scripts"))
record, server_host, strategies = (load_part(LAB, name) for name in ("record", "server_host", "strategies"))


@pytest.fixture(scope="module")
def answers():
    """What the lab's solutions define."""
    return solved(LAB)


# ---- the oracles -----------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(strategies.loads())
def test_latencies_looked_up_are_those_of_workers_that_are_let_run(load):
    due, lasts, workers = load
    # in steps of a hundredth: who is begun when, with the workers as a list of seconds left
    left, waiting, ends, now = [0] * workers, list(range(len(due))), {}, 0
    while len(ends) < len(due):
        for worker in range(workers):
            if left[worker] == 0 and waiting and due[waiting[0]] <= now:
                ends[waiting[0]] = now + lasts[waiting[0]]
                left[worker] = int(lasts[waiting.pop(0)])
        left, now = [max(0, one - 1) for one in left], now + 1
    wanted = [ends[k] - due[k] for k in range(len(due))]
    np.testing.assert_allclose(oracles.looked_up_latencies(*load), wanted)


def test_a_mean_latency_is_the_one_that_queueing_theory_knows():
    # M/D/1, half busy: a wait of half the work, by Pollaczek and Khinchine; parts of the run give its standard error
    due = np.sort(np.random.default_rng(0).uniform(0, 4000, 2000))
    took = oracles.looked_up_latencies(due, np.ones(2000), 1)
    parts = took.reshape(20, 100).mean(axis=1)
    assert abs(took.mean() - 1.5) < 4 * parts.std() / math.sqrt(20)


@settings(max_examples=40)
@given(strategies.batchers())
def test_what_a_batcher_is_told_keeps_every_rule_of_the_text(case):
    limit, room, events = case
    queue, idle = [], 0
    for (what, now, *request), (word, batch) in zip(events, oracles.batcher_told(*case), strict=True):
        waiting = {one[0]: one for one in queue if one[3] > now}
        assert not (waiting and idle)  # nobody waits beside an idle worker
        if what == "take":
            assert word == ("started" if idle else "queued" if len(waiting) < room else "refused")
            idle -= word == "started"
            queue += [request] if word == "queued" else []
            continue
        assert batch[:1] == list(waiting)[:1]  # the first who waits is in it, or nobody waits
        alike = [number for number, one in waiting.items() if one[2] == waiting[batch[0]][2]]
        assert batch == alike[: len(batch)]
        assert sum(waiting[number][1] for number in batch) <= limit
        assert batch == alike or sum(waiting[number][1] for number in alike[: len(batch) + 1]) > limit
        queue, idle = [one for one in queue if one[0] not in batch], idle + (not batch)


@settings(max_examples=40)
@given(strategies.histograms())
def test_shares_halved_are_those_interpolated(answers, case):
    wanted, found = oracles.halved_quantile(*case), answers["quantile"](*case)
    assert (math.isnan(wanted) and math.isnan(found)) or math.isclose(wanted, found, rel_tol=1e-8)


def test_the_quantile_of_prometheus_documentation_is_found():
    # half of ten requests in (1, 2], the rest in (2, 4]: the 9th of 10 is four fifths into its bucket
    bounds, counts = np.array([1.0, 2.0, 4.0, math.inf]), np.array([0, 5, 10, 10])
    assert oracles.halved_quantile(0.9, bounds, [(0 * counts, counts)]) == pytest.approx(2 + 2 * 0.8)


@settings(max_examples=25)
@given(strategies.folders())
def test_a_folder_in_a_dictionary_is_as_the_one_on_disk(answers, case):
    found = driver.drive_newest(answers["newest"], *case)
    assert oracles.judge_newest(found, *case) is None


def test_a_watcher_that_writes_into_the_folder_is_seen():
    def newest(directory, served):
        Path(directory, "note").touch()
        return 0

    assert "changed the folder" in oracles.judge_newest(driver.drive_newest(newest, 0, [("look",)]), 0, [("look",)])


# ---- the server ------------------------------------------------------------------------------------------------------


def over_a_socket(port, entry, request, deadline):
    names = {}
    exec(load_part(LAB, "marking").ASKING, names)
    return names["drive"](entry, port, request, deadline)


@settings(max_examples=15)
@given(strategies.calls())
def test_the_server_over_a_socket_keeps_the_same_record_as_the_one_in_the_notebook(answers, case):
    here, there = server_host.Script(case.plan), server_host.Host(case.plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(answers, "random", SimpleNamespace(random=lambda: 0.5))
        try:
            gave = driver.drive_call(answers["call"], here.ask, *case.arguments)
            also = over_a_socket(there.address, answers["call"], *case.arguments)
        finally:
            seen = there.seen()
    assert (also, seen) == (gave, here.record)
    assert record.judge_call(case, SimpleNamespace(gave=gave, seen=seen)) is None


def test_who_asks_for_ever_is_told_that_it_is_enough():
    server = server_host.Script({"start": 0.0, "script": [["refused", 0.0, None]]})
    told = [server.ask("sleep", 1.0) for _ in range(server_host.MOST + 5)]
    assert "enough" in told[-1]["error"] and len(server.record) == server_host.MOST


def judged(script, left, lines, gave, request=scripts.INFER, group="deadline"):
    """Return what is said of a record of ("send", timeout) and ("sleep", seconds)."""
    case = Case((request, 100.0 + left), group=group, plan={"start": 100.0, "script": script})
    seen = [(what, 0.0, seconds, json.dumps(request) if what == "send" else "") for what, seconds in lines]
    return record.judge_call(case, SimpleNamespace(gave=gave, seen=seen))


def test_a_pause_may_be_anywhere_between_its_bounds_and_nowhere_else():
    script = [["refused", 0.0, None], ["refused", 0.0, None], [200, 0.0, None]]
    for first, second, said in [(0.05, 0.1, None), (0.1, 0.2, None), (0.04, 0.1, "pause 1"), (0.1, 0.21, "pause 2")]:
        lines = [("send", 9.0), ("sleep", first), ("send", 9.0), ("sleep", second), ("send", 9.0)]
        told = judged(script, 9.0, lines, (200, ""), group="pauses")
        assert (told or "").startswith(said or "") and (told is None) == (said is None)


def test_giving_up_is_right_where_the_longest_pause_does_not_fit():
    script = [["refused", 0.5, None]]
    assert judged(script, 0.55, [("send", 0.55)], (None, "ConnectionRefusedError")) is None
    assert "with 0.3 s left" in judged(script, 0.8, [("send", 0.8)], (None, "ConnectionRefusedError"))
    assert "expected it to raise" in judged(script, 0.55, [("send", 0.55)], (None, "TimeoutError"))


# ---- the checks ------------------------------------------------------------------------------------------------------


def test_a_counterexample_tells_the_look_the_call_and_the_script(answers, monkeypatch):
    monkeypatch.chdir(LAB)
    told = {
        "newest": lambda directory, served: 0,
        "call": lambda request, send, clock, sleep, deadline: send(request, deadline - clock()),
        "quantile": lambda share, bounds, readings: 1.0,
    }
    told = {name: check(wrong, name).message for name, wrong in told.items()}
    assert "look 1, after write 1/checksums.json for model.pt2 'a', gave 0; expected 1" in told["newest"]
    assert "the server: refused after 0.02 s, then 200 after 0.03 s" in told["call"]
    assert told["quantile"].startswith("quantile(0.5, [1.0, inf], [([0, 0], [1, 1])])")
