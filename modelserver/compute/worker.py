"""The worker's loop: `python -m modelserver.compute.worker SETTINGS`, started by the front process alone.

It reads messages from its standard input and writes them to its standard output. A version is loaded in a thread of its
own, so that batches of the others are answered meanwhile.
"""

import io
import json
import os
import signal
import sys
import threading
from contextlib import nullcontext
from typing import Any

from modelserver.compute.orphan import end_with
from modelserver.compute.pipe import Kind, Message, packed, read

#: In the file of what was begun: bytes for the number of the last batch, and as many for that of the last load.
BEGUN_BYTES = 4
#: A thread that loads gives the interpreter back after this many seconds: a batch waits for it.
_SWITCH = 0.0005


def main(settings: dict[str, Any]) -> None:
    """Serve until the input ends. `settings`: `owner` (process id), `device`, `largest` (rows of a batch),
    `simulated_gpus` (how many), `begun` (a file that says which batch and which load were begun last, None: none does).
    """
    orders, answers = io.BufferedReader(io.FileIO(os.dup(0)), 1 << 18), io.FileIO(os.dup(1), "w")
    _keep_apart()
    end_with(settings["owner"])
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    sys.setswitchinterval(_SWITCH)
    with _gpus(settings["simulated_gpus"]):
        apart = not settings["simulated_gpus"]
        worker = Worker(answers, settings["device"], settings["largest"], settings["begun"], apart)
        worker.say(Message(Kind.STARTED))
        while (message := read(orders)) is not None:
            worker.take(message)
    os._exit(0)  # a thread may be loading


class Worker:
    """The programs of one worker, and what it does about each message; answers go to the file `answers`.

    `apart`: load in a thread of its own. Only the thread that began a simulation has its GPUs.
    """

    def __init__(self, answers: io.FileIO, device: str, largest: int, begun: int | None = None, apart: bool = True):
        self._answers, self._writing, self._begun = answers, threading.Lock(), begun
        self._device, self._largest, self._apart = device, largest, apart
        self._programs: dict[int, Any] = {}

    def take(self, message: Message) -> None:
        """Do what the front process asks for."""
        if self._begun is not None and message.kind in (Kind.RUN, Kind.LOAD):
            os.pwrite(
                self._begun, message.job.to_bytes(BEGUN_BYTES, "little"), BEGUN_BYTES * (message.kind == Kind.LOAD)
            )
        if message.kind == Kind.RUN:
            self._run(message)
        elif message.kind == Kind.LOAD and not self._apart:
            self._load(message)
        elif message.kind == Kind.LOAD:
            threading.Thread(target=self._load, args=(message,), name="serving-load", daemon=True).start()
        elif message.kind == Kind.UNLOAD:
            self._programs.pop(message.program, None)

    def say(self, message: Message, *parts: Any) -> None:
        """Write one message, whole: a thread that loads writes too."""
        data = memoryview(packed(message, *parts))
        with self._writing:
            while data:
                data = data[self._answers.write(data) :]

    def _run(self, message):
        about = {"job": message.job, "program": message.program, "rows": message.rows}
        try:
            arrays = self._programs[message.program].run(message.rows, message.data)
        except Exception as error:  # torch runs the model's own code, which raises any error
            self.say(Message(Kind.FAILED, **about, data=_shown(error)))
        else:
            self.say(Message(Kind.ANSWER, **about), *(array.data.cast("B") for array in arrays))

    def _load(self, message):
        from modelserver.compute.program import load

        about = {"job": message.job, "program": message.program}
        try:
            order = json.loads(bytes(message.data))
            self._programs[message.program], comparison = load(
                order["folder"], self._device, order["judged_by"], self._largest, order["signature"]
            )
        except Exception as error:  # torch.export.load raises any error at a file that is no program
            self.say(Message(Kind.NOT_LOADED, **about, data=_shown(error)))
        else:
            self.say(Message(Kind.LOADED, **about, data=json.dumps(comparison).encode()))


def _shown(error):
    text = str(error) if type(error).__module__.startswith("modelserver.") else f"{type(error).__name__}: {error}"
    return text[:2000].encode()


def _gpus(count):
    if not count:
        return nullcontext()
    from simgpu import simulated_gpus

    return simulated_gpus(count)


def _keep_apart():
    """Leave Ctrl-C to the front process, and what a model prints to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
