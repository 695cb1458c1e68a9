"""The hook that asks, now and then, how good the parameters are on data that training doesn't see."""

from course.training.hooks.base import Hook, Session
from course.training.records.result import Step


class Validate(Hook):
    """Call `problem.validate(parameters) -> {name: number}` every `every` updates and at the end.

    `.results`: a list of `(step, {name: number})`, where `step` is the version of the parameters that were looked at.
    `show`: print each result in one line. It runs in the process that called `train`, on a copy: workers don't wait.

    >>> from functools import partial
    >>> import torch
    >>> from course.training import linear_regression, train_in_turns
    >>> class Held(type(linear_regression())):
    ...     def validate(self, parameters):
    ...         return {"error": abs(parameters["slope"].item() - 2)}
    >>> line = linear_regression()
    >>> held = Held(line.x, line.y, 2.0, 10.0, 20)
    >>> sgd = partial(torch.optim.SGD, lr=0.02)
    >>> result = train_in_turns(held, optimizer=sgd, total_steps=500, hooks=[Validate(every=200, show=True)])
    step 200: error 0.124
    step 400: error 0.00138
    step 500: error 0.00855
    """

    def __init__(self, every: int = 1000, show: bool = False):
        if every < 1:
            raise ValueError(f"Validate(every={every}): give a number of updates from 1 up.")
        self.every, self.show = every, show
        self.results: list[tuple[int, dict[str, float]]] = []
        self._done: int | None = None

    def begin(self, session: Session) -> None:
        """Raise ValueError for a problem that can't be validated."""
        if not callable(getattr(session.problem, "validate", None)):
            raise ValueError(
                f"Validate(): {session.problem!r} has no validate(parameters). Give the problem one that returns a "
                'dict of numbers, such as {"accuracy": 0.9}, or leave the hook out.'
            )
        self.results, self._done = [], None

    def after_run(self, session: Session, step: Step) -> None:
        """Validate when a multiple of `every` has been reached."""
        block = step.step // self.every
        if self._done is None or block < self._done:  # the start, or a restart from a checkpoint
            self._done = (step.step - 1) // self.every
        if block > self._done:
            self._done = block
            self._look(session)

    def finished(self, session: Session) -> None:
        """Validate the last parameters."""
        if not self.results or self.results[-1][0] != session.snapshot().version:
            self._look(session)

    def _look(self, session):
        now = session.snapshot()
        values = {name: float(value) for name, value in session.problem.validate(now.parameters).items()}
        self.results.append((now.version, values))
        session.validated(now.version, values)
        if self.show:
            print(f"step {now.version}: " + ", ".join(f"{name} {value:.3g}" for name, value in values.items()))
