"""Only folders that nobody else can have written are loaded."""

import os

import pytest

from modelserver.versions.ownership import NotYours, check_only_yours

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


@pytest.fixture
def folder(tmp_path):
    version = tmp_path / "models" / "m" / "1"
    version.mkdir(parents=True)
    (version / "file").touch()
    for path in (version, version.parent, version.parent.parent):
        path.chmod(0o755)
    return version


def test_a_folder_of_your_own_is_let_in(folder):
    assert check_only_yours(folder) == folder.resolve()


@pytest.mark.parametrize("which", [".", "..", "../..", "file"])
@pytest.mark.parametrize("mode", [0o757, 0o777])
def test_one_that_others_may_write_to_is_refused_wherever_that_is(folder, which, mode):
    (folder / which).chmod(mode)
    with pytest.raises(NotYours, match="chmod go-w"):
        check_only_yours(folder)


def test_a_folder_above_in_which_nobody_renames_anothers_files_is_let_in(folder):
    folder.parent.parent.chmod(0o1777)
    check_only_yours(folder)
    folder.chmod(0o1777)  # but not the version's own: files can be added to it
    with pytest.raises(NotYours):
        check_only_yours(folder)


def test_a_group_with_others_in_it_may_not_write(folder, monkeypatch):
    folder.chmod(0o775)
    monkeypatch.setattr("modelserver.versions.ownership._alone_in", lambda group: False)
    with pytest.raises(NotYours):
        check_only_yours(folder)
    monkeypatch.setattr("modelserver.versions.ownership._alone_in", lambda group: True)
    check_only_yours(folder)


def test_another_users_folder_is_refused(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 12345)
    if folder.stat().st_uid == 0:  # root's are everybody's; somebody else's are not
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        os.chown(folder, 12345, -1)
    with pytest.raises(NotYours, match="belongs to user"):
        check_only_yours(folder)


def test_a_linked_file_is_refused(folder, tmp_path):
    (tmp_path / "elsewhere").touch()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotYours, match="it is a link"):
        check_only_yours(folder)
