"""The files of tests that take longest, the longest first: a quarter of a minute and more each."""

LONGEST = (
    "tests/notebooks/test_run_all.py",
    "tests/browser/test_lab_in_chromium.py",
    "tests/test_labs_lab07.py",
    "tests/test_cluster_scheduler_lost.py",
    "tests/faults/test_faults.py",
    "tests/test_training_roles.py",
    "tests/test_labs_lab03.py",
    "tests/test_labs_lab06.py",
    "tests/faults/test_interrupts.py",
    "tests/attacks/test_class.py",
    "tests/test_cluster_hosts.py",
    "tests/test_training_once.py",
    "tests/test_grading_class_command.py",
    "tests/test_labs_selftest.py",
    "tests/test_labs_lab04.py",
)
