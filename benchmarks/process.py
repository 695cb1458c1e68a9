"""A contestant's process, seen from the benchmark: started, given one turn at a time, ended, all with a deadline."""

import json
import os
import queue
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import psutil

ENDS = 20.0  # seconds for a contestant to end by itself once its orders are closed: a cluster closes in less
REST = 0.01  # seconds between two turns: OpenMP's threads spin a moment before they sleep
#: What fixes the number of threads in each library that a contestant may use.
_THREADS = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
    *("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
)


#: What makes numba compile for less than this processor has: the name alone would leave it all features of this one.
_VECTORS: dict[str, dict[str, str]] = {"": {}, "AVX2": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2"}}


class ContestantFailed(RuntimeError):
    """A contestant that could not start, died, hung or said something else than it should: the text says which."""


def environment(threads: int, vectors: str = "") -> dict[str, str]:
    """Return the environment of a process that uses so many threads, and no more than those `vectors`."""
    made = os.environ | dict.fromkeys(_THREADS, str(threads)) | {"PYTHONPATH": str(Path(__file__).parents[1])}
    if threads == 1:
        made["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return made | _VECTORS[vectors]


class ContestantProcess:
    """One contestant's process. `versions`: of the libraries that it has loaded, once it is ready."""

    def __init__(self, command: list[str], environment: dict[str, str], name: str, folder: Path):
        self.versions: dict[str, str] = {}
        self._below: list[psutil.Process] = []
        said = folder / "said"
        said.mkdir(parents=True, exist_ok=True)
        words = "".join(letter if letter.isalnum() else "-" for letter in name)
        self._said = said / f"{words}.txt"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "process_group": 0}
        with self._said.open("w") as log:
            try:
                self._process = subprocess.Popen(command, stderr=log, env=environment, **pipes)
            except OSError as error:
                raise ContestantFailed(f"could not start: {error}") from error
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_until_ready(self, patience: float) -> None:
        """Wait until it has made ready and warmed up; raises ContestantFailed."""
        self.versions = self._answer(patience, "was not ready").get("ready", {})

    def turn(self, seconds: float, patience: float, way: str = "") -> dict:
        """Return what a turn of `seconds` told, its last run not longer than `patience`; raises ContestantFailed.

        `way`: of a process that has several works, which one.
        """
        threading.Event().wait(REST)
        try:
            self._process.stdin.write(f"{seconds} {way}\n")
            self._process.stdin.flush()
        except OSError:
            raise ContestantFailed(self._ended()) from None
        return self._answer(patience + seconds, "did not end its run")

    def go_to(self, core: int) -> None:
        """Have its one thread compute on the core of that number, counted round and round, where the system can."""
        with suppress(psutil.Error, AttributeError, OSError):  # macOS knows no such thing
            cores = psutil.Process().cpu_affinity()
            psutil.Process(self._process.pid).cpu_affinity([cores[core % len(cores)]])

    def ask_to_end(self) -> None:
        """Close its orders: it ends by itself when it has seen so. What outlives it, a fork server, `close` ends."""
        self._below = self._below or self._children()
        with suppress(OSError):
            self._process.stdin.close()

    def give_up(self) -> None:
        """Interrupt it in its run, as Ctrl-C does, and close its orders; what it started is ended by `close`."""
        self.ask_to_end()
        with suppress(OSError, ValueError):  # Windows knows no such signal: there it is killed by `close`
            self._process.send_signal(signal.SIGINT)

    def close(self, patience: float = ENDS) -> None:
        """End it, and whatever it started: it is asked to, and killed when it doesn't within `patience` seconds."""
        self.ask_to_end()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
        _kill(self._below)
        self._reader.join(ENDS)
        self._process.stdout.close()

    def kill(self) -> None:
        """Kill it and all below it."""
        below = self._children()
        self._process.kill()
        _kill(below)
        self._process.wait()

    def _children(self):
        with suppress(psutil.Error):
            return psutil.Process(self._process.pid).children(recursive=True)
        return []

    def _read(self):
        with suppress(ValueError, OSError):  # closed while it was read
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    def _answer(self, patience, what):
        try:
            line = self._lines.get(timeout=patience)
        except queue.Empty:
            self.kill()
            raise ContestantFailed(f"{what} in {patience:g} s, and was ended") from None
        if line is None:
            raise ContestantFailed(self._ended())
        try:
            return json.loads(line)
        except ValueError:
            raise ContestantFailed(f"said {line[:80]!r}, which is no answer") from None

    def _ended(self):
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDS)
        lines = [line for line in self._said.read_text(errors="replace").splitlines() if line.strip()]
        return (
            f"ended with status {self._process.returncode}: {lines[-1].strip()[:300] if lines else 'it said nothing'}"
        )


def _kill(processes):
    for one in processes:
        with suppress(psutil.Error):
            one.kill()
