"""The files of tests that take longest, the longest first: a quarter of a minute and more each."""

LONGEST = (
    "tests/notebooks/test_run_all.py",
    "tests/browser/test_lab_in_chromium.py",
    "tests/labs/test_lab07.py",
    "tests/course/cluster/multihost/test_scheduler_lost.py",
    "tests/slow/faults/test_faults.py",
    "tests/course/training/multihost/test_roles.py",
    "tests/labs/test_lab03.py",
    "tests/labs/test_lab06.py",
    "tests/slow/faults/test_interrupts.py",
    "tests/slow/attacks/test_class.py",
    "tests/course/cluster/multihost/test_hosts.py",
    "tests/course/training/server/test_exactly_once.py",
    "tests/grader/test_cli.py",
    "tests/grader/selftest/test_selftest.py",
    "tests/labs/test_lab04.py",
)
