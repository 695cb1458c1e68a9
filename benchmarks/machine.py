"""The machine that was measured: processor, vector units, commit, and whether it was busy with other things."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
#: More than this share of the processors used before or after a topic, while we wait: its figures are rough.
BUSY = 0.15


def about() -> dict:
    """Return what the figures were measured on, and when."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "vectors": vectors(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "python": platform.python_version(),
    }


def busy(seconds: float = 0.25, looks: int = 8) -> dict[str, float]:
    """Return the share of all processors "used" over `seconds` in which we do nothing, and the "load" average.

    Where that is more than `BUSY`, the least of so many `looks`: what a topic has just ended takes a moment to be gone.
    """
    used = 1.0
    for _ in range(looks):
        used = min(used, psutil.cpu_percent(seconds) / 100)
        if used <= BUSY:
            break
    return {"used": round(used, 3), "load": round(psutil.getloadavg()[0], 2)}


def vectors() -> str:
    """Return the widest vector unit: "AVX-512", "AVX2", or the architecture's name."""
    flags = _cpuinfo("flags").split()
    if "avx512f" in flags:
        return "AVX-512"
    return "AVX2" if "avx2" in flags else platform.machine()


def _processor():
    if name := _cpuinfo("model name"):
        return name
    if platform.system() == "Darwin":
        return _told("sysctl", "-n", "machdep.cpu.brand_string")
    return platform.processor() or platform.machine()


def _cpuinfo(key):
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    line = re.search(rf"^{key}\s*:\s*(.*)$", text, re.M)
    return line[1] if line else ""


def _commit():
    commit = _told("git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD")
    return commit and commit + ("+" if _told("git", "-C", str(ROOT), "status", "--porcelain") else "")


def _told(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
