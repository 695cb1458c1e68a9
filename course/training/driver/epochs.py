"""Training counted in passes over the data: how many updates they are, and a table of time and accuracy."""

from collections.abc import Iterator

from course.training.hooks.every import Validate
from course.training.problems.problem import Problem, shown
from course.training.records import TrainingResult, TrainingSettings


def updates_of_an_epoch(problem: Problem, settings: TrainingSettings) -> int:
    """Return how many updates there are while each worker computes as many gradients as the data have batches.

    Raises ValueError for a problem without `batches_per_epoch`, and where an epoch would have no update.
    """
    batches = getattr(problem, "batches_per_epoch", None)
    if not isinstance(batches, int) or batches < 1:
        raise ValueError(
            f"--epochs: {shown(problem)} doesn't say how many batches its data have. Give --steps, or give the "
            "problem a whole number, batches_per_epoch."
        )
    gradients = 1 if settings.mode == "async" else settings.aggregate or settings.workers
    return max(1, batches * settings.workers // gradients)


def table(result: TrainingResult, updates: int, validate: Validate | None) -> Iterator[str]:
    """Yield the lines of a table: for each epoch of so many `updates` its end in seconds, its mean loss, and accuracy.

    What is validated is that of the version nearest to the epoch's end; epochs before a checkpoint are left out.
    """
    history, results = result.history, validate.results if validate else []
    names = list(results[0][1]) if results else []
    yield "  ".join(["epoch", f"{'seconds':>8}", f"{'train loss':>10}", *(f"{name:>9}" for name in names)])
    for epoch in range(1, result.version // updates + 1):
        end = epoch * updates
        rows = history[(history["step"] > end - updates) & (history["step"] <= end)]
        if len(rows):
            values = min(results, key=lambda found: abs(found[0] - end))[1] if results else {}
            cells = [
                f"{rows['applied'][-1]:8.2f}",
                f"{rows['loss'].mean():10.4f}",
                *(f"{values[n]:9.4f}" for n in names),
            ]
            yield "  ".join([f"{epoch:5}", *cells])
