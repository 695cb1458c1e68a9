"""Set the course up: `python3 install.py [--test | --long]` makes .venv beside this file and installs into it.

`--torch "2.15.*"` takes that torch instead, into an environment of its own in build/: .venv stays as it is.

`make lab` and `make test` call it; the second call takes a moment. Standard library only, and syntax that Python 3.6
still parses: an old Python must get as far as the sentence about it. Choosing the build of torch and running pip are in
install_pip.py.
"""

import argparse
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OLDEST = (3, 11)
NEWEST = (3, 14)  # the newest for which torch 2.13 has wheels
STATE = "course-setup.json"  # in .venv: "working" while it changes, "sound" when it can be added to, "ready" when done
MEGABYTES = {"cpu": 3000, "cuda": 10000, "more": 500}  # .venv took 1,725 MB with the CPU build, tests included
WAIT_FOR_ANOTHER_RUN = 3600  # seconds
LEARNERS = ["tuning"]  # the extras that chapters need
PARTS = ["simgpu", "modelserver", "grader"]  # distributions of their own, in these folders; the course is in the root
TESTERS = ["test", "long", "clouds"]  # `make test` needs the first, `make long` all of them


class Stop(Exception):
    """The set-up can't go on: its text is the whole message, in plain words, with the next step."""


def main(arguments=None):
    """Set up as the command line says and return the exit status: 0, 1 with a plain sentence, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description="Make .venv and install the course into it.")
    parser.add_argument("--test", action="store_true", help="also install what `make test` needs")
    parser.add_argument("--long", action="store_true", help="also install what `make long` needs")
    parser.add_argument("--cuda", action="store_true", help="take the CUDA build of torch though no driver was found")
    parser.add_argument("--chosen", action="store_true", help="use exactly the Python that runs this")
    parser.add_argument("--torch", default="", help='another torch, such as "2.15.*", in an environment apart')
    options = parser.parse_args(arguments)
    try:
        if not supported(sys.version_info):
            return hand_over(sys.argv[1:] if arguments is None else arguments, options.chosen)
        testers = TESTERS if options.long else TESTERS[:1] if options.test else []
        set_up(HERE, LEARNERS + testers, options.cuda, options.chosen, options.torch)
        return 0
    except Stop as problem:
        say(f"Stopped: {problem}")
        return 1
    except KeyboardInterrupt:
        say("Interrupted. The same command mends what is half done; what was downloaded is kept in pip's cache.")
        return 130
    except OSError as error:
        if error.errno not in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
            raise
        say(f"Stopped: the disk is full. Free {MEGABYTES['cpu']} MB for {HERE}, then run the same command again.")
        return 1


def say(text):
    print(f"[set-up] {text}", flush=True)


def supported(version):
    """Tell whether the course runs on this Python `version`, a tuple."""
    return OLDEST <= tuple(version[:2]) <= NEWEST


def legal():
    return "Python {}.{} to {}.{}".format(*(OLDEST + NEWEST))


def hand_over(arguments, chosen):
    """Run this file again with the newest Python on the PATH that the course supports; return its exit status."""
    mine = "{}.{}".format(*sys.version_info[:2])
    found = None if chosen else newest_python()
    if found is None:
        raise Stop(
            f"the course needs {legal()}, and {sys.executable} is Python {mine}. Install a newer one (python.org, your "
            "system's packages or conda), then name it: make lab PYTHON=python3.12"
        )
    say(f"{sys.executable} is Python {mine} and the course needs {legal()}: using {found}.")
    return subprocess.call([found, os.path.abspath(__file__)] + arguments)


def newest_python():
    """Return the path of the newest supported Python on the PATH that answers, or None."""
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        if path and ask_python(path, "import sys; print('%d.%d' % sys.version_info[:2])") == f"3.{minor}":
            return path
    return None


def ask_python(python, program):
    """Return what the one-line `program` prints under the interpreter `python`, or None where that fails."""
    try:
        command = [python, "-I", "-c", program]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None


def venv_of(root, torch):
    """Return the folder of the environment: `root`/.venv, or for another `torch` one of its own in build/."""
    return os.path.join(root, "build", "torch-" + torch.replace(".*", "")) if torch else os.path.join(root, ".venv")


def set_up(root, extras, cuda, chosen, torch=""):
    """Make or mend `root`/.venv and install the course with `extras` into it, unless that is all there already.

    `torch`: a version such as "2.15.*", for an environment apart; "": the one that the course is meant for.
    """
    if not all(part.isdigit() or part == "*" for part in torch.split(".") if torch):
        raise Stop(f"{torch!r} is no version of torch. Name one in figures, as in: make test TORCH='2.15.*'")
    lock = take_turns(root)
    try:
        venv = venv_of(root, torch)
        shown = os.path.relpath(venv, root)
        state = read_state(venv)
        extras = sorted(set(extras) | set(state.get("extras", [])))
        if is_ready(root, venv, state, extras, chosen):
            say(f"The course is installed in {shown}; nothing to do.")
            return
        started = time.time()
        fresh = clear_the_way(root, venv, state, chosen)
        check_disk(root, "more" if not fresh else "cuda" if cuda or has_nvidia_driver() else "cpu")
        write_state(venv, "working", extras=extras)
        if fresh:
            make_venv(venv)
        install(root, venv, extras, cuda or has_nvidia_driver(), torch)
        python = ask_python(python_of(venv), "import sys; print('%d.%d' % sys.version_info[:2])")
        write_state(venv, "ready", extras=extras, where=venv, python=python, needs=fingerprint(root))
        say(f"The course is installed in {shown} ({time.time() - started:.0f} s).")
    finally:
        if lock is not None:
            os.close(lock)


def take_turns(root):
    """Wait until no other set-up works on `root`; return a lock that ends with this process (None on Windows)."""
    try:
        import fcntl
    except ImportError:
        return None
    lock = os.open(root, os.O_RDONLY)
    deadline = time.time() + WAIT_FOR_ANOTHER_RUN
    told = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.time() > deadline:
                os.close(lock)
                raise Stop("another set-up of this folder is still at work. End it, then run this again.") from None
            if not told:
                say("Another set-up of this folder is at work; waiting for it.")
            told = True
            time.sleep(1)
        except OSError:  # a file system without locks
            os.close(lock)
            return None


def read_state(venv):
    """Return what the last set-up noted in `venv`, or {} where there is no note of ours."""
    try:
        with open(os.path.join(venv, STATE), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        # A note that can't be read was cut off while it was written: ours, and not finished.
        return {"state": "working"} if os.path.exists(os.path.join(venv, STATE)) else {}


def write_state(venv, state, **facts):
    os.makedirs(venv, exist_ok=True)
    with open(os.path.join(venv, STATE), "w", encoding="utf-8") as file:
        json.dump(dict(facts, state=state), file)


def fingerprint(root):
    """Return a hash of what decides which packages are installed."""
    content = b""
    parts = [os.path.join(part, "pyproject.toml") for part in PARTS]
    for name in ["pyproject.toml", "install_pip.py"] + parts:
        with open(os.path.join(root, name), "rb") as file:
            content += file.read()
    return hashlib.sha256(content).hexdigest()


def python_of(venv):
    return os.path.join(venv, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def is_ready(root, venv, state, extras, chosen):
    """Tell whether the note in `venv` is finished, asks for nothing less than we do, and is still true."""
    noted = (state.get("state"), state.get("extras"), state.get("where"), state.get("needs"))
    if noted != ("ready", extras, venv, fingerprint(root)):
        return False
    if chosen and state.get("python") != "{}.{}".format(*sys.version_info[:2]):
        return False
    looks = "print('%d.%d' % sys.version_info[:2], s('torch') and s('jupyterlab') and s('course').origin)"
    names = "import sys, importlib.metadata as m; from importlib.util import find_spec as s; "
    names += "[m.version(n) for n in ('simgpu', 'modelserver', 'course-grader')]; "
    seen = ask_python(python_of(venv), names + looks)
    return seen == "{} {}".format(state["python"], os.path.join(root, "course", "__init__.py"))


def clear_the_way(root, venv, state, chosen):
    """Remove a .venv of ours that can't be added to; return True if one has to be made."""
    name = os.path.relpath(venv, root)
    if not os.path.lexists(venv):
        say(f"Setting up the course in {root}: some minutes and about 2 GB, the first time.")
        return True
    version = ask_python(python_of(venv), "import sys, pip; print('%d.%d' % sys.version_info[:2])")
    usable = version is not None and supported([int(part) for part in version.split(".")])
    if not state and not usable:
        raise Stop(
            f"{venv} was not made by this set-up, and its Python does not run, is not {legal()}, or has no pip. "
            "Move it away, then run the same command again."
        )
    if state.get("state") == "working":
        reason = "The last set-up did not finish"
    elif not usable or state.get("where", venv) != venv:
        reason = f"{name} was moved, or its Python is gone"
    elif chosen and version != "{}.{}".format(*sys.version_info[:2]):
        reason = f"{name} has Python {version}"
    else:
        say(f"Bringing {name} up to date.")
        return False
    say(f"{reason}: making {name} afresh.")
    shutil.rmtree(venv)
    return True


def has_nvidia_driver():
    return bool(os.path.exists("/proc/driver/nvidia") or shutil.which("nvidia-smi"))


def check_disk(root, amount):
    """Stop, before anything is downloaded, where .venv or pip's temporary files would not fit."""
    for folder, needed in ((root, MEGABYTES[amount]), (tempfile.gettempdir(), 500)):
        free = shutil.disk_usage(folder).free // 10**6
        if free < needed:
            raise Stop(
                f"the disk is too full: the set-up needs {needed} MB in {folder} and {free} MB are free. "
                "Free some space, then run the same command again."
            )


def make_venv(venv):
    """Make the virtual environment `venv` with the Python under this one (which may itself be a virtual one)."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    if ask_python(base, "import ensurepip, venv; print('yes')") != "yes":
        raise Stop(
            f"{base} lacks the module that makes virtual environments. On Debian and Ubuntu: sudo apt install "
            "python{}.{}-venv; elsewhere install Python from python.org. Then run the same command again.".format(
                *sys.version_info[:2]
            )
        )
    say(f"Making {os.path.basename(venv)} with {base}.")
    done = subprocess.run([base, "-m", "venv", venv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    if done.returncode:
        output = done.stdout.decode(errors="replace")
        if "No space left" in output:
            raise OSError(errno.ENOSPC, "No space left on device")
        raise Stop(f"{base} could not make {venv}: {output.strip()[-400:]}")


def install(root, venv, extras, cuda, torch=""):
    """Install torch, the build that fits this machine, then the course with all it needs, editable."""
    import install_pip

    python, wanted = python_of(venv), f"torch=={torch}" if torch else install_pip.TORCH
    try:
        install_pip.install_torch(python, cuda, say, wanted)
        names = "[{}]".format(",".join(extras)) if extras else ""
        # named again: a torch outside the course's range is refused, and not replaced by another
        parts = [word for part in PARTS for word in ("--editable", os.path.join(root, part))]
        # the course first: after the grader, which needs it, pip looks for it on the index
        course = ["install", "--editable", root + names, *parts, *([wanted] if torch else [])]
        install_pip.run(python, course, "the course and what it needs", say)
    except install_pip.NetworkGone as problem:
        # pip downloads everything before it changes anything: what is there is sound.
        write_state(venv, "sound", extras=extras)
        raise Stop(str(problem)) from None
    except install_pip.PipFailed as problem:
        raise Stop(str(problem)) from None


if __name__ == "__main__":
    sys.exit(main())
