"""What a chapter's check must do, as three tests: pass right answers, notice wrong ones, leave stubs alone."""

import pytest

from course.checks import check, find_exercise


def oracle(name):
    """Return the slow reference of an exercise; to be looked up once, as the files of checks are read for it."""
    return find_exercise(name).expected


def named(name, answer):
    """Return `answer` under the `name` by which its check is found."""

    def wrapper(*arguments):
        return answer(*arguments)

    wrapper.__name__ = name
    return wrapper


def three_tests(right, wrong):
    """Return three tests for a module: of `right`, {exercise: answer}, of `wrong`, [(exercise, answer)], of stubs."""

    @pytest.mark.parametrize("name", right)
    def passes(name):
        assert check(named(name, right[name])).state == "passed"

    @pytest.mark.parametrize(("name", "answer"), wrong, ids=[f"{name}-{at}" for at, (name, _) in enumerate(wrong)])
    def is_noticed(name, answer):
        assert check(named(name, answer)).state == "wrong"

    @pytest.mark.parametrize("name", right)
    def is_no_answer_yet(name):
        assert check(named(name, lambda *arguments: ...)).state == "not yet"

    return passes, is_noticed, is_no_answer_yet
