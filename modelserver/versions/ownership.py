"""Which models are loaded: those that only you can have written.

An exported program is code: PyTorch unpickles parts of a `.pt2` file and evaluates expressions in it, so loading one
can run any command as you. A checksum can't tell who wrote it. The file system can: it knows a folder that is yours and
that nobody else may write to, below folders of which the same is true. (sshd asks the same of `authorized_keys`.)
"""

import os
import stat
from pathlib import Path

_LINK = "{}: it is a link; folders of models and versions, and their files, are real ones. Copy what it points at there"


class NotYours(PermissionError):
    """Others could have written what was to be loaded; the text says which folder, and the command that mends it."""


def check_only_yours(path: Path) -> Path:
    """Return `path`, links resolved, when only you (or root) can change what is in it; else raise NotYours.

    Looks at the folder or file, the files in it, and every folder above it. A folder above it may also be one in which
    nobody can rename others' files, such as /tmp. A group with you as its only member may write. Windows has
    no such owners and modes: nothing is checked on it.
    """
    path = Path(os.path.realpath(path))
    if os.name != "posix":
        return path
    for folder in path.parents:
        _check(folder, path, sticky=True)
    _check(path, path)
    if path.is_dir():
        for entry in path.iterdir():
            _check(entry, path)
    return path


def check_no_link(path: Path) -> None:
    """Raise NotYours when `path` is a link: a version's number and its model's name are those of the folders."""
    if path.is_symlink():
        raise NotYours(_LINK.format(path))


def _check(path, about, sticky=False):
    state = path.lstat()
    if stat.S_ISLNK(state.st_mode):
        raise NotYours(_LINK.format(path))
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        raise NotYours(f"{path}: it is no file, but a pipe, a socket or a device. Remove it, or export again")
    if state.st_uid not in (os.geteuid(), 0):
        raise NotYours(
            f"{about}: {path} belongs to user {_name(state.st_uid)}, not to you, and an exported model is code that "
            f"runs as you. Serve folders of your own: cp -R {about} to one, if you trust who wrote it"
        )
    if sticky and state.st_mode & stat.S_ISVTX:
        return
    if state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and not _alone_in(state.st_gid)):
        raise NotYours(
            f"{about}: others may write to {path} (mode {stat.S_IMODE(state.st_mode):o}), and an exported model is "
            f"code that runs as you. If you trust what is in it: chmod go-w {path}"
        )


def _alone_in(group):
    """Whether `group` is this user's own, as many systems make one for each user, and has no other member."""
    import grp
    import pwd

    try:
        me, its_group = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == me.pw_gid and its_group.gr_name == me.pw_name and set(its_group.gr_mem) <= {me.pw_name}


def _name(user):
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
