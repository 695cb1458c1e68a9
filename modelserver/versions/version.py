"""One version of a model, as its folder says it is."""

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from modelserver.versions.checksums import NAME, DamagedVersion, verified_files, verified_names
from modelserver.versions.ownership import check_no_link, check_only_yours
from modelserver.versions.signature import Signature

PROGRAM, ABOUT, EXAMPLES, LABELLED = "program.pt2", "version.json", "examples.npz", "labelled.npz"


@dataclass(frozen=True)
class Version:
    """A version of a model: its `model`'s name, its `number`, its `folder`, what its export wrote about it.

    `labels`: names of the places of its first output, () for none. `torch`: the release that exported it. `record`: how
    it was trained, values that JSON has. `labelled`: whether it brings examples with the right answers.
    """

    model: str
    number: int
    folder: Path
    signature: Signature
    labels: tuple[str, ...] = ()
    torch: str = ""
    record: dict[str, Any] = field(default_factory=dict)
    labelled: bool = False

    def __str__(self):
        return f"{self.model} version {self.number}"


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the versions in a model's `folder`, in order, complete ones or not; [] without a folder."""
    try:
        names = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and str(int(name)) == name)


def read_version(folder: Path) -> Version:
    """Return what is in a version's `folder`, whose checksums all fit; nothing of it is run.

    Raises DamagedVersion for one that is not whole, NotYours (a PermissionError) for one that others could have
    written, OSError when it can't be read.
    """
    for part in (folder, folder.absolute().parent):
        check_no_link(part)
    folder = check_only_yours(folder)
    if folder.is_dir() and not (folder / NAME).exists():
        raise DamagedVersion(f"{folder}: there is no {NAME}: it is not complete. export() writes it last")
    names = verified_names(folder)
    for name in (PROGRAM, ABOUT, EXAMPLES):
        if name not in names:
            raise DamagedVersion(f"{folder}: there is no {name}; export the model again")
    try:
        stated = json.loads(verified_files(folder, (ABOUT,))[ABOUT])
        about = (tuple(map(str, stated["labels"])), str(stated["torch"]), dict(stated["record"]))
        signature = Signature.from_json(stated["signature"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedVersion(f"{folder / ABOUT}: {error!r}; export the model again") from None
    return Version(folder.parent.name, int(folder.name), folder, signature, *about, LABELLED in names)


def read_arrays(data: bytes, where: str) -> dict[str, numpy.ndarray]:
    """Return the arrays of an .npz file's bytes; nothing in it is unpickled. DamagedVersion for anything else."""
    try:
        with numpy.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # numpy and zipfile raise any of ten errors at a damaged file
        raise DamagedVersion(f"{where}: {error}; export the model again") from None
