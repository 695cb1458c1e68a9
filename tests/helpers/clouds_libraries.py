"""Which of the clouds' libraries this environment lacks: `make long` installs them, `make test` does without."""

from importlib.metadata import PackageNotFoundError, version

import pytest

_PACKAGES = ("azure-identity", "dask-cloudprovider", "dask-gateway-server", "dask-kubernetes", "moto")


def missing_libraries():
    """Return the packages that the tests of clouds need and that are not installed here."""
    missing = []
    for package in _PACKAGES:
        try:
            version(package)
        except PackageNotFoundError:
            missing.append(package)
    return missing


def header():
    """Return the line that a run of the tests begins with where it can't test the clouds' deployers."""
    missing = missing_libraries()
    return f"NOT TESTED HERE, clouds' deployers: `make long` installs {', '.join(missing)}" if missing else []


def need_libraries(config):
    """Skip the test aloud where a library is missing; fail in `make long`, which has promised them."""
    if missing := missing_libraries():
        refuse = pytest.fail if config.getoption("markexpr") == "long" else pytest.skip
        refuse(f"NOT TESTED HERE, there is no {', '.join(missing)}: `make long` installs these")
