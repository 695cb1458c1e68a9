"""What a hostile program tries from inside: each attempt says ESCAPED when it works, and the host is looked at."""

import os
import socket
import threading
from pathlib import Path

import pytest

from grader.sandbox import Profile, Sandbox
from tests.helpers.sandboxes import AS_ROOT, need_sandboxes

need_sandboxes()
pytestmark = pytest.mark.usefixtures("nothing_left")

CHECKOUT = Path(__file__).resolve().parents[3]

#: Before each attempt: the C library, and `tried(result)`, which says ESCAPED for a call that worked.
BEFORE = """\
import ctypes, os, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    return getattr(libc, name)(*arguments) != -1
def refused(function, *arguments):
    try:
        return ('ESCAPED', function(*arguments))
    except Exception as error:
        return ('refused', type(error).__name__)
"""

#: name -> program; it prints ESCAPED where it got what it should not.
ATTEMPTS = {
    "remount a read-only mount for writing": """\
for path in (b'/usr/lib', b'/', b'/usr/bin'):
    if call('mount', None, path, None, 32 | 4096, None): print('ESCAPED', path)
print(refused(open, '/usr/lib/sandbox-was-here', 'w'))""",
    "mount something": "print('ESCAPED' if call('mount', b'proc', b'/tmp', b'proc', 0, None) else 'refused')",
    "unmount what covers something": "print('ESCAPED' if call('umount2', b'/tmp', 2) else 'refused')",
    "a new user namespace": "print('ESCAPED' if call('unshare', 0x10000000) else 'refused')",
    "a new namespace by clone": """\
pid = libc.syscall({'x86_64': 56, 'aarch64': 220}[os.uname().machine], 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
print('ESCAPED' if pid > 0 else 'refused')""",
    "enter the first process's namespaces": """\
for name in os.listdir('/proc/self/ns'):
    try: descriptor = os.open(f'/proc/1/ns/{name}', os.O_RDONLY)
    except OSError: continue
    if call('setns', descriptor, 0): print('ESCAPED', name)""",
    "capabilities": """\
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
wanted = {'CapInh': 0, 'CapPrm': 0, 'CapEff': 0, 'CapBnd': 0, 'CapAmb': 0, 'NoNewPrivs': 1}
for name, value in wanted.items():
    if int(status[name], 16) != value: print('ESCAPED', name, status[name])
if int(status['Seccomp']) != 2: print('ESCAPED seccomp')""",
    "become root": """\
for how in ('setuid', 'setgid', 'seteuid'):
    if call(how, 0): print('ESCAPED', how)
print(refused(os.setgroups, [0]))
if 0 in (os.getuid(), os.geteuid(), os.getgid()) or 0 in os.getgroups(): print('ESCAPED', os.getgroups())""",
    "a program that is setuid": """\
for name in ('su', 'mount', 'passwd', 'chsh', 'newgrp', 'sudo', 'gpasswd'):
    path = f'/usr/bin/{name}'
    if os.path.exists(path):
        done = subprocess.run([path, '-c', 'id -u'] if name == 'su' else [path, '--version'],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        if done.stdout.strip() == b'0': print('ESCAPED', name)
if os.statvfs('/usr/bin').f_flag & os.ST_NOSUID == 0: print('ESCAPED: setuid works')""",
    "secrets of the machine": """\
for path in '''/etc/shadow /etc/passwd- /etc/ssh /root/.ssh /root/.bashrc /home /var /run /boot /srv /mnt /opt /sys/fs
            /sys/kernel /dev/mem /dev/kmsg /dev/sda /dev/vda /dev/tty /proc/kcore
            /proc/keys /proc/kallsyms'''.split():
    try: got = os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read(1)
    except OSError: continue
    if got: print('ESCAPED', path, got)
names = [line.split(':')[0] for line in open('/etc/passwd')]
if names != ['student']: print('ESCAPED', names)""",
    "the environment of the first process": """\
for pid in [p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]:
    for name in ('environ', 'mem', 'maps'):
        try: got = open(f'/proc/{pid}/{name}', 'rb').read(100) if name != 'mem' else b''
        except OSError: continue
        if name == 'environ' and got: print('ESCAPED', pid, name, got)
if 'SECRET' in ' '.join(os.environ): print('ESCAPED', dict(os.environ))""",
    "other processes": """\
seen = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())
if seen not in ([1, 2], [1, 2, 3]): print('ESCAPED', seen)
print('ESCAPED' if call('ptrace', 16, 1, 0, 0) else 'refused')
buffer = ctypes.create_string_buffer(8)
class Vector(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
here = Vector(ctypes.addressof(buffer), 8)
print('ESCAPED' if call('process_vm_readv', 1, ctypes.byref(here), 1, ctypes.byref(here), 1, 0) else 'refused')""",
    "the kernel's key rings": """\
numbers = {'x86_64': (248, 249, 250), 'aarch64': (217, 218, 219)}[os.uname().machine]
if libc.syscall(numbers[2], 0, -3, 1) != -1: print('ESCAPED keyctl')
if libc.syscall(numbers[0], b'user', b'name', b'x', 1, -3) != -1: print('ESCAPED add_key')""",
    "calls that the kernel has had bugs in": """\
for name, number in (('io_uring_setup', 425), ('pidfd_getfd', 438), ('fsopen', 430), ('clone3', 435)):
    if libc.syscall(number, 0, 0, 0, 0) != -1: print('ESCAPED', name)
for name in ('bpf', 'userfaultfd', 'perf_event_open', 'personality', 'open_by_handle_at'):
    number = {'bpf': (321, 280), 'userfaultfd': (323, 282), 'perf_event_open': (298, 241), 'personality': (135, 92),
              'open_by_handle_at': (304, 265)}[name][os.uname().machine == 'aarch64']
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1: print('ESCAPED', name)""",
    "the network": """\
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, 40):
    print(refused(socket.socket, family, socket.SOCK_STREAM if family != 17 else socket.SOCK_RAW))""",
    "the kernel's settings": """\
for path in '''/proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/1/comm
            /sys/devices/system/cpu/online /proc/sys/vm/overcommit_memory'''.split():
    print(refused(open, path, 'w'))
print('ESCAPED' if call('sethostname', b'x', 1) else 'refused')""",
    "descriptors of the grader": """\
known = {0: 'null', 1: 'pipe', 2: 'pipe', 3: 'pipe', 4: 'pipe'}
for name in os.listdir('/proc/self/fd'):
    try: target = os.readlink(f'/proc/self/fd/{name}')
    except OSError: continue
    if known.get(int(name), 'nothing') not in target and '/fd' not in target: print('ESCAPED', name, target)""",
    "write where it may not": """\
for path in (*'/ /etc /usr/lib /usr/bin /dev /proc /sys /var/tmp /home /root'.split(), sys.prefix, *sys.path):
    if path.startswith('/'): print(refused(open, os.path.join(path, 'sandbox-was-here'), 'w'))""",
    "device files": "print(refused(os.mknod, '/tmp/disk', 0o600 | 0o060000, os.makedev(254, 0)))",
    "a hard way out by descriptor of the root": """\
descriptor = os.open('/', os.O_RDONLY)
print('ESCAPED' if call('chroot', b'/tmp') else 'refused')
for _ in range(20): os.chdir('..')
if os.path.exists('boot') or os.path.exists('home'): print('ESCAPED')""",
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_from_inside_one_cannot_get_at(name, monkeypatch):
    monkeypatch.setenv("SECRET", "of the grader")
    ended = Sandbox(Profile(seconds=30)).run(BEFORE + ATTEMPTS[name] + "\nprint('tried')")
    assert ended.stdout.endswith("tried\n"), f"the attempt itself failed: {ended.stderr}"
    assert "ESCAPED" not in ended.stdout


def test_an_attempt_that_works_is_seen():
    # the attempts above prove something only if one that gets out says so
    ended = Sandbox(Profile()).run(BEFORE + "print(refused(open, '/tmp/mine', 'w'))")
    assert "ESCAPED" in ended.stdout


def test_the_checkout_and_the_answers_in_it_are_not_there():
    program = f"""\
import importlib.util, os, sys
print(importlib.util.find_spec('course'))
found = []
for folder, _, files in os.walk({str(CHECKOUT)!r}):
    found += [folder for name in files if name in ('marking.py', 'lab.py') or 'site-packages' not in folder]
print(found[:3])
for path in {[str(CHECKOUT / name) for name in ("", "course", "labs", "tests")]!r}:
    shown = [os.path.relpath(packages, path).split('/')[0] for packages in sys.path]  # .venv, or build
    print([n for n in os.listdir(path) if n not in shown] if os.path.isdir(path) else None)
"""
    lines = Sandbox(Profile(seconds=30)).run(program).stdout.splitlines()
    assert lines[:2] == ["None", "[]"]
    assert set(lines[2:]) <= {"None", "[]"}


def test_what_is_hidden_is_covered_where_it_stands_inside_of_what_is_shown(tmp_path):
    import numpy

    folder = os.path.dirname(numpy.__file__)
    hidden = (os.path.join(folder, "fft"), os.path.join(folder, "version.py"))
    program = f"import os; print(os.listdir({hidden[0]!r}), os.path.getsize({hidden[1]!r}))"
    ended = Sandbox(Profile(hidden=hidden)).run(program)
    assert ended.stdout == "[] 0\n", ended.stderr


def test_a_server_of_the_machine_cannot_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(2)
        came = []
        thread = threading.Thread(target=lambda: came.append(_accepted(server)))
        thread.start()
        program = f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)"
        ended = Sandbox(Profile(network="loopback")).run(program)
        thread.join()
    assert came == [False] and "ConnectionRefusedError" in ended.stderr


def _accepted(server):
    try:
        server.accept()[0].close()
    except TimeoutError:
        return False
    return True


def test_an_abstract_socket_of_the_machine_cannot_be_reached():
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0course-test-{os.getpid()}")
        server.listen()
        program = f"import socket\nsocket.socket(socket.AF_UNIX).connect('\\0course-test-{os.getpid()}')"
        assert "ConnectionRefusedError" in Sandbox(Profile()).run(program).stderr


def test_it_is_the_first_to_go_when_memory_runs_out_and_cannot_change_that():
    program = """\
import os
for child in (False, True):
    if child and os.fork(): os.wait(); break
    for value in ("-1000", "0", "999"):
        for path in ("/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/proc/self/oom_adj"):
            try: open(path, "w").write(value)
            except OSError: pass
    print(open("/proc/self/oom_score_adj").read().strip(), flush=True)
"""
    assert Sandbox(Profile()).run(program).stdout == "1000\n1000\n"


@pytest.mark.skipif(not AS_ROOT, reason="a plain user owns the first process too, and its environment is empty")
def test_the_first_process_keeps_its_environment_and_memory_to_itself():
    program = """\
for name in ('environ', 'mem', 'maps'):
    try: open(f'/proc/1/{name}', 'rb'); print('open')
    except PermissionError: print('no')
"""
    assert Sandbox(Profile()).run(program).stdout == "no\nno\nno\n"


def test_a_secret_of_the_graders_memory_is_nowhere_inside(monkeypatch):
    secret = "the-secret-" + os.urandom(8).hex()
    monkeypatch.setenv("GRADING_SECRET", secret)
    program = f"""\
import glob
wanted = {secret[:11]!r}.encode() + bytes({list(secret[11:].encode()[::-1])!r})[::-1]
for path in [path for where in ('/proc/*/environ', '/proc/*/cmdline', '/tmp/*') for path in glob.glob(where)]:
    try: content = open(path, 'rb').read()
    except OSError: continue
    if wanted in content and 'self' not in path: print('ESCAPED', path)
"""
    assert Sandbox(Profile()).run(program).stdout == ""
