"""What every test shares: a test that leaves a process, a listening port or a thread behind fails, by name."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.internal.conjecture import providers

from course.lab import can_be_written
from tests.helpers.cluster import ports
from tests.helpers.cluster.shared import SharedCluster
from tests.helpers.lanes import Lanes, longest_first
from tests.helpers.leaks import check_leaks, leftovers
from tests.selection import LONG, ROOT, SHORT, SLOW, is_left_out, left_out

# Examples are drawn from each test's own text, and none has a time limit: the same commit gets the same verdict, on any
# machine and under any load. `make explore` draws new ones; what it finds becomes an `@example` of the test.
settings.register_profile("same verdict", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=300)
quick = (Phase.explicit, Phase.generate)  # where any counterexample will do, however large
settings.register_profile("same verdict, found sooner", deadline=None, derandomize=True, phases=quick)
settings.load_profile("same verdict")


_BEGAN = pytest.StashKey[float]()
_SECONDS = Counter()  # of each file's tests


def pytest_configure(config):
    if not can_be_written(home := Path.home()):
        raise pytest.UsageError(
            f"{home}, your home, can't be written: JupyterLab and its kernels keep files there, in tests too. "
            "Give another: HOME=/tmp/home make test"
        )
    # Nor from the numbers in the modules that tests before it happened to import; Hypothesis has no setting for that.
    if settings().derandomize:
        providers.is_local_module_file = lambda path: False


def pytest_sessionstart(session):
    session.config.stash[_BEGAN] = time.monotonic()


def pytest_ignore_collect(collection_path, config):
    return is_left_out(collection_path, config.option.markexpr) or None


def pytest_runtest_logreport(report):
    _SECONDS[report.nodeid.split("::")[0]] += report.duration


def pytest_sessionfinish(session):
    """Leave each file's seconds to `make architecture`: its page says how long the tests of each room take."""
    name = {SHORT: "short", LONG: "long"}.get(session.config.option.markexpr)
    if name and not hasattr(session.config, "workerinput"):
        place = ROOT / "build" / "seconds" / f"{name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(_SECONDS, indent=0))


def pytest_terminal_summary(terminalreporter, config):
    if sentence := left_out(config.option.markexpr):
        minutes, seconds = divmod(round(time.monotonic() - config.stash[_BEGAN]), 60)
        terminalreporter.write_line(f"These tests took {minutes} min {seconds} s. {sentence}")


def pytest_collection_modifyitems(items):
    for item in items:
        if str(item.path).startswith(SLOW):
            item.add_marker("long")
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(900))  # four at a time on two cores, and each of them a long one
    longest_first(items)


def pytest_xdist_make_scheduler(config, log):
    return Lanes(config, log)


@pytest.fixture(autouse=True, scope="module")
def no_leaks_from_this_file():
    before = leftovers()
    yield
    check_leaks(before)


_last = []  # what was open after the test before; empty where something that outlives a test was made since


def pytest_fixture_setup(fixturedef):
    if fixturedef.scope != "function":
        _last.clear()


@pytest.fixture(autouse=True)
def no_leaks(no_leaks_from_this_file):
    before = _last.pop() if _last else leftovers()  # to look takes two milliseconds, and there are four thousand tests
    yield
    _last.append(check_leaks(before))


@pytest.fixture(scope="session")
def _shared_cluster():
    shared = SharedCluster()
    yield shared
    shared.close()


@pytest.fixture
def shared_cluster(_shared_cluster, no_leaks):
    """A `local_cluster(ps=1, worker=2)` that all tests of this process share, every task alive and idle.

    A test may kill or freeze its tasks (the next one waits until they are back), but not close or configure it: such a
    test opens its own.
    """
    return _shared_cluster.ready()


@pytest.fixture(scope="session")
def free_ports():
    """The function `free_ports` of tests/helpers/cluster/ports.py."""
    return ports.free_ports
