"""How tests are shared out to the processes of pytest-xdist: by the file, the longest first; some files by the test."""

from xdist.scheduler import LoadScopeScheduling

#: Files whose tests share nothing but take long: each of their tests may go to another process.
APART = ("tests/notebooks/test_run_all.py", "tests/labs/test_every_lab.py")

#: The files that take longest, the longest first: a quarter of a minute and more each.
LONGEST = (
    "tests/notebooks/test_run_all.py",
    "tests/browser/test_lab_in_chromium.py",
    "tests/labs/test_every_lab.py",
    "tests/slow/monkey/test_monkey.py",
    "tests/deploy/docker/test_compose.py",
    "tests/browser/test_hub_in_chromium.py",
    "tests/browser/look/test_gallery.py",
    "tests/browser/look/test_chapters.py",
    "tests/benchmarks/test_contest.py",
    "tests/course/training/multihost/test_roles.py",
    "tests/grader/selftest/test_selftest.py",
    "tests/grader/marking/test_mark.py",
    "tests/course/widgets/test_failure_lab.py",
    "tests/course/cluster/multihost/test_scheduler_lost.py",
    "tests/project/test_own_model.py",
    "tests/project/test_types.py",
    "tests/course/deploy/machines/test_aws.py",
    "tests/course/deploy/test_slurm.py",
    "tests/slow/faults/test_faults.py",
    "tests/course/life/test_packed.py",
    "tests/labs/test_lab06_attacks.py",
    "tests/course/training/driver/test_recovery.py",
    "tests/course/training/test_cluster.py",
    "modelserver/tests/test_served.py",
    "tests/grader/sandbox/test_limits.py",
    "tests/course/commands/test_cluster_flags.py",
    "tests/course/cluster/local_runtime/test_kills.py",
    "tests/course/tuning/test_driver.py",
    "tests/course/deploy/test_ssh.py",
    "tests/slow/deploy/test_storm.py",
    "tests/course/deploy/machines/test_every_cloud.py",
    "tests/course/deploy/clouds/test_gateway.py",
    "tests/course/deploy/test_killed_clients.py",
    "tests/course/cluster/multihost/test_task_command.py",
    "tests/course/cluster/multihost/test_hosts.py",
    "tests/course/test_interrupted_imports.py",
    "tests/course/training/server/test_exactly_once.py",
    "tests/course/training/server/test_slow_is_not_lost.py",
    "tests/slow/faults/test_lanes.py",
)


def longest_first(items):
    """Sort the collected tests in place: files in `LONGEST` in its order, so that none is left to run alone."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(_file(item.nodeid), len(place)))


class Lanes(LoadScopeScheduling):
    """Gives a process one file after another, so that what a file's tests share is made once."""

    def __init__(self, config, log):
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by length, not by how many tests a file has

    def remove_node(self, node):
        """Return the test that the process of `node` died in, None where it had ended well; the others run elsewhere.

        (pytest-xdist itself runs the deadly test again, and waits for ever for files that are done.)
        """
        files = self.assigned_work.pop(node)
        left = [(name, test) for name, tests in files.items() for test, done in tests.items() if not done]
        for name, test in left[1:]:
            self.workqueue.setdefault(name, {})[test] = False
        for other in self.assigned_work.keys() & self.registered_collections.keys() if left else ():
            self._reschedule(other)
        return left[0][1] if left else None

    def _reschedule(self, node):
        super()._reschedule(node)  # gives it one file or tells it that there is none,
        while self._pending_of(self.assigned_work[node]) < 2 and not node.shutting_down:
            super()._reschedule(node)  # for a process begins a test only when it knows what comes after

    def _split_scope(self, nodeid):
        return nodeid if _file(nodeid) in APART else _file(nodeid)


def _file(nodeid):
    return nodeid.split("::")[0]
