"""The smallest input on which an answer is wrong: Hypothesis draws inputs, and makes a wrong one smaller.

An exercise says which inputs are legal, as a strategy (`Exercise.inputs`). What Hypothesis calls simple and what reads
as small are not always the same, so of all that failed on the way the shortest to read is kept.
"""

import contextlib
import io
import tempfile
from time import monotonic, process_time

from course.signals import held_back

DRAWN = 60  # inputs that an answer is tried on when the fixed cases have found nothing
SMALLER = 400  # inputs that are tried to find a smaller one


class _Wrong(Exception):
    """This input shows that the answer is wrong: Hypothesis looks for a simpler one that raises it, too."""


class _TimeIsUp(BaseException):
    """No Exception: Hypothesis passes it on at once."""


def smallest(strategy, problem, counterexample=None, seconds=3.0):
    """Return the shortest problem seen, or None: `problem(drawn)` is None, or a thing with a `message`.

    `strategy` draws the same each time. Where there is a `counterexample` already, only a smaller one is looked for. A
    slow answer is tried on fewer inputs: after `seconds` of work, or four times that on the clock, no more begins.
    """
    with held_back():
        import hypothesis
        import hypothesis.configuration

    best, end, late = counterexample, process_time() + seconds, monotonic() + 4 * seconds

    def tried(drawn):
        nonlocal best
        if process_time() > end or monotonic() > late:
            raise _TimeIsUp
        outcome = problem(drawn)
        if outcome is None:
            return
        if best is None or _length(outcome) < _length(best):
            best = outcome
        if getattr(outcome, "about", "") == "slip":  # each smaller input would meet the same mistake, or hang as long
            raise _TimeIsUp
        raise _Wrong

    settings = hypothesis.settings(
        max_examples=DRAWN if counterexample is None else SMALLER,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
    )
    # what an answer prints is of interest once, not four hundred times
    with _elsewhere(hypothesis), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        # Hypothesis complains of an input that is right and wrong by turns: a wrong one is what was looked for
        with contextlib.suppress(_Wrong, _TimeIsUp, hypothesis.errors.HypothesisException):
            settings(hypothesis.given(strategy)(tried))()
    return best


@contextlib.contextmanager
def _elsewhere(hypothesis):
    """Within the `with`, Hypothesis keeps its notes in a folder that is removed, and reads none of the loaded modules.

    It would parse every module that was imported, for numbers to try: seconds in a kernel with torch, and other inputs
    on every machine. There is no setting against it; a Hypothesis that does it in another way is only slower.
    """
    from hypothesis.internal.conjecture.providers import HypothesisProvider as Provider

    name = "_maybe_draw_constant"
    before = vars(Provider).get(name)
    with tempfile.TemporaryDirectory() as place:
        hypothesis.configuration.set_hypothesis_home_dir(place)
        if before is not None:
            setattr(Provider, name, lambda *_, **__: None)
        try:
            yield
        finally:
            hypothesis.configuration.set_hypothesis_home_dir(None)
            if before is not None:
                setattr(Provider, name, before)


def _length(problem):
    return len(problem.message), problem.message
