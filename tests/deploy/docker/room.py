"""A room for what compose.yaml starts: one network, file system and user for all of its services, made by bubblewrap.

Each service's host is an address of the room's own loopback, so that their commands stay as they are written. The room
has this machine's system and the checkout, or a built image's file system.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = "/home/learner/course"
INSIDE = Path(__file__).with_name("inside.py")
SECONDS = 600  # for all that happens in it


def need_rooms():
    """Skip the file, with the machine's own words, where no room can be made; fail where one was promised."""
    try:
        done = subprocess.run([*_walls(), *_system(), "true"], capture_output=True, text=True, timeout=60)
        missing = done.stderr.strip()[:200] if done.returncode else None
    except FileNotFoundError:
        missing = "there is no bwrap: `apt install bubblewrap`"
    if missing:
        assert not os.environ.get("COURSE_MUST_HAVE_SANDBOX"), missing
        pytest.skip(f"NOT TESTED HERE, no room can be made: {missing}", allow_module_level=True)


def happened(folder, services, programs, killed=(), image=None):
    """Run a plan in a room and return what was seen, as `inside.py` writes it.

    `folder`: an empty one of the test's; `services`: as `compose_file.plan` gives; `programs`: commands that run when
    all are healthy; `killed`: services that are killed then, and asked once more. `image`: the file system of an image.
    """
    hosts = {one["name"]: f"127.0.1.{number}" for number, one in enumerate(services, 1)}
    for name in ("keys", "models", "plan"):
        (folder / name).mkdir()
    (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in hosts.items()))
    (folder / "passwd").write_text("learner:x:1000:1000::/home/learner:/bin/sh\n")
    plan = {"services": services, "programs": programs, "killed": list(killed), "folder": FOLDER}
    (folder / "plan" / "plan.json").write_text(json.dumps(plan))
    python = [sys.executable]
    if image:  # its files belong to other users than ours: no user of ours is mapped
        python = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--no-new-privs", "/usr/bin/python3"]
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 1000, 1000)
    files = ["--bind", str(folder / "keys"), "/keys", "--bind", str(folder / "models"), "/models"]
    files += ["--bind", str(folder / "plan"), "/plan", "--ro-bind", str(INSIDE), "/plan/inside.py"]
    files += ["--ro-bind", str(folder / "hosts"), "/etc/hosts", "--ro-bind", str(folder / "passwd"), "/etc/passwd"]
    command = [*_walls(image is None), *(_image(image) if image else _system()), *files, "--chdir", FOLDER]
    done = subprocess.run(
        [*command, *python, "/plan/inside.py", "/plan/plan.json", "/plan/seen.json"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "plan" / "seen.json").read_text())


def _walls(as_user=True):
    alone = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session", "--clearenv"]
    alone += ["--unshare-user", "--uid", "1000", "--gid", "1000"] if as_user else []
    words = {"HOME": "/home/learner", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    return ["bwrap", *alone, *(part for name, value in words.items() for part in ("--setenv", name, value))]


def _system():
    """This machine's programs and the checkout, where the image has it."""
    arguments = ["--setenv", "PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin"]
    for path in ("/usr", "/etc"):
        arguments += ["--ro-bind", path, path]
    for path in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            arguments += ["--ro-bind", path, path]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", str(ROOT), FOLDER]
    for path in {sys.base_prefix, sys.prefix, str(ROOT)}:
        if not path.startswith("/usr"):
            arguments += ["--ro-bind", path, path]
    return arguments


def _image(root):
    path = f"{FOLDER}/.venv/bin:/usr/local/bin:/usr/bin:/bin"
    fresh = ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
    return ["--bind", str(root), "/", *fresh, "--setenv", "PATH", path]
