"""A tape's rows take some bytes each, and there are never more than a limit of them, evenly picked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.cluster.tape.columns import Columns, is_kept


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 65535), st.integers(-(2**31), 2**31 - 1)), max_size=120))
def test_what_is_kept_is_what_was_added_and_never_more_than_the_limit(limit, rows):
    columns = Columns(limit, lane="H", start="i")
    for number, row in enumerate(rows):
        assert columns.add(*row) in (number, None)
        assert len(columns) <= limit
    rows_kept = [row for number, row in enumerate(rows) if is_kept(number, columns.one_in)]
    assert columns.rows() == rows_kept
    assert columns.added == len(rows)
    assert [rows[number] for number in columns.places()] == rows_kept
    assert columns.one_in == 1 or len(rows) > limit


@pytest.mark.parametrize("workers", [2, 3, 4, 7])
def test_processes_that_take_turns_each_keep_their_part(workers):
    columns = Columns(1000, lane="H")
    for number in range(20_000):
        columns.add(number % workers)
    lanes = [lane for (lane,) in columns.rows()]
    assert len(lanes) > 500
    assert min(lanes.count(worker) for worker in range(workers)) > 0.8 * len(lanes) / workers


def test_a_number_that_a_column_cannot_hold_is_an_error():
    with pytest.raises(OverflowError):
        Columns(10, lane="H").add(-1)
