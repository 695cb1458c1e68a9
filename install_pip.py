"""pip, as install.py uses it: which build of torch to take, output cut to what matters, failures in plain words."""

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

TORCH = "torch==2.13.*"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
#: What a CUDA (or ROCm) wheel of torch requires and a CPU wheel does not.
ACCELERATOR = re.compile(r"(nvidia|cuda|triton|pytorch[-_]triton)([-_]|\b)", re.I)
MINUTES = 60  # for one pip command: 700 MB at 2 Mbit/s
SECONDS_TO_ASK = 300  # about 4 s where the network is well
SECONDS_TO_ASK_PYTORCH = 60
HEARTBEAT = 20  # seconds of silence after which we say that we're still there

NETWORK = re.compile(
    r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|Read timed out|Max retries exceeded|ProxyError|"
    r"Connection (refused|reset|aborted|broken)|RemoteDisconnected|IncompleteRead|name resolution|"
    r"Network is unreachable|SSLError|HTTP error 5\d\d|getaddrinfo failed"
)
DISK = re.compile(r"No space left on device|Errno 28|Disk quota exceeded|not enough space on the disk")
NO_WHEEL = re.compile(r"No matching distribution found for ([^\s;]+)")


class PipFailed(Exception):
    """pip could not do it: the text says why, in plain words, with the next step."""


class NetworkGone(PipFailed):
    """pip could not reach an index; it changed nothing."""


def install_torch(python, cuda, say, wanted=TORCH):
    """Install the torch `wanted` into `python`'s environment: pip's choice with `cuda`, else a build without CUDA."""
    if version_of_pip(python) < (22, 2):  # --report came with 22.2
        run(python, ["install", "--upgrade", "pip"], "a newer pip", say)
    source = [] if cuda or not sys.platform.startswith("linux") else cpu_source(python, say, wanted)
    kind = "with CUDA" if cuda else "CPU build"
    run(python, ["install", *source, wanted], f"{wanted} ({kind})", say)


def version_of_pip(python):
    done = subprocess.run([python, "-m", "pip", "--version"], stdout=subprocess.PIPE, timeout=60)
    found = re.match(rb"pip (\d+)\.(\d+)", done.stdout)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def cpu_source(python, say, wanted=TORCH):
    """Return the pip options under which pip would take a torch without CUDA; gigabytes are never begun.

    Where the usual index has only CUDA builds, PyTorch's own CPU index is asked, briefly: it may be unreachable.
    """
    say("Asking pip which build of torch it would take.")
    cuda = cuda_packages(report(python, [wanted], SECONDS_TO_ASK))
    if not cuda:
        return []
    say(f"It would bring CUDA ({', '.join(cuda[:3])} ...) to a machine without an NVIDIA driver: asking {CPU_INDEX}.")
    source = ["--index-url", CPU_INDEX, "--timeout", "10", "--retries", "1"]
    try:
        cuda = cuda_packages(report(python, [*source, wanted], SECONDS_TO_ASK_PYTORCH))
    except PipFailed:
        cuda = ["no answer"]
    if cuda:
        raise NetworkGone(
            f"a CPU build of torch is only at {CPU_INDEX}, which can't be reached from here ({cuda[0]}). Try again "
            "where it can, or use conda (environment.yml), or accept the CUDA build (about 3 GB to download) with: "
            "python3 install.py --cuda"
        )
    # Its dependencies come with the course, from the usual index.
    return [*source, "--no-deps"]


def report(python, what, seconds):
    """Return pip's report on what installing `what`, options and a requirement, would bring; it installs nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        ask = ["install", "--dry-run", "--no-deps", "--quiet", "--report", path, *what]
        run(python, ask, "", lambda text: None, seconds)
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def cuda_packages(report):
    """Return the names of the CUDA packages that the wheels in pip's `report` require on this machine.

    A `+cpu` in the version proves nothing: mirrors rebuild wheels, and PyPI's CUDA build of torch is plain `2.13.0`.
    """
    environment = report.get("environment", {})
    found = []
    for item in report["install"]:
        for requirement in item["metadata"].get("requires_dist", []):
            name, _, marker = requirement.partition(";")
            if ACCELERATOR.match(name.strip()) and applies(marker, environment):
                found.append(re.match(r"[\w.-]+", name.strip()).group())
    return found


def applies(marker, environment):
    """Tell whether a requirement's `marker` can hold: its == and != are judged, other comparisons count as true."""

    def holds(clause):
        tests = re.findall(r"(\w+)\s*(==|!=)\s*[\"']([^\"']*)[\"']", clause)
        return all((environment.get(name, "") == value) == (sign == "==") for name, sign, value in tests)

    return any(holds(clause) for clause in re.split(r"\bor\b", marker))


def run(python, arguments, what, say, seconds=MINUTES * 60):
    """Run pip with `arguments`, showing what it fetches; raise `PipFailed` in plain words, also after `seconds`."""
    if what:
        say(f"Installing {what}.")
    command = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    if arguments[0] == "install" and "--dry-run" not in arguments:
        command += ["--progress-bar", "off"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=dict(os.environ, PIP_USER="0"),  # a personal `user = true` can't be obeyed in a virtual environment
    )
    try:
        lines = follow(process, say, seconds)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
    if process.returncode:
        raise explained("\n".join(lines))


def follow(process, say, seconds):
    """Return `process`'s lines once it has ended; say those that tell something, and now and then that it's alive."""
    coming = queue.Queue()

    def read():
        for line in process.stdout:
            coming.put(line.rstrip())
        coming.put(None)

    threading.Thread(target=read, daemon=True).start()
    lines, started = [], time.time()
    while True:
        left = started + seconds - time.time()
        if left <= 0:
            raise PipFailed(f"pip was not done after {seconds:.0f} s. Check the network, then run it again.")
        try:
            line = coming.get(timeout=min(HEARTBEAT, left))
        except queue.Empty:
            say(f"  still at it ({time.time() - started:.0f} s)")
            continue
        if line is None:
            return lines
        lines.append(line)
        told = re.match(r"\s*Downloading (?:\S*/)?([^-\s]+)-([^-\s]+)\S* \((\d+.*)\)", line)
        if told:
            say("  downloading {} {} ({})".format(*told.groups()))
        elif line.startswith("Installing collected packages"):
            say(f"  unpacking {line.count(',') + 1} packages")


def explained(output):
    """Return the `PipFailed` that tells in plain words what pip's `output` means."""
    again = "then run the same command again."
    if DISK.search(output):
        return PipFailed(f"the disk is full. Free about 3 GB, {again}")
    if NETWORK.search(output) and "Installing collected packages" not in output:
        return NetworkGone(
            f"pip can't reach the package index. Check the network (behind a proxy: HTTPS_PROXY), {again}"
        )
    missing = NO_WHEEL.search(output)
    if missing:
        version = "{}.{}".format(*sys.version_info[:2])
        return PipFailed(
            f"the package index has no {missing.group(1)} for Python {version} on {sys.platform}, or can't be reached. "
            "Check the network, or try another Python (make lab PYTHON=python3.12) or conda (environment.yml)."
        )
    return PipFailed(f"pip failed. Its last words:\n{output.strip()[-1500:]}")
