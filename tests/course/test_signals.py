"""Signals are taken for a while, in the main thread alone."""

import signal
import subprocess
import sys
import threading

import pytest

from course.signals import taken


def test_a_handler_has_its_signals_until_the_end():
    got, before = [], signal.getsignal(signal.SIGTERM)
    with taken(lambda number, frame: got.append(number), signal.SIGTERM, signal.SIGINT):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert got == [signal.SIGTERM, signal.SIGINT] and signal.getsignal(signal.SIGTERM) is before


def test_in_another_thread_nothing_changes():
    found, before = [], signal.getsignal(signal.SIGTERM)

    def look():
        with taken(lambda number, frame: None, signal.SIGTERM):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [before]


LEAVES = """
import logging, os, signal, time
from course.training.multihost.leaving import leaving_on_sigterm

class Struck:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

dask, own = logging.getLogger("distributed.comm.tcp"), logging.getLogger("course.training.multihost")
logging.basicConfig()
dask.warning("before")
with leaving_on_sigterm(print) as say:
    say("works")
    Struck()
    dask.error("a connection broke")
    own.warning("the course's own lines go on")
    say("will try again")
"""


@pytest.mark.long
def test_a_role_that_is_told_to_end_prints_nothing_more_wherever_the_signal_meets_it():
    done = subprocess.run([sys.executable, "-c", LEAVES], capture_output=True, text=True, timeout=120)
    before, own = done.stderr.splitlines()
    assert before.endswith("before") and own.endswith("the course's own lines go on")
    assert (done.stdout, done.returncode) == ("works\n", 128 + signal.SIGTERM)
