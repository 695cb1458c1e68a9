"""What faults of a cluster's processes and disks do when they strike: each a function of the stage and the session."""

import os
import signal
import subprocess


def killed(job, more=0):
    """Return the strike that SIGKILLs a task of `job`, from outside; by hand it is started again a moment later."""

    def strike(stage, session):
        task = stage.victim(job, more)
        stage.signal(task, signal.SIGKILL)
        if stage.members is not None:
            stage.later(stage.plan.seconds, stage.members.restart, task)

    return strike


def frozen(job):
    """Return the strike that SIGSTOPs a task of `job` and lets it go on later, perhaps after it was replaced."""

    def strike(stage, session):
        task, seconds = stage.victim(job), stage.plan.seconds
        stage.signal(task, signal.SIGSTOP)
        # by hand for longer than silence is borne
        stage.later(seconds if stage.members is None else seconds + 3, stage.signal, task, signal.SIGCONT)

    return strike


def both(first, second, share=0.0):
    """Return the strike that does `first`, and `second` after this share of the plan's seconds."""

    def strike(stage, session):
        first(stage, session)
        stage.later(share * stage.plan.seconds, second, stage, session) if share else second(stage, session)

    return strike


def ps_killed_again(stage, session):
    """SIGKILL the successor of a parameter server, or another one."""
    stage.look_up()
    killed("ps")(stage, session)


def interrupted(stage, session):
    """Interrupt the session, as Ctrl-C does, at any place of its code."""
    stage.later(stage.plan.seconds / 20, os.kill, os.getpid(), signal.SIGINT)


def hook_raises(stage, session):
    """A learner's hook fails."""
    raise ZeroDivisionError("a learner's mistake")


def checkpoint_torn(stage, session):
    """Damage the newest checkpoint, in one of four ways."""
    path = max((p for p in stage.folder.iterdir() if not p.name.endswith(".lock")), key=lambda p: p.stat().st_mtime_ns)
    data = bytearray(path.read_bytes())
    at = stage.plan.amount % max(1, len(data))
    ways = {
        "cut": data[:at],
        "flipped": data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :] if data else b"",
        "emptied": b"",
        "foreign": b"not a checkpoint",
    }
    way = list(ways)[stage.plan.victim % 4]
    path.write_bytes(ways[way])
    stage.notes.append(f"{path.name} {way}")


def disk_full(stage, session):
    """Fill the disk of the checkpoints, and make room again later."""
    filler = stage.folder / "somebody's film"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError as error:
            stage.notes.append(error.strerror)
    stage.later(stage.plan.seconds / 4, filler.unlink)


def intruder(elsewhere):
    """Return the strike that starts a second process for a worker that is there: on its port, or `elsewhere`."""

    def strike(stage, session):
        name = stage.victim("worker")
        member = stage.members.intruder(name, elsewhere)

        def refused():
            try:
                code = member.ends(20)
            except subprocess.TimeoutExpired:
                return [f"a second {name} was not refused: {member.text}"]
            finally:
                member.close()
            stage.notes.append(member.text.strip().split("\n")[-1])
            clear = code != 0 and "Traceback" not in member.text and name in member.text
            return [] if clear else [f"a second {name} ended with {code} and said {member.text!r}"]

        stage.checks.append(refused)

    return strike


STRIKES = {
    "worker killed": killed("worker"),
    "worker frozen": frozen("worker"),
    "two workers killed": both(killed("worker"), killed("worker", 1), share=0.1),
    "ps killed": killed("ps"),
    "ps frozen, then wakes": frozen("ps"),
    "ps killed twice": both(killed("ps"), ps_killed_again, share=1.0),
    "ps and worker killed": both(killed("ps"), killed("worker")),
    "worker killed, ps frozen": both(frozen("ps"), killed("worker"), share=0.5),
    "session interrupted": interrupted,
    "hook raises": hook_raises,
    "checkpoint torn": both(checkpoint_torn, killed("ps")),
    "disk full": disk_full,
    "worker killed by hand": killed("worker"),
    "worker frozen by hand": frozen("worker"),
    "ps killed by hand": killed("ps"),
    "ps frozen by hand, wakes": frozen("ps"),
    "scheduler killed": killed("scheduler"),
    "scheduler frozen": frozen("scheduler"),
    "duplicate task": intruder(elsewhere=True),
    "port taken": intruder(elsewhere=False),
}
