"""What was recorded over slow lines is possible, and is what the chapter says of it."""

from course import estimate_pi
from course.distance.recorded import elsewhere, sweep, two_hosts


def test_no_recorded_round_is_quicker_than_its_ways_one_after_another():
    for run in sweep():
        ways = 2 * (run.workers - 1) if run.design == "ring" else 2
        assert run.seconds >= run.compute + ways * run.delay, run


def test_far_apart_the_server_wins_and_on_thin_lines_the_ring():
    found = {(run.design, run.delay, run.bandwidth): run.seconds for run in sweep()}
    assert found["synchronous", 0.1, None] < found["ring", 0.1, None]
    assert found["ring", 0.005, 4e6] < found["synchronous", 0.005, 4e6]


def test_the_same_cell_gave_the_same_pi_everywhere():
    assert {run.pi for run in elsewhere()} == {estimate_pi(1_000_000).value}
    assert [run.system for run in elsewhere()] == ["local cluster", "Slurm of one node", "SSH to one host"]
    assert all(run.off < 3 and run.label.startswith("recorded: ") for run in elsewhere())


def test_between_two_hosts_a_round_takes_as_long_as_on_one_and_a_little_more():
    here = {(run.design, run.delay): run.seconds for run in sweep() if run.bandwidth is None}
    assert {run.delay for run in two_hosts()} == {delay for _, delay in here}
    for run in two_hosts():
        assert run.seconds >= run.compute + 2 * run.delay, run
        assert run.design != "synchronous" or 0.8 < run.seconds / here[run.design, run.delay] < 1.5, run
