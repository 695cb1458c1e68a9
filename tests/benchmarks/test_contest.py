"""A contest: who dies, hangs, lies or is not installed is told, and the others go on; real ones, end to end, small."""

import shutil
from contextlib import suppress

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as some

from benchmarks import boards, contest, limit
from benchmarks.contest import LIMIT, OURS, Contest, Contestant, Together, held
from benchmarks.places import Places
from benchmarks.process import ContestantFailed

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
    together = Together(one("all", "measures", arguments={"figures": figures}), contests, rounds=2)
    first, second = held("topic", together, places, print)
    assert first.entry("y").samples == (2, 2) and second.entry("x").samples == (3, 3) and first.rounds == 2
    (lost,) = held("topic", Together(one("all", "dies", arguments={"runs": 0}), contests[:1]), places, str)
    assert "MemoryError" in lost.entry("x").problem and lost.entry("x").figures == []


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


# --- Life, for real ---------------------------------------------------------------------------------------------------


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


@given(some.data())
def test_the_referee_of_life_agrees_with_the_course(data):
    import torch

    from course import life

    height, width = data.draw(some.integers(3, 12)), data.draw(some.integers(3, 70))
    rule, wrap = data.draw(some.sampled_from(["B3/S23", "B3678/S34678", "B36/S125"])), data.draw(some.booleans())
    cells = np.array(data.draw(some.lists(some.booleans(), min_size=height * width, max_size=height * width)), np.uint8)
    generations, pad = data.draw(some.integers(0, 4)), -cells.size % 8
    board = int.from_bytes(np.packbits(cells).tobytes(), "big") >> pad
    found = boards.referee(board, height, width, generations, rule, wrap)
    wanted = life.run(torch.from_numpy(cells.reshape(height, width)), generations, "roll", rule, wrap).numpy()
    assert (found << pad).to_bytes(-(-cells.size // 8), "big") == np.packbits(wanted).tobytes()
