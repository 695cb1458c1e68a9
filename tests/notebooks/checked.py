"""What a chapter's check must do beside passing the model answer, as `test_run_all` sees: notice wrong ones."""

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


def noticed(wrong):
    """Return a test for a module: each of `wrong`, [(exercise, answer)], meets a counterexample."""

    @pytest.mark.parametrize(("name", "answer"), wrong, ids=[f"{name}-{at}" for at, (name, _) in enumerate(wrong)])
    def is_noticed(name, answer):
        assert check(named(name, answer)).state == "wrong"

    return is_noticed
