"""PiDarts: what it shows is what `estimate_pi` says, whatever moves it; the picture draws few darts and counts all."""

import threading

import pytest
import traitlets

from course.pi import METHODS, estimate_pi
from course.widgets import PiDarts


@pytest.fixture
def widget():
    made = PiDarts(samples=5000, seed=3)
    yield made
    made.close()


def test_its_estimate_is_the_engine_s(widget):
    assert widget.wait().result.estimate == estimate_pi(5000, 3)
    assert len(widget.result.x) == 3000  # drawn; all 5,000 are counted


@pytest.mark.parametrize("method", METHODS)
def test_every_method_and_every_size_can_be_thrown(widget, method):
    widget.method = method
    for samples in (32, 33, 100_000):
        widget.samples = samples
        assert widget.wait().result.estimate == estimate_pi(samples, 3, method=method)
    assert "standard errors" in widget.static().html


def test_the_controls_and_the_attributes_are_one_state(widget):
    many, row = widget.children[:2]
    seed, method = row.children
    many.value = 1000.4
    assert widget.samples == 1000
    seed.value, method.value = 9, "sobol"
    assert widget.wait().result.estimate == estimate_pi(1000, 9, method="sobol")
    widget.samples = 200
    assert round(many.value) == 200
    assert [control.description for control in (many, seed, method)] == ["Darts", "Seed", "Method"]


def test_a_newer_state_wins_over_one_still_being_computed(widget):
    for samples in (10_000_000, 10_000_000 - 1, 400):
        widget.samples = samples
    assert widget.wait().result.estimate.samples == 400


def test_it_may_be_moved_from_another_thread(widget):
    thread = threading.Thread(target=setattr, args=(widget, "seed", 8))
    thread.start()
    thread.join(60)
    assert widget.wait().result.estimate == estimate_pi(5000, 8)


@pytest.mark.parametrize(("name", "value"), [("samples", 0), ("samples", 10**8), ("seed", -1), ("method", "dice")])
def test_a_state_it_cannot_throw_is_refused(widget, name, value):
    with pytest.raises(traitlets.TraitError):
        setattr(widget, name, value)


def test_the_stored_picture_needs_no_kernel_and_has_words(widget):
    html = widget.wait()._repr_mimebundle_()["text/html"]
    assert "<svg" in html and "5,000 darts" in html and "aria-label" in html
    assert repr(widget) == "PiDarts(method='pseudo', samples=5000, seed=3)"
