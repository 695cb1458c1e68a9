"""What ends a training early: no way to go on, a lost parameter server, a chief without its lease, a NaN gradient."""


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


class NonFiniteError(ValueError):
    """A gradient or a loss holds NaN or infinity: `tensor` says which, `version` which parameters it came from."""

    def __init__(self, tensor: str, version: int):
        super().__init__(
            f"{tensor} is not finite at version {version}. "
            "Most often the learning rate is too large; try a tenth of it, or add StopOnNaN() to the hooks."
        )
        self.tensor, self.version = tensor, version
