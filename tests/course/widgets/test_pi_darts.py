"""PiDarts: what it shows is what `estimate_pi` says, whatever moves it; the picture draws few darts and counts all."""

import base64

import numpy
import pytest

from course.pi import METHODS, darts, estimate_pi
from course.widgets import PiDarts


@pytest.fixture
def widget():
    made = PiDarts(samples=5000, seed=3)
    yield made
    made.close()


def test_its_estimate_is_the_engine_s(widget):
    assert widget.wait().result.estimate == estimate_pi(5000, 3)
    assert widget.update(servers=4).wait().result.estimate == estimate_pi(5000, 3), "each with a stream of its own"
    assert len(widget.result.x) == 1000  # drawn; all 5,000 are counted


@pytest.mark.parametrize("method", METHODS)
def test_every_method_and_every_size_can_be_thrown(widget, method):
    widget.method = method
    for samples in (32, 33, 100_000):
        widget.samples = samples
        assert widget.wait().result.estimate == estimate_pi(samples, 3, method=method)
    assert "standard errors" in widget.static().html


@pytest.mark.long
def test_the_page_has_three_seeds_and_every_method_up_to_a_million_darts(widget):
    data = widget.wait().data()
    runs = {(run["method"], run["seed"]): run for run in data["runs"]}
    assert set(runs) == {(method, seed) for method in METHODS for seed in (3, 0, 1)}
    for method in METHODS:
        run = runs[method, 3]
        for samples, value, error in run["running"]:
            expected = estimate_pi(samples, 3, method=method)
            assert value == pytest.approx(expected.value, rel=1e-8)
            assert error == pytest.approx(expected.standard_error, rel=1e-3)
        for count, text in run["darts"]:
            places = numpy.frombuffer(base64.b64decode(text), numpy.uint8).reshape(-1, 2) / 255
            assert numpy.abs(places - numpy.stack(darts(count, 3, method), 1)).max() < 0.5 / 254
        few = darts(100, 3, method)[0]
        is_prefix = numpy.array_equal(few, darts(600, 3, method)[0][:100])
        assert is_prefix == (len(run["darts"]) == 1), "one list of darts serves every number of them, or there are more"
    assert data["own"][0]["of"] == widget.state() and data["own"][0]["running"][-1][0] == 5000


def test_servers_with_one_seed_find_what_one_of_them_finds_and_claim_too_little(widget):
    widget.update(servers=16, streams="same", samples=20_000)
    found, alone = widget.wait().result.estimate, estimate_pi(1250, 3)
    assert found.value == alone.value and found.samples == 20_000
    assert found.standard_error == pytest.approx(alone.standard_error / 4)
    assert len(widget.result.x) == 1000 and "16 servers threw the same 1,250 darts" in widget.static().alt


def test_servers_and_darts_fit_each_other(widget):
    widget.update(samples=100, servers=16)
    assert widget.samples == 512
    widget.samples = 100
    assert widget.servers == 2


@pytest.mark.parametrize("method", METHODS)
def test_twenty_other_seeds_lie_in_the_page(widget, method):
    others = widget.wait().data()["others"]
    errors = numpy.frombuffer(base64.b64decode(others["errors"][method]), "<i2").reshape(20, len(others["counts"]))
    place = others["counts"].index(1250)
    for row, seed in ((0, 100), (19, 119)):
        stored = errors[row, place] / others["scale"] / 1250**0.5
        assert stored == pytest.approx(estimate_pi(1250, seed, method=method).error, abs=1e-4)
    assert {500 // 16, 1000 // 16, 100_000} & set(others["counts"]) == {62, 100_000}  # 31 darts are too few


def test_a_newer_state_wins_over_one_still_being_computed(widget):
    for samples in (10_000_000, 10_000_000 - 1, 400):
        widget.samples = samples
    assert widget.wait().result.estimate.samples == 400


def test_the_stored_picture_needs_no_kernel_and_has_words(widget):
    html = widget.wait()._repr_mimebundle_()["text/html"]
    assert "data:image/svg" in html and "5,000 darts" in html and 'alt="Darts at a quarter disc; 5,000' in html
    assert repr(widget) == "PiDarts(method='pseudo', samples=5000, seed=3, servers=1, streams='own')"
