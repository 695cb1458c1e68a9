"""What a result says of itself: its best trial, its table, its pictures, its importances."""

import sys

import pytest

from course.tuning import Trial, TuningError, TuningResult, coordinates, importance, searches
from course.tuning.space import make_space
from tests.helpers.rendered import texts_of

SPACE = make_space({"learning_rate": (0.01, 1.0, "log"), "momentum": (0.0, 0.9), "optimizer": ["sgd"], "workers": 3})


def trial(number, rate, state="done", reports=((2, 0.9), (4, 0.5))):
    parameters = {"learning_rate": rate, "momentum": (number * 7 % 10) / 12, "optimizer": "sgd", "workers": 3}
    value = abs(rate - 0.3) + 0.1 if state == "done" else None
    return Trial(number, parameters, state, value, reports, 1.5, "/job:worker/task:0", 1)


def result(direction="minimize", **more):
    trials = [trial(number, 0.01 * 1.2**number) for number in range(24)]
    trials += [trial(24, 0.5, "pruned"), trial(25, 1.0, "diverged", ()), trial(26, 0.9, "open", ())]
    return TuningResult(tuple(trials), SPACE, direction=direction, **more)


def test_the_best_is_the_least_or_the_most_and_the_earlier_of_two():
    assert result().best.number == 19 and result().value == min(record.value for record in result().ranked())
    assert result("maximize").value == max(record.value for record in result().ranked())
    twice = (trial(0, 0.2), trial(1, 0.2))
    assert TuningResult(twice, SPACE).best.number == TuningResult(twice, SPACE, direction="maximize").best.number == 0


def test_the_best_so_far_never_gets_worse_and_counts_only_what_is_done():
    for direction, sign in (("minimize", 1), ("maximize", -1)):
        best = [sign * value for value in result(direction).best_so_far()]
        assert best == sorted(best, reverse=True) and len(best) == 27
    assert TuningResult((trial(0, 0.5, "pruned"), trial(1, 0.5)), SPACE).best_so_far()[0] is None


def test_a_result_without_a_done_trial_says_so_and_has_no_best():
    none = TuningResult((trial(0, 0.5, "diverged"),), SPACE)
    assert repr(none) == "TuningResult(none done; 1 trials by tpe: 1 diverged)"
    with pytest.raises(TuningError, match="none of 1 trials is done: 1 diverged"):
        none.parameters  # noqa: B018
    assert "diverged" in texts_of(none)["text/html"]


def test_its_words_and_its_table_have_the_best_trial_and_how_many_there_are():
    assert repr(result()) == (
        "TuningResult(best loss 0.1195 with learning_rate=0.3195, momentum=0.25, optimizer='sgd', workers=3; "
        "27 trials by tpe: 24 done, 1 pruned, 1 diverged, 1 open)"
    )
    table = texts_of(result())["text/html"]
    for words in ("learning_rate", "seconds", "worker", "● done", "/job:worker/task:0", "the first 10 of 27"):
        assert words in table
    assert "✕ diverged" in texts_of(TuningResult(result().trials[-3:], SPACE))["text/html"]


def test_what_decides_is_more_important_than_what_does_not_without_scikit_learn(monkeypatch):
    for name in ("sklearn", "pandas", "plotly"):
        monkeypatch.setitem(sys.modules, name, None)
    shares = result().importances()
    assert list(shares)[0] == "learning_rate" and sum(shares.values()) == pytest.approx(1)
    assert set(shares) <= set(SPACE.searched)
    with pytest.raises(ValueError, match="7 trials are done"):
        TuningResult(result().trials[:7], SPACE).importances()


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: searches({"tpe": result(), "random": result(), "grid": result()}, "All alike"),
        lambda: coordinates(result(), "Near a third"),
        lambda: importance(result(), "The rate decides"),
    ],
    ids=["searches", "coordinates", "importance"],
)
def test_a_picture_says_in_words_what_it_shows_and_is_the_same_bytes_again(drawn):
    picture = drawn()
    assert picture.html == drawn().html and "<svg" in picture.html
    assert picture.alt.split(".")[0] in ("All alike", "Near a third", "The rate decides") and len(picture.alt) > 30


def test_searches_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="0 of them; 1 to 4"):
        searches({}, "")
    with pytest.raises(ValueError, match="of accuracy, loss; give results of one metric"):
        searches({"a": result(), "b": result(metric="accuracy")}, "")
