"""Map and reduce give one answer, whoever computes it and in whatever order it arrives; the mean weighs its slices."""

import math
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from functools import reduce
from multiprocessing import get_context
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course.mapreduce import PartError, map_reduce, mean, part_sum, slices


def double(x):
    return 2 * x


def join(left, right):
    return f"({left}{right})"


def add(left, right):
    return left + right


class LastFirst(ThreadPoolExecutor):
    """Runs everything at once, but the first part submitted arrives last."""

    def submit(self, fn, *args):
        delay, self.delay = getattr(self, "delay", 0.05), getattr(self, "delay", 0.05) - 0.01
        return super().submit(lambda: (time.sleep(max(delay, 0)), fn(*args))[1])


@pytest.fixture(scope="module", autouse=True)
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(float, range(4)))  # start them all now: a test must not leave a process that it started
        yield pool


@pytest.fixture(params=["here", "threads", "last first", "processes"])
def executor(request, processes):
    if request.param == "here":
        yield None
    elif request.param == "processes":
        yield processes  # they are sent built-in functions: a function of this file would have them import torch
    else:
        with (LastFirst if request.param == "last first" else ThreadPoolExecutor)(7) as pool:
            yield pool


def test_any_executor_joins_the_parts_from_left_to_right(executor):
    assert map_reduce(str, join, range(5), executor) == "((((01)2)3)4)"


def test_an_associative_join_is_a_tree_with_the_same_shape_on_any_executor(executor):
    assert map_reduce(str, join, range(5), executor, associative=True) == "(((01)(23))4)"
    assert map_reduce(str, join, range(7), executor, associative=True) == "(((01)(23))((45)6))"


def test_the_order_of_arrival_does_not_change_the_last_digit_of_a_float():
    parts = [1e16, 1.0, -1e16, 1.0, 3.0]
    with LastFirst(5) as pool:
        for associative in (False, True):
            assert map_reduce(float, add, parts, pool, associative) == map_reduce(float, add, parts, None, associative)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40), st.booleans())
def test_it_equals_python_s_map_and_reduce(parts, associative):
    assert map_reduce(double, add, parts, associative=associative) == reduce(add, map(double, parts))


def test_one_part_is_mapped_and_never_reduced():
    assert map_reduce(double, lambda left, right: pytest.fail("reduced"), [21]) == 42


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((double, add, iter(())), ValueError, "nothing to reduce. Give one part"),
        ((3, add, [1]), TypeError, "mapper=3"),
        ((double, None, [1]), TypeError, "reducer=None"),
        ((double, add, [1], "cluster"), TypeError, "executor='cluster'.*cluster.executor"),
    ],
)
def test_what_cannot_be_mapped_or_reduced_is_an_error_that_says_what_to_give(arguments, error, words):
    with pytest.raises(error, match=words):
        map_reduce(*arguments)


def test_a_failing_mapper_names_the_part_on_any_executor(executor):
    with pytest.raises(PartError, match=r"float failed on part 2 of 4 \('three'\): ValueError") as caught:
        map_reduce(float, add, ["1", "2", "three", "4"], executor)
    assert caught.value.part == 2
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("parts", "associative", "where", "part"),
    [
        ([3, 4, 2], False, "0 to 1 with part 2 to 2", 2),
        ([3, 4, 2], True, "0 to 1 with part 2 to 2", 2),
        ([3, 3, 1, 2], True, "0 to 1 with part 2 to 3", 2),
        ([1] * 8, True, "0 to 3 with part 4 to 7", 4),
    ],
)
def test_a_failing_reducer_names_every_part_of_both_pieces(parts, associative, where, part):
    def little(left, right):
        assert left + right < 8, "too much"
        return left + right

    words = f"reducer little failed joining part {where}: AssertionError: too much"
    with pytest.raises(PartError, match=words) as caught:
        map_reduce(int, little, parts, associative=associative)
    assert caught.value.part == part


def test_a_closed_executor_is_an_error_that_says_so():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="took 0 of 2 parts.*open a new one"):
        map_reduce(double, add, [1, 2], pool)


def test_a_part_that_never_ends_meets_the_deadline_and_the_rest_are_cancelled():
    class Frozen:
        futures = []

        def submit(self, fn, *args):
            self.futures.append(Future())
            return self.futures[-1]

    with pytest.raises(TimeoutError, match="still waiting for 2 of 2, the first is part 0"):
        map_reduce(double, add, [1, 2], Frozen(), timeout=0.05)
    assert all(future.cancelled() for future in Frozen.futures)


def test_a_part_that_somebody_cancels_is_named():
    class Dropping:
        def submit(self, fn, *args):
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(PartError, match="part 0 of 1.*CancelledError"):
        map_reduce(double, add, [1], Dropping())


# The mean


def test_unequal_slices_count_by_their_size(executor):
    data = np.array([1.0, 2.0, 3.0, 10.0])
    assert mean(data, [3, 1], executor) == 4.0  # the mean of the two means is 6


def test_data_is_one_slice_unless_parts_are_asked_for():
    with ThreadPoolExecutor(1) as pool:
        pool.submit = Mock(wraps=pool.submit)
        assert mean([1, 2, 3], executor=pool) == 2
    ((_, part),) = [call.args for call in pool.submit.call_args_list]
    assert part.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("data", "parts", "expected"),
    [
        ([1e16, 1, 1, 1], 4, (1e16 + 2) / 4),  # from left to right each 1 is lost at 1e16, where floats lie 2 apart
        ([1.0, math.nan, 2.0], 2, math.nan),
        ([1.0, math.inf], 2, math.inf),
        ([math.inf, -math.inf], 2, math.nan),
        ([5, 7], [0, 2, 0], 6),  # an empty slice counts for nothing
        ([5, 7], 5, 6),
        (torch.arange(6.0, requires_grad=True), 2, 2.5),
        (torch.arange(12).reshape(3, 4).T[::2], 2, 5.0),
    ],
)
def test_the_mean_of_slices_is_joined_by_a_tree_and_hands_on_nan_and_infinity(data, parts, expected):
    with np.errstate(invalid="ignore"):
        assert mean(data, parts) == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_what_a_slice_answers_is_a_value_that_nobody_changes():
    answer = part_sum([1, 2])
    with pytest.raises(AttributeError):
        answer.total = 4
    assert {answer: "the same"}[part_sum([3, 0])] == "the same"


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=50),
    st.lists(st.floats(0, 1), max_size=6),
    st.sampled_from([np.float32, np.float64]),
)
def test_the_mean_equals_python_s_exact_sum_wherever_it_is_cut(numbers, cuts, dtype):
    data = np.array(numbers, dtype)
    ends = [0, *sorted(round(cut * len(data)) for cut in cuts), len(data)]
    sizes = np.diff(ends).tolist()
    slow = float(sum(map(Fraction, data.tolist())) / len(data))
    assert math.isclose(mean(data, sizes), slow, rel_tol=1e-12, abs_tol=1e-9)


@settings(max_examples=50)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30), st.integers(1, 7))
def test_integers_are_added_exactly_even_where_their_sum_overflows(numbers, parts):
    assert mean(np.array(numbers, np.int64), parts) == sum(numbers) / len(numbers)


@pytest.mark.parametrize("dtype", [np.uint64, np.uint8, np.int8, bool])
def test_every_integer_type_is_added_exactly(dtype):
    top = 1 if dtype is bool else np.iinfo(dtype).max
    data = np.full(1000, top, dtype)
    assert part_sum(data).total == 1000 * int(top)
    assert mean(data, 3) == float(top)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.uint8, torch.bool]
)
def test_torch_tensors_of_every_real_type_have_a_mean(dtype):
    data = torch.tensor([[0, 1], [1, 0]], dtype=dtype)
    assert mean(data, 3) == 0.5


@pytest.mark.parametrize("parts", [0, -1, [3], [5, -1], [1.5, 2.5], [2.5, 2], [math.inf], "two", None, [], True])
def test_parts_that_do_not_fit_are_shown_with_sizes_that_do(parts):
    with pytest.raises(ValueError, match=r"mean\(parts=") as caught:
        mean([1, 2, 3, 4], parts)
    assert "[90, 10]" in str(caught.value) or "the 4 numbers of data, as [2, 2]" in str(caught.value)


def test_the_sizes_that_are_shown_fit():
    with pytest.raises(ValueError, match=r"the 5 numbers of data, as \[3, 2\]"):
        mean([1, 2, 3, 4, 5], [5, 5])
    assert mean([1, 2, 3, 4, 5], [3, 2]) == 3


def test_no_sizes_are_not_enough_even_for_no_numbers_and_sizes_that_can_be_read_once_are_refused():
    for data, parts in (([], []), ([1, 2, 3, 4], iter([2, 2]))):
        with pytest.raises(ValueError, match=r"mean\(parts="):
            slices(data, parts)
    assert slices([], [0]) == [[]] and slices([], 1) == [[]]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ([], ValueError, "no numbers have no mean"),
        (torch.empty(0, 3), ValueError, "no numbers have no mean"),
        (["a"], TypeError, "real numbers"),
        ([1j], TypeError, "real numbers"),
        ([None], TypeError, "real numbers"),
    ],
)
def test_what_has_no_mean_is_refused(data, error, words):
    with pytest.raises(error, match=words):
        mean(data)


def test_equal_slices_differ_by_one_at_most_and_keep_the_order():
    assert slices(list(range(7)), 3) == [[0, 1, 2], [3, 4], [5, 6]]
    assert [len(part) for part in slices(np.zeros(2), 4)] == [1, 1, 0, 0]


class Struck(Executor):
    """Its futures never end; as the last is told, an interrupt comes that Python forgets, raised in a `__del__`."""

    def submit(self, function, part):
        if part == "last":
            type("Dropped", (), {"__del__": lambda self: signal.raise_signal(signal.SIGINT)})()
        return Future()


class StruckAsLocked(threading.Condition):
    """An interrupt comes when one is taken for the `left`-th time, before what took it could give it back."""

    left = 0

    def __init__(self):
        super().__init__()
        self.acquire = self.__enter__

    def __enter__(self):
        super().__enter__()
        StruckAsLocked.left -= 1
        if StruckAsLocked.left == 0:
            signal.raise_signal(signal.SIGINT)
        return True


class Unending(Executor):
    """Its futures never end, and are `StruckAsLocked`."""

    def __init__(self):
        self.futures = []

    def submit(self, function, part):
        future = Future()
        future._condition = StruckAsLocked()
        self.futures.append(future)
        return future


@pytest.mark.parametrize("at", range(1, 8))
def test_an_interrupt_leaves_no_future_locked(at):
    executor = Unending()
    StruckAsLocked.left = at
    with pytest.raises(KeyboardInterrupt):
        map_reduce(len, lambda a, b: a + b, ["first", "last"], executor, timeout=20)
    with ThreadPoolExecutor(1) as other:  # this thread may take its own locks twice
        for future in executor.futures:
            assert other.submit(future._condition._lock.acquire, blocking=False).result(), "is locked"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_python_forgets_ends_it_all_the_same():
    with pytest.raises(KeyboardInterrupt):
        map_reduce(len, lambda a, b: a + b, ["first", "last"], Struck(), timeout=20)
