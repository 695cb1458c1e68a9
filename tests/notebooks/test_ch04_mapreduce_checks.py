"""The checks of chapter 04 pass right answers and catch plausible wrong ones."""

import pytest

from course import ClusterSpec, check


def test_a_reduce_from_the_left_passes_and_other_orders_are_caught():
    def fold(join, values):
        result = values[0]
        for value in values[1:]:
            result = join(result, value)
        return result

    assert check(fold)
    right = fold

    def fold(join, values):  # from the right
        return right(lambda a, b: join(b, a), values[::-1])

    assert check(fold).state == "wrong"

    def fold(join, values):  # forgets the last one
        return right(join, values[:-1] or values)

    assert check(fold).state == "wrong"


def test_an_unweighted_mean_is_caught_by_its_smallest_counterexample():
    def weighted_mean(means, sizes):
        return sum(means) / len(means)

    verdict = check(weighted_mean)
    assert verdict.state == "wrong" and "weighted_mean([2.0, 10.0], [3, 1])" in verdict.message

    def weighted_mean(means, sizes):
        return sum(mean * size for mean, size in zip(means, sizes, strict=True)) / sum(sizes)

    assert check(weighted_mean)


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (lambda left, right: {**left, **right}, "wrong"),  # the right count replaces the left one
        (lambda left, right: {w: left[w] + right[w] for w in left if w in right}, "wrong"),  # only words of both
        (lambda left, right: left, "wrong"),
        (lambda left, right: {w: left.get(w, 0) + right.get(w, 0) for w in left.keys() | right.keys()}, "passed"),
        (lambda left, right: None, "not yet"),
    ],
)
def test_joining_counts_is_checked_on_words_of_either_side(body, state):
    assert check(body, "merge_counts").state == state


@pytest.mark.parametrize(
    ("jobs", "state"),
    [
        ({"summer": ["localhost:1", "localhost:2", "localhost:3"]}, "passed"),
        ({"local": ["localhost:1", "localhost:2", "localhost:3"]}, "wrong"),
        ({"summer": ["localhost:1", "localhost:2"]}, "wrong"),
    ],
)
def test_the_renamed_job_has_its_name_and_its_three_tasks(jobs, state):
    assert check(ClusterSpec(jobs), "renamed").state == state
    assert check(None, "renamed").state == "not yet"
