"""The base of every exhibit: state moves the page, the page moves the state, errors are said, work stops."""

import subprocess
import sys
import threading

import pytest
import traitlets

from course import draw
from course.progress_line import STATIC_TWINS
from course.widgets.exhibits.exhibit import Exhibit
from tests.course.widgets.page_of import Line, data_of, html_of


class Doubler(Exhibit):
    """Twice a number; seven is none that it likes."""

    __module__ = "course.widgets.slice_mean"  # whose script stands in for one of its own
    module = "slice_mean.js"
    actions = ("reset",)
    n = traitlets.Int(1, max=100).tag(state=True)
    least = traitlets.Int(0).tag(state=True)

    @traitlets.validate("n")
    def _legal(self, proposal):
        if proposal.value < self.least:
            raise traitlets.TraitError(f"n={proposal.value}: give {self.least} or more.")
        return proposal.value

    def engine(self, n, least):
        if n == 7:
            raise ValueError("no <sevens>")
        return 2 * n

    def reset(self):
        self.n = 1

    def grid(self):
        return [{"n": n} for n in (1, 2)]

    def answer(self, result):
        return {"twice": result}

    def draw(self, result):
        return draw.html(f"<p>{result}</p>", alt=str(result))


class SlowDoubler(Doubler):
    """Twice a number, as soon as it may `go` on."""

    background = True
    go = threading.Event()

    def engine(self, n, least):
        while not self.go.wait(0.01):
            if self.stopped.is_set():
                return None
        return super().engine(n, least)


@pytest.fixture
def go(monkeypatch):
    """The event, set, that a `SlowDoubler` waits for."""
    monkeypatch.setattr(SlowDoubler, "go", threading.Event())
    SlowDoubler.go.set()
    return SlowDoubler.go


@pytest.fixture(params=[Doubler, SlowDoubler])
def exhibit(request, go):
    made = request.param(n=3)
    made._wire = Line()
    yield made
    made.close()


def heard(exhibit, content):
    """Let the exhibit hear what a page says; returns what it answers, its work done."""
    line = exhibit.wait()._wire
    line.sent.clear()
    exhibit._heard(line, content, [])
    if exhibit._thread is not None:
        exhibit._thread.join(60)
    return line.sent


def settings(n, least=0):
    return {"n": n, "least": least}


def test_state_given_at_the_start_is_computed_and_shown(exhibit):
    assert exhibit.wait().result == 6 and "<p>6</p>" in exhibit.static().html
    assert repr(exhibit) == f"{type(exhibit).__name__}(least=0, n=3)"


def test_setting_a_trait_in_any_thread_tells_the_page(exhibit):
    line = exhibit.wait()._wire
    line.sent.clear()
    thread = threading.Thread(target=setattr, args=(exhibit, "n", 9))
    thread.start()
    thread.join(60)
    assert exhibit.wait().result == 18
    assert line.sent[-1] == {"number": None, "settings": settings(9), "answer": {"twice": 18}}


def test_several_parts_set_at_once_are_one_computation(exhibit):
    line = exhibit.wait()._wire
    line.sent.clear()
    exhibit.update(least=4, n=5)
    exhibit.wait()
    assert [message["settings"] for message in line.sent if "answer" in message] == [settings(5, 4)]


def test_a_page_that_asks_is_answered_with_its_number(exhibit):
    answers = heard(exhibit, {"number": 5, "settings": {"n": 4}})
    assert answers[-1] == {"number": 5, "settings": settings(4), "answer": {"twice": 8}} and exhibit.n == 4
    again = heard(exhibit, {"number": 6, "settings": {"n": 4}})
    assert again == [{"number": 6, "settings": settings(4), "answer": {"twice": 8}}]


def test_a_ping_is_answered_with_what_is_there(exhibit):
    assert heard(exhibit, {"ping": 1}) == [{"pong": True, "settings": settings(3), "answer": {"twice": 6}}]


def test_what_a_page_may_not_set_is_said_and_the_last_good_state_stays(exhibit):
    for wrong in ({"n": 101}, {"n": "x"}, {"m": 1}, {"least": 9, "n": 2}, {"n": None}):
        (answer,) = heard(exhibit, {"number": 1, "settings": wrong})
        assert answer["wrong"] and answer["settings"] == exhibit.state() == settings(3)
    assert exhibit.wait().result == 6


def test_nonsense_of_a_page_is_not_answered(exhibit):
    for content in (
        None,
        "x",
        {},
        {"number": "1", "settings": {}},
        {"number": 1},
        {"do": "close", "with": []},
        {"do": "reset"},
        {"do": 3, "with": []},
    ):
        assert heard(exhibit, content) == []


def test_an_engines_error_is_said_in_the_page_and_the_next_setting_works(exhibit):
    assert heard(exhibit, {"number": 2, "settings": {"n": 7}})[-1]["wrong"] == "no <sevens>"
    exhibit._failure = None
    assert heard(exhibit, {"number": 3, "settings": {"n": 8}})[-1]["answer"] == {"twice": 16}


def test_an_engines_error_reaches_who_set_the_trait_and_the_state_goes_back(go):
    exhibit = Doubler(n=3)
    with pytest.raises(ValueError, match="sevens"):
        exhibit.n = 7
    assert exhibit.state() == settings(3) and exhibit.result == 6
    slow = SlowDoubler(n=7)
    with pytest.raises(ValueError, match="sevens"):
        slow.wait()
    slow.close()


def test_only_the_newest_request_is_answered(go):
    go.clear()
    exhibit = SlowDoubler(n=1)
    exhibit._wire = Line()
    for n in range(2, 7):
        exhibit.n = n
    go.set()
    assert exhibit.wait().result == 12
    assert [message["answer"] for message in exhibit._wire.sent if "answer" in message] == [{"twice": 12}]
    exhibit.close()


def test_a_button_of_the_page_calls_the_method_that_it_may_and_is_first_said_to_be_heard(exhibit):
    answers = heard(exhibit, {"do": "reset", "with": []})
    assert answers[0] == {"heard": "reset"} and answers[-1]["answer"] == {"twice": 2} and exhibit.n == 1
    assert heard(exhibit, {"do": "erase", "with": []}) == []


def test_work_in_the_background_stops_when_asked_and_the_last_result_stays(go):
    exhibit = SlowDoubler(n=1).wait()
    exhibit._wire = line = Line()
    go.clear()
    exhibit.n = 2
    exhibit._heard(line, {"do": "stop", "with": []}, [])
    assert exhibit.wait().result == 2
    assert [sorted(message) for message in line.sent] == [
        ["busy", "number", "settings"],
        ["heard"],
        ["number", "settings", "stopped"],
    ]
    exhibit.close()
    exhibit.close()


def test_what_is_stored_is_the_grid_in_the_same_bytes_each_time_and_live_each_has_a_name_of_its_own(
    exhibit, monkeypatch
):
    exhibit._wire = None
    live = key(exhibit), key(type(exhibit)(n=3).wait())
    monkeypatch.setenv(STATIC_TWINS, "1")
    html = html_of(exhibit.wait())
    assert html == html_of(type(exhibit)(n=3)) and "<p>6</p>" in html
    data = data_of(html)
    assert data["settings"] == settings(3) and data["grid"] == [[{"n": 1}, {"twice": 2}], [{"n": 2}, {"twice": 4}]]
    assert len({*live, data["key"]}) == 3 and all(name.startswith(data["key"] + "-") for name in live)


def key(exhibit):
    """Return the name in the page, and close the exhibit's line again."""
    name = data_of(exhibit)["key"]
    exhibit.close()
    return name


def test_a_readers_cell_does_not_wait_for_work_in_the_background_and_a_stored_one_does(go, monkeypatch):
    go.clear()
    exhibit = SlowDoubler(n=4)
    exhibit.stored = lambda: []
    assert "is at work" in exhibit._shown().html
    go.set()
    monkeypatch.setenv(STATIC_TWINS, "1")
    assert "<p>8</p>" in exhibit._shown().html
    exhibit.close()


def test_an_unknown_state_is_named():
    with pytest.raises(TypeError, match="Doubler\\(m=…\\): no such state; it has least, n"):
        Doubler(m=3)


def test_an_exhibit_that_works_in_a_thread_has_its_imports_behind_it():
    """One thread that imports a package beside another that imports a file of it may find the package half made."""
    program = (
        "import sys\nfrom course.widgets import FailureLab, MatmulSlider, RegressionLab\n"
        "assert {'torch', 'course.timing', 'course.cluster.local'} <= sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
