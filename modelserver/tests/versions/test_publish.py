"""Versions appear whole, each with a number of its own; none goes that is needed."""

import os
import threading

import pytest

from modelserver.versions.checksums import NAME, DamagedVersion, verified_files, verified_names, write_checksums
from modelserver.versions.pin import pin, pinned
from modelserver.versions.publish import in_use, model_folder, prune, publish, written_aside
from modelserver.versions.version import numbers


def written(model, text="x"):
    with written_aside(model) as aside:
        (aside / "file").write_text(text)
        return publish(aside)


@pytest.fixture
def model(tmp_path):
    return model_folder(tmp_path, "m")


def test_exporters_at_once_get_a_version_each(model):
    barrier, published = threading.Barrier(8), []

    def export_one(at):
        with written_aside(model) as aside:
            (aside / "file").write_text(str(at))
            barrier.wait()
            published.append((publish(aside), at))

    threads = [threading.Thread(target=export_one, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(folder.name) for folder, _ in published) == numbers(model) == list(range(1, 9))
    assert all(verified_files(folder, ("file",)) == {"file": str(at).encode()} for folder, at in published)


def test_a_version_that_failed_on_the_way_never_appears(model):
    with pytest.raises(RuntimeError), written_aside(model) as aside:
        (aside / "file").write_text("half")
        raise RuntimeError
    assert list(model.iterdir()) == []


def test_a_version_in_use_or_held_at_is_not_pruned(model):
    for _ in range(5):
        written(model)
    pin(model.parent, "m", 2)
    with in_use(model / "1"):
        assert prune(model, keep=1) == [3, 4]
    assert numbers(model) == [1, 2, 5]
    assert prune(model, keep=1) == [1]


def test_folders_are_not_writable_by_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        folder = written(model_folder(tmp_path, "m"))
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o022 == 0 and (folder / "file").stat().st_mode & 0o022 == 0


def test_what_the_list_does_not_name_or_names_wrongly_is_damage(model):
    folder = written(model)

    def damaged(reason):
        for way in (verified_names, lambda folder: verified_files(folder, ("file",))):
            with pytest.raises(DamagedVersion, match=reason):
                way(folder)

    assert verified_files(folder, ("file",)) == {"file": b"x"} and verified_names(folder) == ["file"]
    (folder / "file").write_text("y")
    damaged("file: its SHA-256")
    (folder / "file").unlink()
    damaged("the file is missing")
    for text in ("", "no list\n", "0" * 64 + "  ../../etc/passwd\n", "\xff"):
        (folder / NAME).write_bytes(text.encode("latin-1"))
        damaged("export it again|no text")
    (folder / NAME).unlink()
    damaged("not complete")
    (folder / "file").write_text("x")
    write_checksums(folder)
    with pytest.raises(DamagedVersion, match="does not name other"):
        verified_files(folder, ("other",))


def test_a_model_is_held_at_a_version_until_it_is_let_go(model):
    for _ in range(3):
        written(model)
    assert pinned(model) is None
    assert pin(model.parent, "m", "previous") == 2 == pinned(model)
    assert pin(model.parent, "m", "previous") == 1 == pinned(model)
    with pytest.raises(ValueError, match="there are: 1, 2, 3"):
        pin(model.parent, "m", "previous")
    with pytest.raises(ValueError, match="there are: 1, 2, 3"):
        pin(model.parent, "m", 4)
    assert pin(model.parent, "m", "newest") is None is pinned(model)
