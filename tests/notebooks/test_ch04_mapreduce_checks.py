"""Chapter 04's checks notice a plausible wrong answer."""

import pytest

from course import ClusterSpec, check
from tests.notebooks.answers import model_answers
from tests.notebooks.checked import noticed

RIGHT = model_answers("04_mapreduce_mean", ClusterSpec=ClusterSpec)
RENAMED = RIGHT.pop("renamed")
fold = RIGHT["fold"]


def merged(left, right):
    for word, count in right.items():
        left[word] = left.get(word, 0) + count
    return left


WRONG = [
    ("fold", lambda join, values: fold(lambda a, b: join(b, a), values[::-1])),  # from the right
    ("fold", lambda join, values: fold(join, values[:-1] or values)),  # forgets the last one
    ("merge_counts", lambda left, right: {**left, **right}),  # the right count replaces the left one
    ("merge_counts", lambda left, right: {w: left[w] + right[w] for w in left if w in right}),  # only words of both
    ("merge_counts", lambda left, right: left),
    ("merge_counts", merged),
    ("merge_counts", lambda left, right: dict(merged(left, right))),  # a new one, and the old one changed as well
    ("weighted_mean", lambda means, sizes: sum(means) / len(means)),
]


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)


def test_an_unweighted_mean_is_caught_by_its_smallest_counterexample():
    assert "weighted_mean([2.0, 10.0], [3, 1])" in check(WRONG[-1][1], "weighted_mean").message


@pytest.mark.parametrize(("job", "ports"), [("local", (1, 2, 3)), ("summer", (1, 2))])
def test_the_renamed_job_has_its_name_and_its_three_tasks(job, ports):
    assert check(ClusterSpec({job: [f"localhost:{port}" for port in ports]}), "renamed").state == "wrong"
    assert check(RENAMED, "renamed") and check(None, "renamed").state == "not yet"
