"""A contest: who dies, hangs, lies or is not installed is told, and the others go on; real ones, end to end, small."""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import count

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as some

from benchmarks import boards, contest, contestant, limit
from benchmarks.contest import LIMIT, OURS, Contest, Contestant, Together, held
from benchmarks.contestant import Work
from benchmarks.places import Places
from benchmarks.process import ContestantFailed, ContestantProcess, environment
from course import compiled

HERE = "tests.benchmarks.contestants:"
needs_a_compiler = pytest.mark.skipif(limit.compiler() is None, reason="no C compiler here")


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path, {"jax": "no wheel for this Python"})


@pytest.fixture(autouse=True)
def one_run_a_turn(monkeypatch):
    monkeypatch.setattr(contest, "TURN", 0.0)


def hold(places, *contestants, **about):
    """Hold one contest of `contestants`; return its result and what was said."""
    said = []
    (result,) = held(
        "topic", Contest("a contest", "runs/s", contestants, **{"rounds": 2, **about}), places, said.append
    )
    return result, said


def one(name, what, **more):
    return Contestant(name, HERE + what, **more)


def test_all_take_turns_and_have_a_figure_a_round(places):
    result, said = hold(places, one("a", "works"), one("b", "works", arguments={"seconds": 0.25}, kind=OURS, amount=2))
    assert result.entry("a").samples == (2, 2) and result.entry("b").samples == (8, 8)
    assert said == [] and result.ratio("b", "a").best == 4
    (times,) = held(
        "topic", Contest("times", "ms", (one("a", "works", amount=1e3),), "less", rounds=1), places, said.append
    )
    assert times.entry("a").samples == (500,)


def test_one_that_dies_is_told_with_its_last_words_and_keeps_what_it_did(places):
    result, said = hold(places, one("a", "works"), one("b", "dies"), one("c", "works"), rounds=3)
    assert result.entry("b").figures == [2] and len(result.entry("a").figures) == len(result.entry("c").figures) == 3
    assert "MemoryError: no room for the board" in result.entry("b").problem and "b: ended" in said[0]


@pytest.mark.long
def test_one_that_hangs_is_ended_with_all_that_it_started(places):
    note = places.folder / "child"
    hanging = one("a", "hangs", arguments={"note": str(note)}, patience=5)
    result, _ = hold(places, hanging, one("b", "works"))
    assert result.entry("a").problem == "did not end its run in 5 s, and was ended"
    assert len(result.entry("b").figures) == 2
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(note.read_text())).wait(10)  # TimeoutExpired: it was left behind


def test_one_that_cannot_begin_is_told(places):
    result, _ = hold(places, one("a", "is_not_there"), Contestant("b", "no.such.module:f"), one("c", "works"))
    assert "AttributeError" in result.entry("a").problem and "ModuleNotFoundError" in result.entry("b").problem
    assert len(result.entry("c").figures) == 2


def test_a_wrong_answer_is_told_and_none_of_its_times_counts(places):
    def right(contestant, answer):
        return "" if answer == 1 else f"{answer} is not 1"

    result, said = hold(places, one("a", "works", arguments={"answer": 2}), one("b", "works"), right=right)
    assert result.entry("a").figures == [] and result.entry("a").problem == "wrong answer: 2 is not 1"
    assert result.entry("b").samples == (2, 2) and said == ["  a: wrong answer: 2 is not 1"]


def test_one_that_is_right_at_first_and_then_wrong_has_no_figure_either(places):
    right = lambda contestant, answer: "" if answer == 1 else f"{answer} is not 1"  # noqa: E731
    result, _ = hold(places, one("a", "lies", arguments={"after": 2}), rounds=3, right=right)
    assert result.entry("a").figures == [] and "2 is not 1" in result.entry("a").problem


def test_a_turn_is_as_many_runs_as_begin_in_it_of_which_the_best_counts_and_every_answer_is_told(monkeypatch):
    clock, taken, answers = count(), iter([3, 1, 2, 9]), iter("aaba")
    monkeypatch.setattr(contestant.time, "perf_counter", lambda: next(clock))  # four looks a run
    work = Work(lambda: next(taken), lambda _: next(answers), seconds=float)
    assert contestant.turn(work, 9) == {"seconds": 1, "answers": ["a", "b"]} and next(taken) == 9
    assert contestant.turn(Work(lambda: None), 0) == {"seconds": 1, "answers": [None]}
    assert contestant.turn(Work(lambda: {"a": {"b": 7}}, figures=True), 60) == {"figures": {"a": {"b": 7}}}


@pytest.mark.skipif(not compiled.available(), reason="no numba here")
def test_numba_uses_no_vectors_wider_than_asked_for(places):
    right = lambda contestant, answer: "" if answer == ["xmm", "ymm"] else str(answer)  # noqa: E731
    result, _ = hold(places, one("a", "vectors", vectors="AVX2"), rounds=1, right=right)
    assert result.entry("a").problem == ""


def test_a_wrong_answer_within_a_turn_is_seen(places, monkeypatch):
    monkeypatch.setattr(contest, "TURN", 0.5)
    right = lambda contestant, answer: "" if answer == 1 else f"{answer} is not 1"  # noqa: E731
    result, _ = hold(places, one("a", "lies", arguments={"after": 20}), rounds=1, right=right)
    assert result.entry("a").problem == "wrong answer: 2 is not 1"


def test_what_a_library_prints_is_no_answer(places):
    assert hold(places, one("a", "talks"))[0].entry("a").samples == (2, 2)


def test_a_peer_that_is_not_installed_is_told_with_the_reason(places):
    result, _ = hold(places, one("a", "works", needs="jax"), one("b", "works", needs="ray"))
    assert result.entry("a").problem == "not installed: no wheel for this Python"
    assert "make bench PEERS=1" in result.entry("b").problem


def test_who_is_slow_to_start_is_left_out_by_quick_and_that_is_told(places):
    slow = Contest("a contest", "runs/s", (one("a", "dies", arguments={"runs": 0}, slow=True), one("b", "works")))
    (result,) = held("topic", slow, places, print, quick=True)
    assert result.entry("a").problem == "left out by --quick" and len(result.entry("b").figures) == 5


def test_one_process_may_measure_several_contests(places):
    figures = {"first": {"x": 1.0, "y": 2.0}, "second": {"x": 3.0}}
    pair = (Contestant("x", kind=OURS), Contestant("y"))
    contests = (Contest("first", "s", pair, "less"), Contest("second", "s", pair[:1], "less"))
    together = Together((one("all", "measures", arguments={"figures": figures}),), contests, rounds=2)
    first, second = held("topic", together, places, print)
    assert first.entry("y").samples == (2, 2) and second.entry("x").samples == (3, 3) and first.rounds == 2
    (lost,) = held("topic", Together((one("all", "dies", arguments={"runs": 0}),), contests[:1]), places, str)
    assert "MemoryError" in lost.entry("x").problem and lost.entry("x").figures == []


def test_several_processes_may_each_measure_some_figures_of_several_contests(places):
    pair = (Contestant("x", kind=OURS), Contestant("y"))
    contests = (Contest("first", "s", pair, "less"), Contest("second", "s", pair, "less"))
    figures = [{"first": {"x": 1.0}, "second": {"x": 2.0}}, {"first": {"y": 3.0}}]
    both = [one(f"process {at}", "measures", arguments={"figures": each}) for at, each in enumerate(figures)]
    dying = one("a third", "dies", arguments={"runs": 0})
    first, second = held("topic", Together((*both, dying), contests, rounds=2), places, str)
    assert first.entry("x").samples == (1, 1) and first.entry("y").samples == (3, 3) and first.entry("x").problem == ""
    assert second.entry("x").samples == (2, 2) and second.entry("y").figures == []
    assert second.entry("y").problem.startswith("a third: ended with status 1: MemoryError")


def test_ways_of_one_program_share_its_process_and_end_with_it(places):
    note = places.folder / "note"
    by = {way: one(way, "ways", arguments={"note": str(note)}, way=way) for way in ("first", "second")}
    result, said = hold(places, *by.values())
    assert result.entry("first").samples == (2, 2) and result.entry("second").samples == (4, 4) and said == []
    assert note.read_text() == "started\n"
    by["third"] = one("third", "ways", arguments={"note": str(note)}, way="third")
    result, said = hold(places, *by.values(), rounds=3)  # the third dies in the second round, after the second's turn
    assert [len(entry.figures) for entry in result.entries] == [1, 2, 1]
    assert all("MemoryError" in entry.problem for entry in result.entries) and len(said) == 3


def test_a_wrong_answer_of_one_way_leaves_the_others_their_process(places):
    right = lambda contestant, answer: "" if answer == 1 else f"{answer} is not 1"  # noqa: E731
    result, _ = hold(places, *(one(way, "ways", way=way) for way in ("first", "second")), right=right)
    assert result.entry("first").samples == (2, 2) and result.entry("second").figures == []


def test_processes_are_started_anew_as_often_as_asked_for_and_only_once_by_quick(places):
    note = places.folder / "note"
    contest = Contest("a contest", "runs/s", (one("first", "ways", arguments={"note": str(note)}, way="first"),))
    contest = replace(contest, rounds=5, starts=3)
    (result,) = held("topic", contest, places, print)
    assert result.entry("first").samples == (2,) * 5 and result.starts == 3 and len(result.starts_of("first")) == 3
    assert note.read_text() == "started\n" * 3
    (result,) = held("topic", contest, places, print, quick=True)
    assert result.starts == 1 and note.read_text() == "started\n" * 4


def test_one_that_failed_is_not_started_again(places):
    result, said = hold(places, one("a", "dies", arguments={"runs": 0}), one("b", "works"), rounds=3, starts=3)
    assert len(said) == 1 and result.entry("a").figures == [] and result.entry("b").samples == (2, 2, 2)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system binds no process to a core")
def test_a_contest_of_one_thread_goes_round_the_cores_and_others_stay_on_all(places):
    seen, mine = [], sorted(os.sched_getaffinity(0))
    told = {"right": lambda contestant, answer: seen.append(answer) or "", "rounds": 3}
    hold(places, one("a", "cores"), on_each_core=True, **told)
    assert seen == [[mine[turn % len(mine)]] for turn in range(3)]
    seen.clear()
    hold(places, one("a", "cores"), **told)
    assert seen == [mine] * 3


# --- the limit --------------------------------------------------------------------------------------------------------


def test_a_missing_compiler_is_told(places, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    result, _ = hold(places, Contestant("C", "pi", {"darts": 1000}, LIMIT), one("b", "works"))
    assert result.entry("C").problem.startswith("there is no C compiler here (no-such-compiler)")
    assert len(result.entry("b").figures) == 2


def test_a_compiler_that_fails_is_told_in_its_own_words(tmp_path, monkeypatch):
    cc = tmp_path / "cc"
    cc.write_text("#!/bin/sh\necho 'unknown processor' >&2\nexit 1\n")
    cc.chmod(0o755)
    monkeypatch.setenv("CC", str(cc))
    with pytest.raises(ContestantFailed, match=r"could not build pi\.c: unknown processor"):
        limit.built("pi", tmp_path / "limits")


@needs_a_compiler
def test_a_compiler_without_openmp_builds_with_one_thread(tmp_path, monkeypatch):
    cc, real = tmp_path / "cc", limit.compiler()
    cc.write_text(f'#!/bin/sh\ncase "$*" in *-fopenmp*) exit 1;; esac\nexec {real} "$@"\n')
    cc.chmod(0o755)
    monkeypatch.setenv("CC", str(cc))
    assert shutil.which(str(limit.built("mean", tmp_path / "limits")))


@pytest.mark.long
@needs_a_compiler
def test_the_limits_of_pi_and_of_the_mean_give_right_answers(places):
    numbers = np.arange(1000, dtype=np.float32)
    numbers.tofile(places.folder / "numbers")
    given = {"data": str(places.folder / "numbers"), "count": 1000}

    def right(contestant, answer):
        wanted, far = (499.5, 0) if contestant.name == "mean" else (np.pi, 0.02)
        return "" if abs(answer - wanted) <= far else f"{answer}"

    pair = Contestant("mean", "mean", given, LIMIT), Contestant("pi", "pi", {"darts": 1_000_000}, LIMIT)
    result, said = hold(places, *pair, right=right)
    assert said == [] and all(len(entry.figures) == 2 for entry in result.entries)


@pytest.mark.long
@needs_a_compiler
def test_the_limit_repeats_its_run_within_a_turn_as_the_others_do(places):
    (program,) = places.command(Contestant("C", "pi", {"darts": 10_000}))[:1]
    process = ContestantProcess([program, "10000"], environment(1), "C", places.folder)
    try:
        process.wait_until_ready(60)
        told, again = process.turn(0.5, 60), process.turn(0, 60)
    finally:
        process.close()
    assert len(told["answers"]) > 1 == len(again["answers"]) and 0 < told["seconds"] < 0.5
    assert all(abs(answer - np.pi) < 0.1 for answer in told["answers"] + again["answers"])


def test_a_limit_for_narrower_vectors_is_a_program_of_its_own_and_never_built_for_this_processor(tmp_path, monkeypatch):
    cc, said = tmp_path / "cc", tmp_path / "said"
    cc.write_text(f'#!/bin/sh\necho "$@" >> {said}\nexit 1\n')
    cc.chmod(0o755)
    monkeypatch.setenv("CC", str(cc))
    with pytest.raises(ContestantFailed):
        limit.built("life", tmp_path / "limits", "AVX2")
    lines = said.read_text().splitlines()
    assert len(lines) == 3 and all("-march=haswell" in one and "limits/lifeAVX2" in one for one in lines)


# --- Life, for real ---------------------------------------------------------------------------------------------------


@pytest.mark.long
@needs_a_compiler
@pytest.mark.parametrize("side", [50, 64])
def test_a_small_contest_of_life_from_end_to_end_is_right_bit_for_bit(places, side):
    from benchmarks.topics import life

    board = life._Board(places, side, 9)
    peers = [board.peer("SciPy", life._ARRAYS + "convolve2d", "", 5), board.peer("roll", life._ARRAYS + "roll", "", 9)]
    made = board.contest(2, peers, [], True)
    (result,) = held("life", made, places, print)
    assert {one.name: one.problem for one in result.entries if one.problem} == {}
    assert {one.kind for one in result.entries} == {"ours", "peer", "limit"}
    assert all(len(one.figures) == result.rounds for one in result.entries)
    assert made.right(made.contestants[0], 1234).startswith("the board's checksum is 1234")


def test_what_is_known_of_the_benchmarks_boards_is_what_the_referee_says(tmp_path, monkeypatch):
    known = json.loads(boards.KNOWN.read_text())
    asked = [(50, 50, 4000, "B3/S23", True), (1024, 1024, 4, "B3/S23", True)]
    kept = [boards.expected(boards.save(tmp_path, *one[:2]), *one) for one in asked]
    assert not list(tmp_path.glob("*.json"))  # none had to be worked out
    (tmp_path / "nothing.json").write_text("{}")
    monkeypatch.setattr(boards, "KNOWN", tmp_path / "nothing.json")
    assert kept == [boards.expected(tmp_path / f"{one[0]}x{one[1]}.bits", *one) for one in asked]
    rules = {(1024, "B3678/S34678", "torus"), (1024, "B3/S23", "dead edges"), (8192, "B3/S23", "torus")}
    assert rules <= {(int(key.split("x")[0]), key.split()[3], " ".join(key.split()[4:])) for key in known}


@pytest.mark.long
@given(some.data())
def test_the_referee_of_life_agrees_with_the_course(data):
    import torch

    from course import life

    height, width = data.draw(some.integers(3, 12)), data.draw(some.integers(3, 70))
    rule, wrap = data.draw(some.sampled_from(["B3/S23", "B3678/S34678", "B36/S125"])), data.draw(some.booleans())
    cells = np.array(data.draw(some.lists(some.booleans(), min_size=height * width, max_size=height * width)), np.uint8)
    generations, pad = data.draw(some.integers(0, 4)), -cells.size % 8
    board = int.from_bytes(np.packbits(cells).tobytes(), "big") >> pad
    band = data.draw(some.sampled_from([1, 2 * width, 1 << 18]))
    found = boards.referee(board, height, width, generations, rule, wrap, band)
    wanted = life.run(torch.from_numpy(cells.reshape(height, width)), generations, "roll", rule, wrap).numpy()
    assert (found << pad).to_bytes(-(-cells.size // 8), "big") == np.packbits(wanted).tobytes()
