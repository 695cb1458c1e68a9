"""Models at a store's address: a version appears whole or not, and a server has copies that outlive the store."""

import logging
import threading

import pytest
import torch

from modelserver import bucket, export, pin
from modelserver.bucket import BucketPath
from modelserver.commands import listed
from modelserver.versions import bucket_models
from modelserver.versions.bucket_models import copied
from modelserver.versions.version import numbers, read_version
from tests.helpers.shells import eventually
from tests.helpers.stores.strict_store import fall_silent, full, objects, strict_store

ADDRESS = "strict://bucket/models"


@pytest.fixture
def store():
    with strict_store() as store:
        yield store


def exported(directory=ADDRESS, **more):
    return export(torch.nn.Linear(3, 2), torch.ones(2, 3), directory, name="m", **more)


def versions(directory=ADDRESS):
    return numbers(BucketPath(directory) / "m")


def test_each_export_is_the_next_version_and_old_ones_go(store, tmp_path):
    for number in (1, 2, 3):
        version = exported(keep=2)
        assert version.number == number and str(version.folder) == f"{ADDRESS}/m/{number}"
    assert versions() == [2, 3] and not [path for path in objects() if "/m/1/" in path]
    assert next(iter(listed(ADDRESS, "m", None))).startswith("2  torch")
    with copied(BucketPath(ADDRESS), tmp_path):
        copy = read_version(tmp_path / "m" / "3")
    assert copy.signature == version.signature and copy.number == 3


def test_the_list_of_checksums_comes_last_and_goes_first(store):
    calls = []
    store.refuse = lambda call, path: calls.append((call, path.rpartition("/")[2]))
    exported(keep=1)
    exported(keep=1)
    assert [name for call, name in calls if call == "write"][-1] == "SHA256SUMS"
    assert [name for call, name in calls if call == "remove"][0] == "SHA256SUMS"


@pytest.mark.parametrize("number", range(1, 6))
def test_an_export_that_is_refused_anywhere_leaves_no_version_and_nothing_of_its_own(store, number):
    exported()
    before, writes = objects(), []

    def refuse(call, path):
        if call == "write":
            writes.append(path)
            if len(writes) == number:
                raise PermissionError(13, "no")

    store.refuse = refuse
    with pytest.raises(OSError, match="no version of m was written"):
        exported()
    assert objects() == before and versions() == [1]
    assert exported().number == 2


def test_exports_at_once_get_a_number_each(store, monkeypatch):
    claimed = bucket_models._claimed

    def claimed_after_another(model):
        monkeypatch.setattr(bucket_models, "_claimed", claimed)
        mine = claimed(model)
        assert exported().number == 2
        return mine

    monkeypatch.setattr(bucket_models, "_claimed", claimed_after_another)
    assert exported().number == 1 and versions() == [1, 2]


def test_copies_follow_new_versions_and_the_pin_and_outlive_the_store(store, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(bucket_models, "BUCKET_LOOKED_AT_EVERY", 0.05)
    monkeypatch.setattr(logging.getLogger("modelserver"), "propagate", True)
    exported()
    with caplog.at_level(logging.INFO, "modelserver"), copied(BucketPath(ADDRESS), tmp_path):
        assert numbers(tmp_path / "m") == [1]
        exported()
        eventually(lambda: numbers(tmp_path / "m") == [1, 2])
        assert pin(ADDRESS, "m", "previous") == 1
        eventually((tmp_path / "m" / "serve").exists)
        assert pin(ADDRESS, "m", "newest") is None
        eventually(lambda: not (tmp_path / "m" / "serve").exists())
        store.refuse = full()
        eventually(lambda: "the store can't be looked at, what is served stays" in caplog.text)
        assert numbers(tmp_path / "m") == [1, 2]
        store.refuse = None
        exported()
        eventually(lambda: numbers(tmp_path / "m") == [1, 2, 3])
    assert caplog.text.count("can't be looked at") == 1, "a lost store is one line in the log"


def test_a_version_that_is_damaged_or_not_whole_is_not_copied_and_asked_for_once(store, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("modelserver"), "propagate", True)
    for _ in range(3):
        exported()
    prefix = "/bucket/models/m"
    del store.store[f"{prefix}/2/SHA256SUMS"]
    store.pipe_file(store(), f"{prefix}/3/program.pt2", b"damaged")
    copies = bucket_models._Copies(BucketPath(ADDRESS), tmp_path)
    for _ in range(2):
        copies.look(threading.Event())
    assert numbers(tmp_path / "m") == [1] and [path.name for path in (tmp_path / "m").iterdir()] == ["1"]
    assert caplog.text.count("is not copied") == 1 and "program.pt2: its SHA-256 is not" in caplog.text


def test_a_silent_store_is_told_within_its_deadline(store, tmp_path, monkeypatch):
    monkeypatch.setattr(bucket, "STORE_ANSWERS", 0.2)
    fall_silent()
    with pytest.raises(TimeoutError, match="has not answered"), copied(BucketPath(ADDRESS), tmp_path):
        pass
    with pytest.raises(TimeoutError, match="has not answered.*no version of m was written"):
        exported()
