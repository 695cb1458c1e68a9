"""The sandbox of a grader who isn't root: in a user namespace, and refused in plain words where that is forbidden.

As root these tests become the user `nobody`; the files of the sandbox are copied to where that user can read them, and
only these: it needs nothing but the standard library.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.helpers.sandboxes import AS_ROOT, need_sandboxes

need_sandboxes()
pytestmark = pytest.mark.usefixtures("nothing_left")

ROOT = Path(__file__).resolve().parents[3]
NEEDED = ("grader/__init__.py", "grader/sandbox")

PLAIN = "setpriv --reuid=65534 --regid=65534 --clear-groups --".split() if AS_ROOT else []

#: Run as the plain user: makes sandboxes, prints what came of it as JSON.
GRADER = """\
import json, os, sys
sys.path.insert(0, sys.argv[1])
from grader.sandbox import *
LOOK = '''
import ctypes, os, socket
status = dict(line.split(":\\\\t", 1) for line in open("/proc/self/status"))
print([status[name].strip().lstrip("0") for name in ("CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")])
print(os.getuid(), sorted(os.listdir("/")), open("/proc/1/environ").read())
libc = ctypes.CDLL(None)
print(libc.unshare(0x10000000), libc.mount(b"x", b"/tmp", b"tmpfs", 0, None), libc.umount2(b"/usr/lib", 2))
for path in ("/new", "/usr/lib/new", "/etc/new", "/dev/new", "/etc/passwd"):
    try: open(path, "w"); print("ESCAPED", path)
    except OSError: pass
try: socket.socket(); print("ESCAPED")
except OSError: pass
try: open("/proc/self/oom_score_adj", "w").write("0"); print("ESCAPED")
except OSError: pass
if open("/proc/self/oom_score_adj").read().strip() != "1000": print("ESCAPED")
'''
def end(program, **limits):
    ended = Sandbox(Profile(**{"seconds": 20, **limits})).run(program)
    return [ended.limit, ended.stdout, ended.stderr[-300:]]
found = {"uid": os.getuid(), "start": None}
try:
    found["start"] = end("print(6 * 7)")
except SandboxUnavailable as missing:
    found["missing"] = str(missing)
else:
    found["look"] = end(LOOK)
    found["memory"] = end("kept = []\\nwhile True: kept.append(bytearray(b'x' * 2**20))", memory=64 * 2**20)
    found["bomb"] = end("import os, time\\nwhile True:\\n    try: os.fork()\\n    except OSError: time.sleep(0.01)",
                        seconds=2, processes=20)
    found["daemon"] = end("import os, time\\nif os.fork() == 0: os.setsid(); time.sleep(100)")
    inside = Sandbox(Profile(network="loopback"))
    with inside.start("import os, socket; s = socket.create_server(('127.0.0.1', 5555)); os.write(EVIDENCE, b'!')\\n"
                      "s.accept()[0].sendall(b'hello'); os.read(REQUESTS, 1)") as one:
        one.receive(1)
        call = "import socket; print(socket.create_connection(('127.0.0.1', 5555)).recv(5))"
        with inside.start(call, beside=one) as two:
            found["beside"] = two.finish().stdout
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder():
    """A folder that everybody may read, with the sandbox's files in it and no others."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for name in NEEDED:
            source, target = ROOT / name, Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, target)
        yield folder


@pytest.fixture(scope="module")
def python():
    """A Python that `nobody` may run; this one may lie in a folder of root's."""
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        # by a shell: setpriv itself still has root's rights when it starts a program
        wanted = f"exec {path} -I -c 'import sys; assert sys.version_info >= (3, 11)'"
        if subprocess.run([*PLAIN, "/bin/sh", "-c", wanted], capture_output=True).returncode == 0:
            return path
    pytest.skip("NOT TESTED HERE: there is no Python 3.11 or newer that the user nobody may run")


def grade(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found(folder, python):
    found = grade([*PLAIN, python, "-I", "-B", "-c", GRADER, folder])
    if "missing" in found:
        pytest.skip(f"NOT TESTED HERE, a plain user can make no sandbox: {found['missing']}")
    return found


def test_a_plain_user_gets_a_sandbox(found):
    assert found["uid"] != 0 and found["start"] == [None, "42\n", ""]


def test_it_has_no_capability_nothing_of_the_grader_and_cannot_change_its_mounts(found):
    limit, stdout, stderr = found["look"]
    rights, who, calls = stdout.splitlines()
    assert (limit, stderr, rights) == (None, "", "['', '', '', '1', '2']")
    assert who.startswith("65534 [") and who.endswith("] ") and "home" not in who  # and an empty environment
    assert calls == "-1 -1 -1"


def test_its_limits_hold(found):
    assert found["memory"][0] == "memory" or "MemoryError" in found["memory"][2]
    assert found["bomb"][0] in ("processes", "time", "cpu")
    assert found["daemon"][0] is None


def test_two_of_its_sandboxes_can_share_a_network(found):
    assert found["beside"] == "b'hello'\n"


def test_where_namespaces_are_forbidden_it_says_so_and_what_to_do(folder, python):
    forbidding = "bwrap --unshare-user --uid 65534 --gid 65534 --disable-userns --bind / / --dev /dev --proc /proc --"
    missing = grade([*forbidding.split(), python, "-I", "-B", "-c", GRADER, folder])["missing"]
    assert missing.startswith("bubblewrap could not make a sandbox: bwrap: ")
    assert "namespace" in missing and "`python -m grader doctor`" in missing
