"""The base of every widget: state moves the picture in any thread, errors show, background work can be stopped."""

import subprocess
import sys
import threading

import pytest
import traitlets

from course import draw
from course.progress_line import STATIC_TWINS
from course.widgets import Explorer


class Doubler(Explorer):
    """Twice a number."""

    n = traitlets.Int(1).tag(state=True)

    def controls(self):
        return [self.slider("n", 0, 10, "n")]

    def compute(self):
        if self.n == 7:
            raise ValueError("no <sevens>")
        return 2 * self.n

    def draw(self, result):
        return draw.html(f"<p>{result}</p>", alt=str(result))


class SlowDoubler(Doubler):
    """Twice a number, as soon as it may `go` on."""

    background = True
    go = threading.Event()
    go.set()

    def compute(self):
        while not self.go.wait(0.01):
            if self.stopped.is_set():
                return None
            self.progress(0.5)
        return super().compute()


@pytest.fixture
def go(monkeypatch):
    """The event, not set yet, that a `SlowDoubler` waits for."""
    monkeypatch.setattr(SlowDoubler, "go", threading.Event())
    return SlowDoubler.go


@pytest.fixture(params=[Doubler, SlowDoubler])
def widget(request):
    made = request.param(n=3)
    yield made
    made.close()


def test_state_given_at_the_start_is_drawn(widget):
    assert widget.wait().result == 6 and "<p>6</p>" in widget.static().html
    assert repr(widget) == f"{type(widget).__name__}(n=3)"


def test_the_control_and_the_attribute_are_one_state(widget):
    widget.children[0].value = 5
    assert widget.wait().result == 10 and widget.n == 5
    widget.n = 4
    assert widget.wait().result == 8 and widget.children[0].value == 4
    assert "<p>8</p>" in widget.children[-1].value


def test_state_may_change_in_another_thread(widget):
    thread = threading.Thread(target=lambda: setattr(widget, "n", 9))
    thread.start()
    thread.join(60)
    assert widget.wait().result == 18


def test_only_the_newest_request_is_drawn(go):
    widget = SlowDoubler(n=1)
    for n in range(2, 7):
        widget.n = n
    go.set()
    assert widget.wait().result == 12
    widget.close()


def test_work_in_the_background_stops_when_asked_and_the_last_picture_stays(go):
    go.set()
    widget = SlowDoubler(n=1).wait()
    go.clear()
    widget.n = 2
    widget.stop()
    assert widget.wait().result == 2
    widget.close()


def test_a_failure_shows_in_the_widget_escaped():
    widget = SlowDoubler(n=7)
    with pytest.raises(ValueError, match="sevens"):
        widget.wait()
    assert "no &lt;sevens&gt;" in widget.children[-1].value
    widget.n = 1
    assert widget.wait().result == 2
    widget.close()


def test_an_unknown_state_is_named():
    with pytest.raises(TypeError, match="Doubler\\(m=…\\): no such state; it has n"):
        Doubler(m=3)


def test_closing_twice_is_closing_once(widget):
    widget.close()
    widget.close()


def test_showing_a_widget_that_works_in_the_background_does_not_hold_up_the_cell(monkeypatch, go):
    monkeypatch.delenv(STATIC_TWINS, raising=False)
    widget = SlowDoubler(n=4)
    assert "text/html" not in widget._repr_mimebundle_()  # it follows in the widget
    go.set()
    monkeypatch.setenv(STATIC_TWINS, "1")
    widget.n = 5
    assert "<p>10</p>" in widget._repr_mimebundle_()["text/html"]  # a stored notebook has it, waited for
    widget.close()


def test_a_page_without_a_kernel_gets_the_static_twin(widget):
    bundle = widget.wait()._repr_mimebundle_()
    assert "<p>6</p>" in bundle["text/html"] and bundle["text/plain"] == repr(widget)


def test_a_widget_that_works_in_a_thread_has_its_imports_behind_it():
    """One thread that imports a package beside another that imports a file of it may find the package half made."""
    program = (
        "import sys\nfrom course.widgets import FailureLab, MatmulSlider, RegressionLab\n"
        "assert {'torch', 'course.timing', 'course.cluster.local'} <= sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
