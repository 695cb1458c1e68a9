"""Which lines of Dask's log this course drops, and why; every other line from WARNING on is printed.

Each line dropped here is of something that its reader learns in another way: from `course.cluster`'s own log, or from
the error of the future that it belongs to.
"""

import logging
from fnmatch import fnmatchcase

import dask

_ADVICE = "distributed.admin.large-graph-warning-threshold"
_LOST = "a process was lost: course.cluster logs which, and what it had is computed again"
_RAISED = "the caller's future raises this error"
_CLOSES = "connections that break while a process or a cluster closes"
_LOOKS = "a caller that only looks whether someone listens, or is interrupted, and hangs up"
_SCHEDULER = "the scheduler was lost: the task says so, or the cluster's futures fail with a sentence"

#: The logger's name, how the line begins (`*` stands for what differs), why it is dropped.
DROPPED = (
    ("distributed.scheduler", "Removing worker * caused the cluster to lose already computed", _LOST),
    ("distributed.scheduler", "Couldn't gather keys: ", _LOST),
    ("distributed.client", "Couldn't gather ", _LOST),
    ("distributed.worker", "Could not find data: ", _LOST),
    ("distributed.worker", "Worker stream died during communication: ", _LOST),
    ("distributed.worker", "failed during get data with ", _LOST),
    ("distributed.scheduler", "Task * marked as failed because ", _RAISED),
    ("distributed.worker", "Compute Failed", _RAISED),
    ("distributed.worker", "Run Failed", _RAISED),
    ("distributed.core", "Failed while closing connection to ", _CLOSES),
    ("distributed.core", "rpc object * deleted with ", _CLOSES),
    ("distributed.scheduler", "cannot schedule new futures after ", _CLOSES),
    ("distributed.core", "Pending connections refuse to cancel", _CLOSES),
    ("distributed.scheduler", "Closed comm * while trying to write ", _CLOSES),
    ("distributed.comm.tcp", "Closing dangling stream in ", _CLOSES),
    ("distributed.comm.tcp", "Listener on * TLS handshake failed with remote *EOF", _LOOKS),
    ("distributed.comm.tcp", "Listener on * TLS handshake failed with remote *reset by peer", _LOOKS),
    ("distributed.worker.state_machine", "Async instruction for * ended with CancelledError", _CLOSES),
    ("distributed.worker.state_machine", "Failed to cancel asyncio task after ", _CLOSES),
    ("distributed.client", "Failed to reconnect to scheduler after ", _SCHEDULER),
    ("distributed.client", "", _SCHEDULER),  # a traceback under an empty line
    ("distributed.worker", "Failed to communicate with scheduler during heartbeat", _SCHEDULER),
    ("distributed.worker", "Scheduler was unaware of this worker", _SCHEDULER),
    (
        "distributed.scheduler",
        "Received heartbeat from unregistered worker ",
        "a task that was counted out joins again",
    ),
    ("distributed.worker", "Unable to connect to scheduler: ", "the task says why it can't join"),
    ("distributed.gc", "gc.collect() took ", "advice on speed, which a busy machine sets off"),
)


class _Dropping(logging.Filter):
    """Refuses the lines of `DROPPED`."""

    def filter(self, record: logging.LogRecord) -> bool:
        line = record.getMessage().strip()
        patterns = (begins and f"{begins}*" for name, begins, _ in DROPPED if record.name == name)
        return not any(fnmatchcase(line, pattern) for pattern in patterns)


_DROPPING = _Dropping()


def quiet() -> None:
    """Have Dask log, in this process, from WARNING on and without the lines of `DROPPED`, and allow large arguments.

    What its user has set stays as it is: Dask's own settings `logging`, a logger's level, the limit of arguments.
    """
    if not (dask.config.get("logging", None) or dask.config.get("distributed.logging", None)):
        if logging.getLogger("distributed").level == logging.INFO:  # as Dask sets it: a line for each join and end
            logging.getLogger("distributed").setLevel(logging.WARNING)
        for name in {name for name, _, _ in DROPPED}:
            logging.getLogger(name).addFilter(_DROPPING)  # on each: a logger's filters don't see its children's lines
    if dask.config.get(_ADVICE) == "10MB":
        dask.config.set({_ADVICE: "1GB"})  # handing a slice of the data to a task is the lesson here, not a mistake
