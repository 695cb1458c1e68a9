"""The list of checksums of a version: which files it has and their SHA-256, in the form that `sha256sum -c` reads.

They are compared before anything is loaded. They say that nothing was damaged or is missing; they prove no origin:
whoever can write the files can write the list.
"""

import hashlib
import re
from pathlib import Path

#: The list is the last file that is written: a folder without it is not complete.
NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9_][A-Za-z0-9_.-]*)")


class DamagedVersion(ValueError):
    """A version's folder lacks a file, or a file is not the one that was exported; the text says which."""


def write_checksums(folder: Path) -> None:
    """Write the list for all files in `folder`, which has none yet."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / NAME).write_text("".join(lines), encoding="utf-8")


def verified_names(folder: Path) -> list[str]:
    """Return the names of the files of the version in `folder`, once each was compared with its checksum.

    Nothing is kept in memory. Raises DamagedVersion, naming the first file that is missing or another; OSError when
    one can't be read.
    """
    listed = _listed(folder)
    for name, wanted in listed.items():
        try:
            with open(folder / name, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise _missing(folder / name) from None
        if digest != wanted:
            raise _other(folder / name)
    return list(listed)


def listed_names(folder: Path) -> list[str]:
    """Return the names of the files that the list in `folder` names; DamagedVersion for what is no list."""
    return list(_listed(folder))


def verified_files(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Return {file name: its bytes} of these files of the version in `folder`, each as its checksum says.

    What is returned is what was compared: nothing is read again. Raises as `verified_names` does.
    """
    listed, contents = _listed(folder), {}
    for name in names:
        if name not in listed:
            raise DamagedVersion(f"{folder}: {NAME} does not name {name}; export the model again")
        try:
            contents[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            raise _missing(folder / name) from None
        if hashlib.sha256(contents[name]).hexdigest() != listed[name]:
            raise _other(folder / name)
    return contents


def _missing(path):
    return DamagedVersion(f"{path}: the file is missing; export or copy the version again")


def _other(path):
    return DamagedVersion(
        f"{path}: its SHA-256 is not the one in {NAME}: the file is damaged, or still being copied. Copy the version "
        "again, under another name first, and rename it; or export it again"
    )


def _listed(folder):
    try:
        lines = (folder / NAME).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DamagedVersion(f"{folder}: there is no {NAME}: it is not complete. export() writes it last") from None
    except UnicodeDecodeError:
        raise DamagedVersion(f"{folder / NAME}: this is no text; export the model again") from None
    matches = [_LINE.fullmatch(line) for line in lines]
    if not all(matches) or not matches:
        raise DamagedVersion(f"{folder / NAME}: a line is not 'SHA-256, two blanks, file name'; export it again")
    return {match[2]: match[1] for match in matches if match}
