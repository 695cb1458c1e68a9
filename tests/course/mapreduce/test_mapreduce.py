"""Map and reduce give one answer, whoever computes it and in whatever order it arrives; the mean weighs its slices."""

import math
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from functools import reduce
from multiprocessing import get_context

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


def test_no_parts_is_an_error_that_says_what_to_give():
    with pytest.raises(ValueError, match="nothing to reduce. Give one part"):
        map_reduce(double, add, iter(()))


def test_a_mapper_that_is_no_function_is_named():
    with pytest.raises(TypeError, match="mapper=3"):
        map_reduce(3, add, [1])
    with pytest.raises(TypeError, match="reducer=None"):
        map_reduce(double, None, [1])


def test_a_cluster_in_place_of_its_executor_is_explained():
    with pytest.raises(TypeError, match="executor='cluster'.*cluster.executor"):
        map_reduce(double, add, [1], "cluster")


def test_a_failing_mapper_names_the_part_on_any_executor(executor):
    with pytest.raises(PartError, match=r"float failed on part 2 of 4 \('three'\): ValueError") as caught:
        map_reduce(float, add, ["1", "2", "three", "4"], executor)
    assert caught.value.part == 2
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("associative", [False, True])
def test_a_failing_reducer_names_the_parts_it_was_joining(associative):
    with pytest.raises(PartError, match="reducer add failed joining part 0 to 1 with part 2 to 2: TypeError"):
        map_reduce(lambda x: x, add, [1, 2, "three"], associative=associative)


@pytest.mark.parametrize(
    ("parts", "where"), [([3, 3, 1, 2], "0 to 1 with part 2 to 3"), ([1] * 8, "0 to 3 with part 4 to 7")]
)
def test_a_reducer_that_fails_on_two_pieces_names_every_part_of_both(parts, where):
    def little(left, right):
        assert left + right < 8, "too much"
        return left + right

    with pytest.raises(PartError, match=f"joining part {where}: AssertionError: too much") as caught:
        map_reduce(int, little, parts, associative=True)
    assert caught.value.part == len(parts) // 2


def test_a_closed_executor_is_an_error_that_says_so():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="took 0 of 2 parts.*open a new one"):
        map_reduce(double, add, [1, 2], pool)


def test_a_part_that_never_ends_meets_the_deadline_and_the_rest_are_cancelled():
    class Frozen:
        made = []

        def submit(self, fn, *args):
            self.made.append(Future())
            return self.made[-1]

    with pytest.raises(TimeoutError, match="still waiting for 2 of 2, the first is part 0"):
        map_reduce(double, add, [1, 2], Frozen(), timeout=0.05)
    assert all(future.cancelled() for future in Frozen.made)


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
    class Counting:
        sent = []

        def submit(self, function, part):
            self.sent.append(list(part))
            future = Future()
            future.set_result(function(part))
            return future

    assert mean([1, 2, 3], executor=Counting()) == 2 and Counting.sent == [[1, 2, 3]]


def test_the_sums_of_slices_are_joined_by_a_tree():
    # from left to right each 1 is lost at 1e16, where floats lie 2 apart
    assert mean([1e16, 1, 1, 1], parts=4) == (1e16 + 2) / 4 != ((1e16 + 1) + 1 + 1) / 4


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


def test_a_tensor_that_needs_a_gradient_and_a_strided_one_have_a_mean():
    assert mean(torch.arange(6.0, requires_grad=True), 2) == 2.5
    assert mean(torch.arange(12).reshape(3, 4).T[::2], 2) == mean(np.arange(12).reshape(3, 4)[:, ::2])


def test_nan_and_infinity_are_handed_on():
    assert math.isnan(mean([1.0, math.nan, 2.0], 2))
    assert mean([1.0, math.inf], 2) == math.inf
    with np.errstate(invalid="ignore"):
        assert math.isnan(mean([math.inf, -math.inf], 2))


def test_an_empty_slice_counts_for_nothing():
    assert mean([5, 7], parts=[0, 2, 0]) == 6
    assert mean([5, 7], parts=5) == 6


def test_the_mean_of_no_numbers_is_an_error():
    with pytest.raises(ValueError, match="no numbers have no mean"):
        mean([])
    with pytest.raises(ValueError, match="no numbers have no mean"):
        mean(torch.empty(0, 3))


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


@pytest.mark.parametrize("data", [["a"], [1j], [None]])
def test_what_is_not_a_real_number_is_refused(data):
    with pytest.raises(TypeError, match="real numbers"):
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
        self.made = []

    def submit(self, function, part):
        future = Future()
        future._condition = StruckAsLocked()
        self.made.append(future)
        return future


@pytest.mark.parametrize("at", range(1, 8))
def test_an_interrupt_leaves_no_future_locked(at):
    executor = Unending()
    StruckAsLocked.left = at
    with pytest.raises(KeyboardInterrupt):
        map_reduce(len, lambda a, b: a + b, ["first", "last"], executor, timeout=20)
    with ThreadPoolExecutor(1) as other:  # this thread may take its own locks twice
        for future in executor.made:
            assert other.submit(future._condition._lock.acquire, blocking=False).result(), "is locked"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_python_forgets_ends_it_all_the_same():
    with pytest.raises(KeyboardInterrupt):
        map_reduce(len, lambda a, b: a + b, ["first", "last"], Struck(), timeout=20)
