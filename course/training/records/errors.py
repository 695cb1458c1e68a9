"""What ends a training early: no way to go on, a parameter server that is lost, a chief whose lease is lost."""


class TrainingError(RuntimeError):
    """Training can't go on: the message names the task and what happened to it."""


class ShardLost(TrainingError):
    """A ps task that held parameters is gone or silent: `task` says which, `reason` what was seen."""

    def __init__(self, task: str, reason: str):
        super().__init__(
            f"{task}, the parameter server, is lost: {reason}. The parameters were only there; call train again to "
            "start over (the cluster replaces a task that died), or give a checkpoint_dir to go on by itself."
        )
        self.task, self.reason = task, reason


class Deposed(TrainingError):
    """This process was the chief and is not any more: its lease ran out, or another has a later term."""
