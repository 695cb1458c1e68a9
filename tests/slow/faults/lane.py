"""One lane: the process that runs one trial after another, on clusters that it keeps."""

import faulthandler
import signal
import sys
import time
import traceback
from contextlib import suppress

import torch

from tests.helpers.namespaces import NotHereError
from tests.slow.faults.catalogue import KINDS
from tests.slow.faults.counting import SGD_1
from tests.slow.faults.outcome import Outcome
from tests.slow.faults.plan import plan
from tests.slow.faults.scenes.classic import ClassicScene
from tests.slow.faults.scenes.driven import DrivenScene
from tests.slow.faults.scenes.hosts import HostsScene
from tests.slow.faults.scenes.local import LocalScene
from tests.slow.faults.scenes.separate import SeparateScene

SCENES = {
    "local": LocalScene,
    "separate": SeparateScene,
    "driven": DrivenScene,
    "hosts": HostsScene,
    "classic": ClassicScene,
}


def serve(pipe):
    """Answer each seed that comes by `pipe` twice: when all that its trial needs is there, and with its `Outcome`.

    Ends with the pipe, or by SIGTERM.
    """
    faulthandler.enable()
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=True)
    open_scenes = {}
    signal.signal(signal.SIGTERM, _end)
    SGD_1([torch.zeros(1)])  # the first optimiser imports a good part of torch
    try:
        with suppress(EOFError):
            while True:
                begun = iter([True])
                outcome = tried(pipe.recv(), open_scenes, lambda begun=begun: next(begun, None) and pipe.send("begun"))
                pipe.send(outcome)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends already
        for scene in open_scenes.values():
            scene.close()


def _end(number, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(128 + number)


def tried(seed, open_scenes, begun):
    """Run the trial of `seed` in its scene, and return its outcome; `begun` is called when what it needs is there."""
    trial, began = plan(seed, KINDS), time.monotonic()
    try:
        for other in set(open_scenes) - {trial.kind.scene}:
            open_scenes.pop(other).close()  # a cluster that idles takes a twentieth of a core
        if trial.kind.scene not in open_scenes:
            open_scenes[trial.kind.scene] = SCENES[trial.kind.scene]()
        open_scenes[trial.kind.scene].prepare(trial)
        begun()
        return open_scenes[trial.kind.scene].run(trial)
    except NotHereError as error:
        begun()
        return Outcome(seed, trial.kind.name, "not here", time.monotonic() - began, None, str(error))
    except Exception:  # the harness itself stumbled, or a cluster could not be had: not a right end either
        begun()
        close = open_scenes.pop(trial.kind.scene, None)
        if close is not None:
            close.close()
        seconds = time.monotonic() - began
        return Outcome(seed, trial.kind.name, "wrong", seconds, None, "", [traceback.format_exc()])
