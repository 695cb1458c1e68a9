"""Processor time of a sandbox, as a race counts it: of all that ran, whenever it ended, and of nothing that slept."""

import pytest

from grader.sandbox import Profile, Sandbox
from tests.helpers.sandboxes import need_sandboxes

need_sandboxes()

BUSY = """
import os, signal, time
def busy(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: pass
"""


def used_by(program):
    """Return the seconds counted from the start of `program` until it writes its byte."""
    with Sandbox(Profile(seconds=60)).start(f"{BUSY}os.read(REQUESTS, 1)\n{program}\nos.read(REQUESTS, 1)") as running:
        before = running.processor_seconds()
        if before is None:
            pytest.skip("NOT TESTED HERE: no control group counts processor time for us on this machine")
        running.send(b"!")
        running.receive(1, 50)
        return running.processor_seconds() - before


def test_work_of_a_child_that_has_ended_and_that_nobody_waited_for_is_seen():
    used = used_by("""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    busy(0.2)
    os._exit(0)
try: os.wait()
except ChildProcessError: os.write(EVIDENCE, b"!")
""")
    assert used > 0.19


def test_work_up_to_the_answer_is_seen_though_whoever_did_it_goes_on_and_on():
    used = used_by("""
ends = [os.pipe() for _ in range(4)]
for read, write in ends:
    if os.fork() == 0:
        busy(0.05)
        os.write(write, b"!")
        while True: pass
for read, write in ends: os.read(read, 1)
os.write(EVIDENCE, b"!")
""")
    assert used > 0.19


def test_what_sleeps_uses_nothing():
    used = used_by("""
for _ in range(2):
    if os.fork() == 0: signal.pause()
time.sleep(0.5)
os.write(EVIDENCE, b"!")
""")
    assert used < 0.3
