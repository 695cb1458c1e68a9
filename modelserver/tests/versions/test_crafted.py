"""Files that run a command when they are loaded: nothing is loaded of a folder that is refused, and why it matters."""

import io
import os
from contextlib import suppress

import pytest
import torch

from modelserver import export, read_version
from modelserver.compute.program import load
from modelserver.tests.versions import crafted
from modelserver.versions.checksums import NAME, DamagedVersion, write_checksums
from modelserver.versions.ownership import NotYours

WAYS = [crafted.weights, crafted.sample_inputs, crafted.guards, crafted.symbols]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners, modes and links are POSIX's")


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x + self.weight


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return (export(Sum(), torch.rand(2, 3), tmp_path_factory.mktemp("honest"), name="m").folder).absolute()


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def hostile(request, honest, tmp_path):
    """A version whose program runs a command, checksums and all as a thief would write them; and what that creates."""
    mark, folder = tmp_path / "ran", tmp_path / "models" / "m" / "1"
    folder.mkdir(parents=True, mode=0o755)
    for path in honest.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
        (folder / path.name).chmod(0o644)
    (folder / "program.pt2").write_bytes(request.param((honest / "program.pt2").read_bytes(), mark))
    (folder / NAME).unlink()
    write_checksums(folder)
    for path in (folder, folder.parent, folder.parent.parent):
        path.chmod(0o755)
    return folder, mark


def read_and_load(folder, error, reason):
    for way in (read_version, lambda folder: load(str(folder), "cpu", None, 4)):
        with pytest.raises(error, match=reason):
            way(folder)


def test_each_of_them_runs_its_command_when_it_is_loaded_whoever_asks(hostile):
    """Checksums that fit prove no origin: this is why the folder must be yours alone."""
    folder, mark = hostile
    with suppress(Exception):  # what it makes torch raise afterwards is of no interest
        torch.export.load(io.BytesIO((folder / "program.pt2").read_bytes())).module()(x=torch.ones(2, 3))
    assert mark.exists()
    mark.unlink()
    read_version(folder)  # reads, compares, and runs nothing
    assert not mark.exists()
    with suppress(Exception):
        load(str(folder), "cpu", None, 4)
    assert mark.exists()


def test_one_that_has_other_checksums_is_not_loaded(hostile, honest):
    folder, mark = hostile
    (folder / NAME).write_bytes((honest / NAME).read_bytes())
    read_and_load(folder, DamagedVersion, "program.pt2: its SHA-256 is not the one")
    assert not mark.exists()


@pytest.mark.parametrize("where", ["program.pt2", ".", "..", "../.."])
def test_one_that_others_could_have_written_is_not_loaded_though_its_checksums_fit(hostile, where):
    folder, mark = hostile
    (folder / where).chmod(0o666 if where == "program.pt2" else 0o777)
    read_and_load(folder, NotYours, "others may write to .*chmod go-w")
    assert not mark.exists()


def test_one_that_a_group_with_others_in_it_could_have_written_is_not_loaded(hostile, monkeypatch):
    folder, mark = hostile
    monkeypatch.setattr("modelserver.versions.ownership._alone_in", lambda group: False)
    (folder / "program.pt2").chmod(0o664)
    read_and_load(folder, NotYours, "others may write to .*chmod go-w")
    assert not mark.exists()


def test_one_that_another_user_owns_is_not_loaded(hostile, monkeypatch):
    folder, mark = hostile
    if os.geteuid() == 0:  # root's are everybody's; somebody else's are not
        os.chown(folder / "program.pt2", 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    read_and_load(folder, NotYours, "belongs to user")
    assert not mark.exists()


@pytest.mark.parametrize("part", ["program.pt2", "the version", "the model"])
def test_one_that_a_link_leads_to_is_not_loaded(hostile, tmp_path, part):
    folder, mark = hostile
    linked = {"program.pt2": folder / "program.pt2", "the version": folder, "the model": folder.parent}[part]
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    read_and_load(folder, NotYours, "it is a link")
    assert not mark.exists()


@pytest.mark.parametrize("name", ["program.pt2", "version.json", NAME])
def test_what_is_no_file_is_not_waited_for(hostile, name):
    folder, _ = hostile
    (folder / name).unlink()
    os.mkfifo(folder / name, 0o644)  # a pipe that nobody writes into: reading it would take for ever
    read_and_load(folder, NotYours, "it is no file")
