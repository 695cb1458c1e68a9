"""Reaching out of the sandbox: files, users, kernel calls, the network, other processes. Each gets nothing, anywhere.

A program tries, and says ESCAPED for what works. Here it is a cell of a notebook whose answers are the release's stubs;
`tests/grader/sandbox/test_escapes.py` runs it in a sandbox by itself.
"""

import os

from tests.helpers.submissions import Submission

BEFORE = """\
import ctypes, os, signal, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments): return getattr(libc, name)(*arguments) != -1
def tried(function, *arguments):
    try: result = function(*arguments)
    except BaseException as problem: return print("refused", type(problem).__name__)
    print("ESCAPED:", function, arguments, result)
"""

ATTEMPTS = {
    "writing to the gradebook, the marks, another's work": """
for path in DECOYS:
    for mode in ("a", "w", "r+"): tried(open, path, mode)
    tried(os.unlink, path), tried(os.chmod, path, 0o777)
    tried(os.rename, path, path + "x"), tried(os.truncate, path, 0)
import sqlite3
def book():
    with sqlite3.connect(DECOYS[1]) as base: base.execute("create table mine (score int)")
tried(book)""",
    "making the same paths inside, in the hope that they are kept": """
for path in DECOYS:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file: file.write("20 points")
    except OSError as problem: print(problem)""",
    "writing into the checker and its libraries": """
import json, numpy
for path in (numpy.__file__, json.__file__, sys.executable, os.__file__, "/visible/course/__init__.py",
             "/visible/course/checks/__init__.py"):
    tried(open, path, "a"), tried(os.unlink, path), tried(os.chmod, path, 0o777)
FOLDERS = "/ /usr/lib /usr/bin /etc /dev /proc /sys /visible /var/tmp /home /root".split()
for folder in {os.path.dirname(numpy.__file__), sys.prefix, *FOLDERS, *sys.path}:
    if folder.startswith("/"):
        tried(open, folder + "/sandbox-was-here", "w"), tried(os.mkdir, folder + "/sandbox-was-here")""",
    "remounting, mounting, unmounting": """
for flags in (32 | 4096, 32, 4096):
    for path in (b"/usr", b"/", b"/visible", b"/usr/lib", b"/proc", b"/dev"):
        if call("mount", None, path, None, flags, None): print("ESCAPED: mount", path)
for kind in (b"tmpfs", b"proc", b"sysfs", b"overlay", b"ext4", b"devpts"):
    if call("mount", kind, b"/tmp", kind, 0, None): print("ESCAPED: mount", kind)
for path in (b"/tmp", b"/proc", b"/dev", b"/visible"):
    if call("umount2", path, 2): print("ESCAPED: umount", path)""",
    "namespaces and capabilities of one's own": """
for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x08000000, 0x04000000, 0x02000000):
    if call("unshare", flag): print("ESCAPED: unshare", hex(flag))
for program in ("unshare -Ur id", "unshare -r id", "bwrap --ro-bind / / id", "nsenter -t 1 -a id"):
    done = subprocess.run(program, shell=True, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode == 0:
        print("ESCAPED:", program)
for line in open("/proc/self/status"):
    wanted = {"NoNewPrivs:": 1, "Seccomp:": 2}.get(line.split()[0], 0 if line.startswith("Cap") else None)
    if wanted is not None and int(line.split()[1], 16) != wanted: print("ESCAPED:", line)
pid = libc.syscall({"x86_64": 56, "aarch64": 220}[os.uname().machine], 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
if pid > 0: print("ESCAPED: clone")
for name in os.listdir("/proc/self/ns"):
    try: descriptor = os.open(f"/proc/1/ns/{name}", os.O_RDONLY)
    except OSError: continue
    if call("setns", descriptor, 0): print("ESCAPED: setns", name)
class Head(ctypes.Structure): _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
sets = (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
if libc.capset(ctypes.byref(Head(0x20080522, 0)), sets) == 0: print("ESCAPED: capset")""",
    "becoming root": """
for name in ("setuid", "setgid", "seteuid", "setegid"):
    if call(name, 0): print("ESCAPED:", name)
tried(os.setgroups, [0])
if call("setresuid", 0, 0, 0): print("ESCAPED: setresuid")
if 0 in (os.getuid(), os.geteuid(), os.getgid(), *os.getgroups()): print("ESCAPED: is root")
if not os.statvfs("/usr/bin").f_flag & os.ST_NOSUID: print("ESCAPED: setuid works")
for line in ("su -c id", "sudo -n id", "passwd -S root", "mount", "newgrp root", "pkexec id"):
    done = subprocess.run(line, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    if "uid=0" in done.stdout: print("ESCAPED:", line)
try:
    import shutil
    shutil.copy("/bin/sh", "/tmp/sh")
    os.chmod("/tmp/sh", 0o6755), os.chown("/tmp/sh", 0, 0)
    print("ESCAPED: chown")
except OSError: print("refused")
if not call("prctl", 39, 0, 0, 0, 0): print("ESCAPED: no_new_privs is off")""",
    "device files and raw disks": """
for kind, number in ((0o060000, (254, 0)), (0o060000, (8, 0)), (0o020000, (1, 1)), (0o020000, (5, 1))):
    tried(os.mknod, "/tmp/device", 0o600 | kind, os.makedev(*number))
for path in ("/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/tty", "/dev/console", "/dev/fuse",
             "/dev/kvm", "/dev/net/tun", "/proc/kcore", "/proc/sysrq-trigger"):
    tried(open, path, "r+b")""",
    "descriptors of the grader": """
for name in os.listdir("/proc/self/fd"):
    try: target = os.readlink(f"/proc/self/fd/{name}")
    except OSError: continue
    if not target.startswith(("/dev/null", "pipe:")) and "/fd" not in target: print("ESCAPED:", name, target)""",
    "chroot and the way up": """
root = os.open("/", os.O_RDONLY)
if call("chroot", b"/tmp"): print("ESCAPED: chroot")
if call("pivot_root", b"/tmp", b"/tmp"): print("ESCAPED: pivot_root")
os.chdir("/")
for _ in range(30): os.chdir("..")
for name in ("home", "root", "boot", "mnt", "srv", "work"):
    # Python may stand below a home: the way to it is there, and nothing beside it
    ways = [*sys.path, sys.prefix, sys.base_prefix, sys.executable]
    there = os.listdir(name) if os.path.isdir(name) else []
    for one in there:
        if not any(way.startswith(f"/{name}/{one}") for way in ways): print("ESCAPED:", name, one)
for link in ("/proc/1/root", "/proc/1/cwd", f"/proc/{os.getppid()}/root"):
    try: names = os.listdir(link)
    except OSError: continue
    if {"boot", "srv", "work"} & set(names): print("ESCAPED:", link)""",
    "secrets of the machine": """
PLACES = "etc/shadow etc/passwd- etc/ssh root/.ssh root/.bashrc home var run boot srv mnt opt sys/fs sys/kernel"
for path in [*PLACES.split(), *"dev/mem dev/kmsg proc/kcore proc/keys proc/kallsyms".split()]:
    try: found = os.listdir("/" + path) if os.path.isdir("/" + path) else open("/" + path, "rb").read(1)
    except OSError: continue
    if found: print("ESCAPED:", path, found)
names = [line.split(":")[0] for line in open("/etc/passwd")]
if names != ["student"]: print("ESCAPED:", names)
if "SECRET" in " ".join(os.environ): print("ESCAPED:", dict(os.environ))""",
    "other processes: looking, tracing, killing": """
for pid in [int(one) for one in os.listdir("/proc") if one.isdigit()]:
    if pid not in (1, 2, 3, os.getpid(), os.getppid()): print("ESCAPED: sees", pid, open(f"/proc/{pid}/cmdline").read())
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8)
here = ctypes.byref(Vector(ctypes.addressof(buffer), 8))
for pid in (1, os.getppid()):
    if call("ptrace", 16, pid, 0, 0): print("ESCAPED: ptrace", pid)
    if call("process_vm_readv", pid, here, 1, here, 1, 0): print("ESCAPED: memory of", pid)
for pid in GRADERS:
    tried(os.kill, pid, 0), tried(os.killpg, pid, 0), tried(open, f"/proc/{pid}/cmdline")""",
    "the network": """
for family in (socket.AF_INET, socket.AF_INET6):
    for host in ("127.0.0.1", "::1", "8.8.8.8", "169.254.169.254"):
        def knock(host=host, family=family):
            with socket.socket(family) as one:
                one.settimeout(1)
                one.connect((host, PORT))
        tried(knock)
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one: one.sendto(b"the questions", ("127.0.0.1", PORT))
tried(send), tried(socket.create_server, ("127.0.0.1", 0)), tried(socket.getaddrinfo, "example.org", 80)
import urllib.request
tried(urllib.request.urlopen, f"http://127.0.0.1:{PORT}/", None, 2)
for number in range(3):
    tried(socket.socket, (16, 17, 40)[number], socket.SOCK_RAW)""",
    "sockets of the machine by path and by name": """
for path in (DOOR, ABSTRACT, "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket"):
    def knock(path=path):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(1)
            one.connect(path)
    tried(knock)""",
    "memory and message queues shared with the machine": """
for key in range(1, 64):
    number = libc.shmget(key, 0, 0)
    if number != -1: print("ESCAPED: shared memory", key)
libc.shmget(4711, 4096, 0o1666), libc.semget(4711, 1, 0o1666), libc.msgget(4711, 0o1666)
with open("/dev/shm/sandbox-was-here", "w") as file: file.write("x")
with open("/tmp/sandbox-was-here", "w") as file: file.write("x")
if len(os.listdir("/dev/shm")) != 1: print("ESCAPED:", os.listdir("/dev/shm"))""",
    "a process that outlives its grader": """
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for name in ("SIGTERM", "SIGHUP", "SIGINT"): signal.signal(getattr(signal, name), signal.SIG_IGN)
            libc.prctl(15, b"sandbox-was-here", 0, 0, 0)
            import time
            time.sleep(3600)
        os._exit(0)
subprocess.Popen(["/bin/sh", "-c", "nohup setsid sleep 3600 &"], start_new_session=True)""",
    "the kernel's keys, io_uring, bpf, perf, userfaultfd": """
numbers = {"x86_64": (248, 249, 250, 321, 298, 323, 304, 175, 135),
           "aarch64": (217, 218, 219, 280, 241, 282, 265, 105, 92)}[os.uname().machine]
for number in (*numbers, 425, 430, 435, 438):
    if libc.syscall(number, 0, 0, 0, 0, 0) != -1: print("ESCAPED: call", number)
    elif ctypes.get_errno() not in (1, 38): print("ESCAPED: call", number, "was heard", ctypes.get_errno())""",
    "the machine's settings": """
for path in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
             "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger", "/proc/1/comm", "/sys/devices/system/cpu/online",
             "/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/sys/fs/cgroup/cgroup.procs"):
    try:
        with open(path, "r+") as file: file.write("-1000")
        print("ESCAPED:", path)
    except OSError: print("refused")
for value in ("0", "500", "-1", "999"):
    try:
        with open("/proc/self/oom_score_adj", "r+") as file: file.write(value)
        print("ESCAPED: who is killed first when memory runs out", value)
    except OSError: print("refused")
if call("sethostname", b"x", 1): print("ESCAPED: sethostname")
import time
tried(time.clock_settime, time.CLOCK_REALTIME, 0), tried(os.setpriority, os.PRIO_PROCESS, 0, -20)
tried(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))""",
    "typing into the teacher's terminal": """
import fcntl, termios
for number in (0, 1, 2):
    for sign in b"rm -rf ~\\n":
        try: fcntl.ioctl(number, termios.TIOCSTI, bytes([sign])); print("ESCAPED: TIOCSTI")
        except OSError: pass
print("\\x1b]0;owned\\x07\\x1b[2J\\x1b]52;c;cm0gLXJmIH4=\\x07")""",
}


def attempt(name, host):
    """Return the program of that attempt, which knows the decoys of `host` (`host_watch.Decoys`)."""
    paths = [str(path) for path in (host.secret, host.gradebook, host.others, host.root / "marks.csv")]
    known = f"DECOYS, PORT, DOOR, ABSTRACT = {paths!r}, {host.port}, {host.door!r}, {host.abstract!r}\n"
    known += f"GRADERS = {[os.getpid(), os.getppid()]!r}\n"
    return BEFORE + known + ATTEMPTS[name].strip("\n")


def _of(name):
    def build(notebook, host):
        notebook.add(attempt(name, host))

    return Submission(name, build, states={"*": "missing"})


ATTEMPTED = [_of(name) for name in ATTEMPTS]
