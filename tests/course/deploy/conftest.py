"""What the tests of deployed clusters share: a ledger of their own, and both systems where this machine has them."""

import os
from importlib.metadata import distributions

import pytest

from tests.course.deploy.slurm_here import need_slurm, slurm_here
from tests.course.deploy.sshd_here import need_sshd, sshd_here


@pytest.fixture(scope="module", autouse=True)
def ledger(tmp_path_factory):
    """The user's ledger is not touched: this one is in a folder of the test's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield tmp_path_factory


@pytest.fixture(scope="session")
def clouds_libraries(pytestconfig):
    """Skip the test aloud where a cloud's library is missing; fail in `make long`, which installs them."""
    packages = {"azure-identity", "dask-cloudprovider", "dask-gateway-server", "dask-kubernetes", "moto"}
    if missing := packages - {one.name.lower().replace("_", "-") for one in distributions()}:
        refuse = pytest.fail if pytestconfig.option.markexpr == "long" else pytest.skip
        refuse(f"NOT TESTED HERE, there is no {', '.join(sorted(missing))}: `make long` installs them")


@pytest.fixture(scope="module")
def slurm():
    """A real Slurm with one node of eight cores, found by the commands of this process."""
    need_slurm()
    with slurm_here() as here, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(here.configuration))
        patch.setenv("PATH", os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
        yield here


@pytest.fixture(scope="module")
def sshd():
    """A real SSH server that lets this user in with a key of the test's."""
    need_sshd()
    with sshd_here() as here:
        yield here
