"""The picture of designs that grow: every curve has its name, its break and its origin."""

from course import draw
from course.draw.scale import breaks_at

RATES = {"server": {1: 100.0, 10: 480.0, 100: 500.0, 1000: 500.0}, "tree": {1: 90.0, 10: 300.0, 1000: 9000.0}}


def test_every_design_stands_beside_its_curve_and_the_label_says_whose_figures_they_are():
    shown = draw.scale(RATES, "A server breaks", "simulated; costs recorded: a machine, 2026-11-22")
    for word in ("server", "tree", "nobody waits", "a machine, 2026-11-22", "A server breaks"):
        assert word in shown.html
    assert "server: 500 with 1,000 workers" in shown.alt and "tree: 9,000 with 1,000 workers" in shown.alt
    assert shown == draw.scale(RATES, "A server breaks", "simulated; costs recorded: a machine, 2026-11-22")


def test_a_design_breaks_where_it_has_nine_tenths_of_its_most():
    assert breaks_at(RATES["server"]) == 10
    assert breaks_at(RATES["tree"]) == 1000
    assert breaks_at({1: 1.0, 2: 1.79, 4: 2.0}) == 4
    assert breaks_at({1: 1.0, 2: 1.8, 4: 2.0}) == 2


def test_latency_has_each_curve_by_its_name_in_milliseconds_and_the_request_that_is_alone():
    curves = {"open loop": {100.0: 0.002, 300.0: 0.05}, "closed loop": {400.0: 0.004}}
    shown = draw.latency(curves, "A closed loop hides the queue", alone=0.002)
    for word in (*curves, "alone", "A closed loop hides the queue", "99 of 100 within, ms"):
        assert word in shown.html
    assert "open loop: 50.0 ms at 300 a second; closed loop: 4.0 ms at 400 a second." in shown.alt
    tenth = draw.latency(curves, "A closed loop hides the queue", alone=0.002, percent=90)
    assert "90 of 100 within, ms" in tenth.html and "90 of 100 requests" in tenth.alt
