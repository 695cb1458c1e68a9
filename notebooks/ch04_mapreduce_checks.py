"""The exercises of chapter 04: reduce by hand, the weighted mean, word counts joined, a job renamed."""

from fractions import Fraction
from functools import reduce

from course.checks.exercise import Exercise, by_name


def _reduce_cases():
    # subtraction and joining text tell left to right from right to left; one value is never joined
    yield (minus, [7])
    yield (minus, [7, 2])
    yield (minus, [7, 2, 1])
    yield (in_brackets, ["a", "b", "c", "d"])
    yield (max, [3, 9, 4, 1, 5])


def minus(left, right):
    return left - right


def in_brackets(left, right):
    return f"({left}{right})"


def _exact_mean(means, sizes):
    total = sum(Fraction(mean) * size for mean, size in zip(means, sizes, strict=True))
    return float(total / sum(sizes))


def _counted(left, right):
    return {word: left.get(word, 0) + right.get(word, 0) for word in {**left, **right}}


def _with_inputs_kept(entry, left, right):
    before = dict(left), dict(right)
    got = entry(left, right)
    if got is left or got is right or (left, right) != before:
        raise ValueError("left and right stay as they were, and a new dictionary is given: a part may be joined twice")
    return got


def _renamed(answer):
    jobs = getattr(answer, "jobs", None)
    if jobs is None:
        return "give a ClusterSpec"
    named = [job for job in jobs if job != "scheduler"]
    if named != ["summer"]:
        return f"its jobs are {', '.join(named)}; the one job asked for is summer"
    if answer.num_tasks("summer") != 3:
        return f"summer has {answer.num_tasks('summer')} tasks, not 3"
    return True


EXERCISES = by_name(
    Exercise(
        "fold",
        _reduce_cases,
        expected=reduce,
        hint="start with the first value; join it with the second, that with the third, and so on.",
    ),
    Exercise(
        "weighted_mean",
        lambda: [
            ([4.0], [1]),
            ([1.0, 3.0], [5, 5]),
            ([2.0, 10.0], [3, 1]),
            ([2.0, 0.0], [3, 0]),
            ([1.5, -2.0, 8.0], [7, 1, 2]),
        ],
        expected=_exact_mean,
        hint="mean × size is the slice's sum; add the sums, divide by all the sizes.",
    ),
    Exercise(
        "merge_counts",
        lambda: [({"the": 1}, {}), ({"the": 2}, {"the": 3}), ({"the": 2, "cat": 1}, {"the": 1, "dog": 4})],
        expected=_counted,
        call=_with_inputs_kept,
        hint="a word in both dictionaries has the sum of its two counts.",
    ),
    Exercise("renamed", lambda: [()], accepts=_renamed, hint='ClusterSpec({"summer": [three addresses]}).'),
)
