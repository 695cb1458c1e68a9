"""The versions of torch that simgpu is tried with, and the errors for others. Loads nothing of torch."""

from importlib.metadata import version

#: The oldest torch that the tests run on, and the first that they don't.
OLDEST, BEYOND = (2, 11), (2, 16)
TRIED = f"{OLDEST[0]}.{OLDEST[1]} to {BEYOND[0]}.{BEYOND[1] - 1}"


def installed() -> str:
    """Return the version of the installed torch; raises PackageNotFoundError where there is none."""
    return version("torch")


def numbers(text: str) -> tuple[int, int]:
    """Return the first two numbers of a version.

    >>> numbers("2.13.0+cpu"), numbers("2.16.0a0+git1234")
    ((2, 13), (2, 16))
    """
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def is_tried(text: str) -> bool:
    """Return whether simgpu is tried with the torch of this version."""
    return OLDEST <= numbers(text) < BEYOND


def check(text: str) -> None:
    """Raise RuntimeError for a torch that is older than all that simgpu is tried with."""
    if numbers(text) < OLDEST:
        raise RuntimeError(
            f"This is torch {text}, and simulated GPUs need {TRIED}: python -m pip install "
            f"'torch>={OLDEST[0]}.{OLDEST[1]}'."
        )


def newer(text: str, error: object) -> str:
    """Return the message for a torch, newer than all that simgpu is tried with, in which it fails by `error`."""
    return (
        f"This is torch {text}, newer than {TRIED}, which simulated GPUs are tried with, and they fail in it: "
        f"{error!r}. Install a newer simgpu, or 'torch<{BEYOND[0]}.{BEYOND[1]}'."
    )
