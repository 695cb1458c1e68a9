"""Lab 09's job as it is marked: lives in sandboxes of their own, the folder seen, and torn, from outside."""

from dataclasses import replace

import pytest

from course.checks.discovery import load_part
from grader.lab.release import notebook_with, text_of
from grader.lab.source import load_lab, solved
from grader.marking.mark import mark_submission
from tests.grader.forked_sandbox import ForkServer
from tests.helpers.submissions import LABS
from tests.labs.jobs import ELSEWHERE, HONEST, TEARABLE

cases = load_part(LABS / "lab09_beyond_one_machine", "cases")
#: Of a job's cases, one of each group; the attacks are asked all of them.
FEW = (2, 7, 12)


@pytest.fixture(scope="module")
def mark():
    """What marks one job, without a sandbox that keeps anything in."""
    lab = load_lab(LABS / "lab09_beyond_one_machine")
    job = lab.exercise("job")
    few = replace(job.statement, cases=lambda draw: [cases.lives(draw)[number] for number in FEW])
    only_job = replace(lab, exercises=[replace(job, statement=few)])
    with ForkServer(("numpy",)) as server:

        def marked(source):
            texts = {e.name: lab.source.cell(e.name).solution for e in lab.exercises}
            texts["job"] = solved(lab.source.cell("job").text, source)
            notebook = text_of(notebook_with(lab, texts))
            return mark_submission(only_job, notebook.encode(), b"x" * 32, server.sandbox).exercise("job")

        yield marked


def one_at_once(names):
    """Return the parameters `names`, of which `make test` runs the first."""
    first, *others = names
    return [first, *(pytest.param(name, marks=pytest.mark.long) for name in others)]


@pytest.mark.parametrize("name", one_at_once(HONEST))
def test_a_job_that_is_whole_or_not_there_gets_all(mark, name):
    given = mark(HONEST[name])
    assert given.score == given.max_score, given.reason


@pytest.mark.parametrize("name", one_at_once(TEARABLE))
def test_a_job_that_can_be_torn_loses_what_is_for_that(mark, name):
    given = mark(TEARABLE[name])
    assert given.score == pytest.approx(0.7 * given.max_score), given.reason


@pytest.mark.parametrize("name", one_at_once(ELSEWHERE))
def test_a_job_that_keeps_its_state_elsewhere_gets_nothing(mark, name):
    given = mark(ELSEWHERE[name])
    assert given.score == 0, given.reason
