"""What the faults of a local cluster do when they strike: each a function of the stage and the session."""

import os
import signal


def worker_killed(stage, session):
    """SIGKILL one worker, from outside."""
    stage.signal(stage.victim("worker"), signal.SIGKILL)


def workers_killed(stage, session):
    """SIGKILL two workers, a moment apart."""
    stage.signal(stage.victim("worker"), signal.SIGKILL)
    stage.later(stage.plan.seconds / 10, stage.signal, stage.victim("worker", 1), signal.SIGKILL)


def worker_frozen(stage, session):
    """SIGSTOP one worker and let it go on later."""
    _freeze(stage, stage.victim("worker"))


def ps_killed(stage, session):
    """SIGKILL one parameter server."""
    stage.signal(stage.victim("ps"), signal.SIGKILL)


def ps_frozen(stage, session):
    """SIGSTOP one parameter server; it wakes later, perhaps after it was replaced."""
    _freeze(stage, stage.victim("ps"))


def ps_killed_twice(stage, session):
    """SIGKILL one parameter server, and a moment later its successor or another one."""
    ps_killed(stage, session)

    def again():
        stage.look_up()
        ps_killed(stage, session)

    stage.later(stage.plan.seconds, again)


def ps_and_worker_killed(stage, session):
    """SIGKILL a parameter server and a worker in one moment."""
    ps_killed(stage, session)
    worker_killed(stage, session)


def worker_killed_while_ps_frozen(stage, session):
    """Freeze a parameter server, then kill a worker that waits for it."""
    ps_frozen(stage, session)
    stage.later(stage.plan.seconds / 2, worker_killed, stage, session)


def interrupted(stage, session):
    """Interrupt the session, as Ctrl-C does, at any place of its code."""
    stage.later(stage.plan.seconds / 20, os.kill, os.getpid(), signal.SIGINT)


def hook_raises(stage, session):
    """A learner's hook fails."""
    raise ZeroDivisionError("a learner's mistake")


def checkpoint_torn(stage, session):
    """Damage the newest checkpoint, in one of four ways, then kill a parameter server."""
    path = max((p for p in stage.folder.iterdir() if not p.name.endswith(".lock")), key=lambda p: p.stat().st_mtime_ns)
    data = bytearray(path.read_bytes())
    at = stage.plan.amount % max(1, len(data))
    ways = {
        "cut": lambda: data[:at],
        "flipped": lambda: data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :],
        "emptied": lambda: b"",
        "foreign": lambda: b"not a checkpoint",
    }
    way = list(ways)[stage.plan.victim % 4]
    path.write_bytes(ways[way]())
    stage.said.append(f"{path.name} {way}")
    ps_killed(stage, session)


def disk_full(stage, session):
    """Fill the disk of the checkpoints, and make room again later."""
    filler = stage.folder / "somebody's film"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError as error:
            stage.said.append(error.strerror)
    stage.later(stage.plan.seconds / 4, filler.unlink)


def _freeze(stage, task):
    stage.signal(task, signal.SIGSTOP)
    stage.later(stage.plan.seconds, stage.signal, task, signal.SIGCONT)


STRIKES = {
    "worker killed": worker_killed,
    "worker frozen": worker_frozen,
    "two workers killed": workers_killed,
    "ps killed": ps_killed,
    "ps frozen, then wakes": ps_frozen,
    "ps killed twice": ps_killed_twice,
    "ps and worker killed": ps_and_worker_killed,
    "worker killed, ps frozen": worker_killed_while_ps_frozen,
    "session interrupted": interrupted,
    "hook raises": hook_raises,
    "checkpoint torn": checkpoint_torn,
    "disk full": disk_full,
}
