"""Tests on simulated GPUs: the fixture `gpus`, the marker `gpus(count)`, and `pytest --simulate-gpus`.

```python
def test_two_devices(gpus):                    # a SimulatedGPUs of one GPU, for this test alone
    assert torch.ones(2, device="cuda").is_cuda

@pytest.mark.gpus(2)                           # the same, with two
def test_split(): ...
```

`--simulate-gpus` starts them once, before any conftest or test file is imported, so that
`skipif(not torch.cuda.is_available())` and lists of devices made at import find them: for a test suite written for
CUDA. Processes that the tests start find them too. Without it, and in tests that don't ask, nothing of torch is loaded.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import pytest

from simgpu.variables import GPUS, MEMORY, MODEL

if TYPE_CHECKING:
    from simgpu.session import SimulatedGPUs

_VARIABLES = (GPUS, MODEL, MEMORY)
_STARTED = pytest.StashKey["tuple[SimulatedGPUs, dict[str, str | None] | None]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add this plugin's options."""
    group = parser.getgroup("simgpu", "simulated GPUs")
    group.addoption(
        "--simulate-gpus", action="store_true", help="run all tests on simulated GPUs, started before collection"
    )
    group.addoption("--gpu-count", default="2", metavar="N", help="how many --simulate-gpus starts (2)")
    group.addoption(
        "--gpu-model", default="H200", metavar="NAME", help="the card whose speeds and memory they have (H200)"
    )
    group.addoption("--gpu-memory", metavar="SIZE", help="bytes of each, as in 2GiB (the card's)")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the GPUs of `--simulate-gpus`: before the first conftest, which may ask for them."""
    options = early_config.known_args_namespace
    if not options.simulate_gpus:
        return
    from simgpu import active, simulated_gpus
    from simgpu.environment import count_of, model

    running = active()
    if running is not None:  # a child process of the run: the environment has started some
        early_config.stash[_STARTED] = cast("SimulatedGPUs", running), None
        return
    try:
        count = count_of(options.gpu_count, "--gpu-count")
        gpus = simulated_gpus(count, model(options.gpu_model, options.gpu_memory))
    except (ValueError, RuntimeError) as error:  # an illegal option, or a torch that is too old
        raise pytest.UsageError(f"--simulate-gpus: {error}") from None
    before = {name: os.environ.get(name) for name in _VARIABLES}
    wanted = {GPUS: str(count), MODEL: options.gpu_model, MEMORY: options.gpu_memory}
    _set(wanted)
    early_config.stash[_STARTED] = gpus, before


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker."""
    config.addinivalue_line(
        "markers", "gpus(count): run on `count` simulated GPUs (simgpu); the fixture `gpus` is theirs"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that GPUs are simulated."""
    started = config.stash.get(_STARTED, None)
    return None if started is None else f"simgpu: {started[0]!r}, none of them real"


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what `pytest_load_initial_conftests` started."""
    started = config.stash.get(_STARTED, None)
    if started is not None:
        gpus, before = started
        del config.stash[_STARTED]
        if before is not None:
            gpus.close()
            _set(before)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let each test begin with idle devices, a clock at 0 and no peak of memory of another."""
    started = item.config.stash.get(_STARTED, None)
    if started is not None:
        started[0].reset()


@pytest.fixture
def gpus(request: pytest.FixtureRequest) -> "Iterator[SimulatedGPUs]":
    """Simulated GPUs for this test: one, or as many as `@pytest.mark.gpus(count)` says."""
    from simgpu import active, simulated_gpus

    count = _count(request.node)
    running = active()
    if running is None:
        options = request.config.option
        from simgpu.environment import model

        with simulated_gpus(count, model(options.gpu_model, options.gpu_memory)) as started:
            yield started
    elif running.count < count:
        pytest.fail(
            f"@pytest.mark.gpus({count}): {running!r} is active for all tests; start enough of them: "
            f"--simulate-gpus --gpu-count={count}.",
            pytrace=False,
        )
    else:
        yield cast("SimulatedGPUs", running)


@pytest.fixture(autouse=True)
def _gpus_of_the_marker(request):
    """Give a marked test its GPUs where it doesn't name the fixture."""
    if request.node.get_closest_marker("gpus") is not None:
        request.getfixturevalue("gpus")


def _count(node):
    marker = node.get_closest_marker("gpus")
    if marker is None:
        return 1
    if len(marker.args) != 1 or marker.kwargs or type(marker.args[0]) is not int or marker.args[0] < 1:
        pytest.fail("@pytest.mark.gpus takes the number of GPUs, as in @pytest.mark.gpus(2).", pytrace=False)
    return marker.args[0]


def _set(variables):
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
