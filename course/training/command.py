"""`python -m course train`: start a parameter server and workers on this machine, train, and say what came out."""

from course.training.hooks import StopOnNaN
from course.training.problems import known
from course.training.session import train


def report(problem, mode, workers, steps=None, optimizer=None, learning_rate=None, seed=0, settings=None):
    """Train and yield lines of text: what runs, how good its outcome is, speed and staleness.

    `steps`, `optimizer` and `learning_rate` default to the problem's own; `settings`: "classic" or "tuned", for mnist.
    Raises as `train` does.
    """
    from course.cluster import local_cluster

    choice = known(problem, settings)
    made, steps = choice.made(optimizer, learning_rate), choice.steps if steps is None else steps
    task = choice.make()
    yield f"{task}: {mode}, {optimizer or choice.optimizer} with learning rate {made.keywords['lr']:g}, {steps} updates"
    with local_cluster(ps=1, worker=workers) as cluster:
        yield f"running: {', '.join(cluster.tasks)}"
        result = train(task, cluster, optimizer=made, mode=mode, total_steps=steps, hooks=[StopOnNaN()], seed=seed)
    yield from choice.outcome(task, result.parameters)
    yield from _speed(result)


def _speed(result):
    gradients = "" if result.mode == "async" else f" of {len(result.history) / max(1, result.version):g} gradients each"
    yield f"{result.version} updates{gradients} in {result.seconds:.2f} s: {result.steps_per_second:,.0f} a second"
    counts = ", ".join(f"{late}: {count}" for late, count in result.staleness_counts().items())
    yield f"staleness (updates late: gradients)  {counts}"
    if result.stopped_by:
        yield f"stopped: {result.stopped_by}"
