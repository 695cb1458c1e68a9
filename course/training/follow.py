"""Follow one incarnation: read its records, tell the hooks each step and event, until training ends."""

import time

from course.training.hooks import refuse, tell
from course.training.result import Step
from course.training.store import NonFiniteError
from course.training.talk import TrainingError
from course.training.unbroken import unbroken

_EVERY = 0.02  # seconds between two looks at the shards


def follow(talk, session, hooks, lineage, crew):
    """Read steps and tell the hooks until training ends; return the last status. Raises what the end calls for."""
    workers, lost, started = crew.plan.workers, {}, False
    while True:
        crew.check()
        with unbroken():
            status, rows = talk.look(lineage.told)
        if not started and status["seconds"] is not None:
            lineage.start(status["seconds"])
            started = True
        rows = lineage.add(rows)
        _tell_presence(lost, status["lost"], workers, session)
        lost = status["lost"]
        _tell_steps(rows, session, hooks)
        ended = status["ended"]
        if ended and (len(rows) == 0 or session.stop_reason is not None):
            _judge(ended, status, session, hooks, workers)
            return status
        if session.stop_reason is not None:
            with unbroken():
                talk.stop()
        elif not ended:
            time.sleep(_EVERY)


def _tell_steps(rows, session, hooks):
    for row in rows if hooks else ():
        for hook in hooks:
            hook.before_run(session)
        tell(session, hooks, Step(*row.item()))
        if session.stop_reason is not None:
            return


def _tell_presence(before, now, workers, session):
    """Make an event of every worker that has been lost, or has come back, since the last look."""
    for worker in now.keys() - before.keys():
        silent = "nothing" in now[worker]  # frozen or cut off: it may come back by itself
        what = "worker counted out" if silent else "worker lost"
        session.happened(what, workers[int(worker)], reason=now[worker])
    for worker in before.keys() - now.keys():
        session.happened("worker joined", workers[int(worker)])


def _judge(ended, status, session, hooks, workers):
    """Raise what the end of the training calls for."""
    if ended["why"] == "not finite":
        refuse(session, hooks, NonFiniteError(ended["text"], ended["version"]))
    elif ended["why"] == "lost":
        lost = "; ".join(f"{workers[int(worker)]}: {reason}" for worker, reason in sorted(status["lost"].items()))
        raise TrainingError(
            f"{lost}. Training needs {status['needs']} of its {len(workers)} workers and has fewer. Call train again"
            " (the cluster replaces a task that died), or ask for fewer with aggregate=."
        )
    elif ended["why"] in ("error", "closed"):
        raise TrainingError(f"training ended at step {status['version']}: {ended['text'] or 'the server closed'}.")
