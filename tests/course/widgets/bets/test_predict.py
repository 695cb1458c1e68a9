"""Bets in Python: what may be guessed, what is refused and how, and bundles that hold all and are always the same."""

import base64
import re

import nbformat
import pytest

from course import draw
from course.widgets import Predict, Scorecard
from notebooks.build import HERE, chapters
from tests.course.widgets.page_of import data_of, html_of

NUMBER = {"question": "How many?", "low": 0, "high": 6, "name": "01 six"}
RUNGS = {**NUMBER, "each": ["one", "two", "three"], "log": True, "low": 0.1, "high": 100}
LINE = {**NUMBER, "over": [1, 8, 100], "across": "workers", "name": "01 line"}
CHOICE = {"question": "Where?", "choices": ["cpu", "gpu"], "name": "01 where"}


def test_a_guess_is_kept_as_the_page_keeps_it():
    assert Predict(**NUMBER).commit(3).guess == [3]
    assert Predict(**RUNGS).commit([2, 5]).guess == [2, 5, None]
    assert Predict(**RUNGS).commit({"three": 5}).guess == [None, None, 5]
    assert Predict(**LINE).commit({8: 5, 100: 1}).guess == [None, 5, 1]
    assert Predict(**CHOICE).commit("gpu").guess == "gpu"
    assert data_of(Predict(**CHOICE).commit("gpu"))["guess"] == "gpu" and data_of(Predict(**NUMBER))["guess"] is None


@pytest.mark.parametrize(
    ("settings", "guess", "words"),
    [
        (NUMBER, 7, "7 is no number from 0 to 6"),
        (NUMBER, float("nan"), "nan is no number from 0 to 6"),
        (NUMBER, True, "True is no number"),
        (NUMBER, "3", "'3' is no number"),
        (NUMBER, None, "give a number"),
        (NUMBER, [1, 2], "2 values for 1 places"),
        (RUNGS, 3, "give numbers for one, two, three, in this order"),
        (RUNGS, [None], "give numbers for one, two, three"),
        (RUNGS, {"four": 1}, "no place is called 'four'; there are one, two, three"),
        (CHOICE, "tpu", "choose one of 'cpu', 'gpu'"),
    ],
)
def test_a_guess_that_the_page_would_not_take_is_refused_with_what_is_legal(settings, guess, words):
    with pytest.raises(ValueError, match=f"'{settings['name']}': .*{words}"):
        Predict(**settings).commit(guess)


def test_a_second_guess_is_refused_and_the_same_again_is_none():
    bet = Predict(**NUMBER).commit(3).commit(3)
    with pytest.raises(ValueError, match="you said 3, and that is locked"):
        bet.commit(4)
    assert bet.guess == [3]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": "six"}, "begin with the chapter's two digits"),
        ({"name": "01 "}, "begin with the chapter's two digits"),
        ({"name": "01 " + "x" * 60}, "60 characters at most"),
        ({"low": 6}, "low < high"),
        ({"low": None}, "low=None"),
        ({"log": True}, "0 < low < high"),
        ({"high": float("inf")}, "high=inf"),
        ({"each": ["a", "a"]}, "give different ones"),
        ({"over": [1]}, "two for a line"),
        ({"choices": ["alone"]}, "give two or more"),
    ],
)
def test_a_bet_that_cannot_be_is_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        Predict(**{**NUMBER, **changed})


@pytest.mark.parametrize(
    ("settings", "value", "words"),
    [
        (NUMBER, "many", "'many' has no place on the axis"),
        (RUNGS, [0.0], "0.0 has no place on a log axis"),
        (CHOICE, "tpu", "one of 'cpu', 'gpu' is needed"),
    ],
)
def test_a_result_without_a_place_in_the_picture_is_refused(settings, value, words):
    with pytest.raises(ValueError, match=words):
        Predict(**settings).reveal(value, "why")


def test_an_answer_is_folded_and_holds_value_reason_and_what_belongs_to_it():
    bet = Predict(**NUMBER)
    shown = html_of(bet.reveal(9, "Because <of> it.", shows=["a < b", draw.table(["n"], [[1]], "a table")]))
    assert re.search(r'<details class="answer"><summary>', shown) and " open" not in shown[: shown.index("</summary>")]
    assert "<pre>a &lt; b</pre>" in shown and "<table>" in shown
    assert data_of(bet.answer)["value"] == [9] and data_of(bet.answer)["why"] == "Because <of> it."
    assert str(bet.answer) == "How many? It was: 9. Because <of> it."


def test_an_object_that_shows_itself_is_one_thing_even_if_it_can_be_counted():
    ladder = draw.Ladder("cells").climb("slow", 1e6)
    assert "slow: 1.0 million cells a second" in html_of(Predict(**NUMBER).reveal(1, "so", shows=ladder))

    class Log(list):
        def _repr_html_(self):
            return "<b>three ops</b>"

    assert "<b>three ops</b>" in html_of(Predict(**NUMBER).reveal(1, "so", shows=Log("abc")))


def test_a_card_has_each_bet_with_what_was_measured_and_stored():
    bets = [Predict(**NUMBER), Predict(**CHOICE).commit("cpu"), Predict(**LINE)]
    bets[0].reveal(3, "so", stored=4)
    bets[1].reveal("gpu", "so")
    rows = data_of(Scorecard(*bets, challenge="beat it"))["bets"]
    assert [(row["value"], row["stored"], row["guess"]) for row in rows] == [
        ([3], [4], None),
        ("gpu", None, "cpu"),
        (None, None, None),
    ]
    assert "Where? it was gpu; you: cpu" in repr(Scorecard(*bets, challenge="beat it"))


def test_a_card_is_of_one_chapter():
    other = Predict(**{**NUMBER, "name": "02 six"})
    with pytest.raises(ValueError, match="bets of chapters 01, 02"):
        Scorecard(Predict(**NUMBER), other, challenge="")
    with pytest.raises(ValueError, match="no bets"):
        Scorecard(challenge="")


def test_the_same_bet_is_the_same_bytes_and_chapters_know_nothing_of_each_other():
    first = html_of(Predict(**NUMBER))
    Predict(**{**NUMBER, "name": "02 six"}).commit(2)
    Predict(**NUMBER).commit(5).reveal(1, "so")
    assert html_of(Predict(**NUMBER)) == first and html_of(Predict(**{**NUMBER, "name": "02 six"})) != first


@pytest.mark.parametrize("settings", [NUMBER, RUNGS, LINE, CHOICE])
def test_without_scripts_a_still_asks_the_question_and_nothing_is_fetched(settings):
    shown = html_of(Predict(**settings))
    still = base64.b64decode(re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', shown)[1]).decode()
    assert "Predict: " + settings["question"] in still and 'xmlns="http://www.w3.org/2000/svg"' in still
    assert not re.search(r"https?://", shown.replace("http://www.w3.org/", "")) and "None" not in repr(
        Predict(**settings)
    )


def test_what_breaks_out_of_a_script_is_kept_in_it():
    bet = Predict(**{**NUMBER, "question": "Is </script><b>this</b> & that?"})
    assert data_of(bet)["question"] == "Is </script><b>this</b> & that?"
    assert "</script><b>" not in html_of(bet) and "&lt;/script&gt;" in html_of(bet.reveal(1, "so"))


# --- the chapters ----------------------------------------------------------------------------------------------------


def cells(chapter):
    return [cell for cell in nbformat.read(HERE / f"{chapter}.ipynb", as_version=4).cells if cell.cell_type == "code"]


def pages(chapter):
    return [o.data.get("text/html", "") for c in cells(chapter) for o in c.outputs if "data" in o]


@pytest.mark.parametrize("chapter", chapters())
def test_each_chapter_ends_with_a_card_of_all_its_bets_and_each_is_revealed(chapter):
    last = cells(chapter)[-1].source
    bets = re.findall(r"^(bet_\w+) = Predict\(", "\n".join(cell.source for cell in cells(chapter)), re.M)
    assert 2 <= len(bets) <= 6 and "Scorecard(" in last and all(f"{bet}," in last for bet in bets)
    card = data_of(pages(chapter)[-1])
    assert all(bet["value"] is not None and bet["name"].startswith(chapter[:2]) for bet in card["bets"])
