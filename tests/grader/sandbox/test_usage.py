"""What a question took without queueing: other work is left out, sleep and work of one's own never."""

import pytest

from grader.sandbox import Profile, Sandbox
from grader.sandbox.usage import Look, effort
from tests.helpers.sandboxes import need_sandboxes


def looks(used, ran, queued, own=0.0):
    return Look(0.0, {"1": 5.0}, {"1": 7.0}), Look(used, {"1": 5.0 + ran}, {"1": 7.0 + queued}, own)


@pytest.mark.parametrize(
    ("used", "ran", "queued", "own", "left"),
    [
        (0.1, 0.1, 0.0, 0.0, 1.0),  # it slept: that is its own doing
        (0.1, 0.1, 0.9, 0.0, 0.1),  # it ran a tenth of the time and queued for the rest
        (0.1, 0.1, 0.6, 0.3, 0.1),  # … partly for a grader that queued itself
        (0.8, 0.1, 0.9, 0.0, 0.4),  # it queued behind eight processes of its own, ended since: two processors' work
        (0.5, 0.5, 0.9, 0.0, 0.5),  # what ran did not queue meanwhile
        (9.0, 0.5, 0.0, 0.0, 1.0),  # never more than the clock
    ],
)
def test_queueing_is_left_out_and_no_work_is(used, ran, queued, own, left):
    assert effort(*looks(used, ran, queued, own), 1.0, processors=2) == pytest.approx(left)


def test_where_nothing_is_counted_the_clock_is_what_there_is():
    assert effort(None, looks(0, 0, 0)[1], 1.0) == effort(looks(0, 0, 0)[0], None, 1.0) == 1.0


def test_work_of_a_child_that_has_ended_and_that_nobody_waited_for_is_seen():
    need_sandboxes()
    program = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.2: pass
    os._exit(0)
try: os.wait()
except ChildProcessError: os.write(EVIDENCE, b"!")
os.read(REQUESTS, 1)
"""
    with Sandbox(Profile(seconds=30)).start(program) as running:
        before = running.look()
        if before is None:
            pytest.skip("NOT TESTED HERE: no control group counts processor time for us on this machine")
        running.receive(1, 20)
        assert running.look().used - before.used > 0.15
