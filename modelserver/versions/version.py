"""One version of a model, as its folder says it is."""

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from modelserver.bucket import BucketPath
from modelserver.versions.checksums import NAME, DamagedVersion, verified_files, verified_names
from modelserver.versions.ownership import check_no_link, check_only_yours
from modelserver.versions.signature import Signature

ABOUT, LABELLED = "version.json", "labelled.npz"
#: The signature that answers a request which names none; the name is TensorFlow Serving's.
DEFAULT_SIGNATURE = "serving_default"


def program_file(signature: str = DEFAULT_SIGNATURE) -> str:
    """Return the name of the file with the program of a `signature`."""
    return "program.pt2" if signature == DEFAULT_SIGNATURE else f"program.{signature}.pt2"


def examples_file(signature: str = DEFAULT_SIGNATURE) -> str:
    """Return the name of the file with the examples of a `signature`, and their answers."""
    return "examples.npz" if signature == DEFAULT_SIGNATURE else f"examples.{signature}.npz"


@dataclass(frozen=True)
class Version:
    """A version of a model: its `model`'s name, its `number`, its `folder`, what its export wrote about it.

    `signature`: the default one, `other_signatures`: the rest by name. `labels`: names of the places of its first
    output, () for none. `torch`: the release that exported it. `record`: how it was trained, values that JSON has.
    `labelled`: whether it brings examples with the right answers. Of one that `export` wrote to a store's address,
    `folder` is a `BucketPath`, whose text is the address.
    """

    model: str
    number: int
    folder: Path
    signature: Signature
    labels: tuple[str, ...] = ()
    torch: str = ""
    record: dict[str, Any] = field(default_factory=dict)
    labelled: bool = False
    other_signatures: dict[str, Signature] = field(default_factory=dict)

    @property
    def signatures(self) -> dict[str, Signature]:
        """All signatures by name, the default one first."""
        return {DEFAULT_SIGNATURE: self.signature, **self.other_signatures}

    def __str__(self):
        return f"{self.model} version {self.number}"


def numbers(folder: Path | BucketPath) -> list[int]:
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
    _check_there(folder, names, ABOUT)
    try:
        stated = json.loads(verified_files(folder, (ABOUT,))[ABOUT])
        about = (tuple(map(str, stated["labels"])), str(stated["torch"]), dict(stated["record"]))
        signature = Signature.from_json(stated["signature"])
        others = {str(name): Signature.from_json(sides) for name, sides in stated.get("signatures", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedVersion(f"{folder / ABOUT}: {error!r}; export the model again") from None
    version = Version(folder.parent.name, int(folder.name), folder, signature, *about, LABELLED in names, others)
    for name in version.signatures:
        _check_there(folder, names, program_file(name), examples_file(name))
    return version


def _check_there(folder, names, *wanted):
    for name in wanted:
        if name not in names:
            raise DamagedVersion(f"{folder}: there is no {name}; export the model again")


def read_arrays(data: bytes, where: str) -> dict[str, numpy.ndarray]:
    """Return the arrays of an .npz file's bytes; nothing in it is unpickled. DamagedVersion for anything else."""
    try:
        with numpy.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # numpy and zipfile raise any of ten errors at a damaged file
        raise DamagedVersion(f"{where}: {error}; export the model again") from None
