"""The queue: in order, one program a batch, no more rows than a batch has, no more requests than it holds."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelserver.front.queue import Batch, Pending, RequestQueue
from modelserver.protocol.errors import Refused
from modelserver.protocol.request import InferRequest


def pending(loop, program=1, rows=1, at=0):
    return Pending(
        program, InferRequest(str(at), rows, (bytes([at % 256] * rows), b"." * rows), ()), loop.create_future()
    )


@pytest.fixture(scope="module")
def loop():
    event_loop = asyncio.new_event_loop()
    yield event_loop
    event_loop.close()


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 8)), max_size=20))
def test_each_request_is_in_one_batch_in_the_order_of_its_program(requests):
    loop = asyncio.new_event_loop()
    queue = RequestQueue(100, 10_000, 8)
    for at, (program, rows) in enumerate(requests):
        queue.put(pending(loop, program, rows, at))
    taken = {1: [], 2: []}
    while (batch := queue.take({1, 2})) is not None:
        assert 1 <= batch.rows == sum(waiting.request.rows for waiting in batch.pending) <= 8
        data = batch.data()
        assert sum(map(len, data)) == 2 * batch.rows
        assert b"".join(data[: len(batch.pending)]) == b"".join(waiting.request.inputs[0] for waiting in batch.pending)
        taken[batch.program] += [int(waiting.request.id) for waiting in batch.pending]
    assert taken == {p: [at for at, (program, _) in enumerate(requests) if program == p] for p in (1, 2)}
    assert queue.length == queue.bytes == 0
    loop.close()


def test_a_full_queue_refuses_with_the_time_to_come_back(loop):
    queue = RequestQueue(2, 100, 8)
    queue.put(pending(loop)), queue.put(pending(loop))
    with pytest.raises(Refused, match="2 requests") as refused:
        queue.put(pending(loop))
    assert refused.value.status == 429 and refused.value.headers == {"Retry-After": "1"}
    queue = RequestQueue(99, 10, 8)
    queue.put(pending(loop, rows=4))
    with pytest.raises(Refused, match="8 bytes"):
        queue.put(pending(loop, rows=4))


def test_a_worker_gets_only_what_it_has_loaded(loop):
    queue = RequestQueue(9, 99, 8)
    queue.put(pending(loop, program=1)), queue.put(pending(loop, program=2))
    assert queue.take({3}) is None
    assert queue.take({2}).program == 2 and queue.take({2}) is None and queue.take({1}).program == 1


def test_a_batch_that_lost_its_worker_goes_first_and_as_it_was(loop):
    queue = RequestQueue(9, 99, 8)
    batch = Batch(1, [pending(loop), pending(loop)])
    queue.put(pending(loop))
    queue.put_again(batch)
    assert queue.again == 1 and queue.take({1}) is batch and queue.take({1}).rows == 1


def test_whose_caller_is_gone_is_not_computed(loop):
    queue = RequestQueue(9, 99, 8)
    gone, present = pending(loop), pending(loop, rows=2)
    queue.put(gone), queue.put(present)
    gone.answer.cancel()
    assert queue.take({1}).pending == [present]
    queue.put(gone)
    assert queue.take({1}) is None and queue.length == 0


def test_all_can_be_taken_out_at_the_end(loop):
    queue = RequestQueue(9, 99, 8)
    first, second = pending(loop), pending(loop)
    queue.put(first), queue.put_again(Batch(1, [second]))
    assert queue.drain() == [second, first] and queue.length == queue.bytes == queue.again == 0


@pytest.mark.parametrize("rows", [0, 9])
def test_what_no_batch_can_hold_is_refused_and_never_in_the_way(loop, rows):
    queue = RequestQueue(9, 9999, 8)
    with pytest.raises(Refused, match="from 1 to 8") as refused:
        queue.put(pending(loop, rows=rows))
    assert refused.value.status == 400 and queue.length == queue.bytes == 0
    queue.put(pending(loop, rows=8))
    assert queue.take({1}).rows == 8 and queue.take({1}) is None


def test_callers_who_are_gone_take_no_place(loop):
    queue = RequestQueue(2, 99, 8)
    gone, present = pending(loop), pending(loop, program=2, rows=2)
    queue.put(gone), queue.put(present)
    gone.answer.cancel()
    queue.forget_gone()
    assert queue.length == 1 and queue.bytes == 4
    queue.put(pending(loop))
    assert queue.take({2}).pending == [present]


def test_a_lost_batch_whose_callers_are_all_gone_is_not_tried_again(loop):
    queue = RequestQueue(9, 99, 8)
    early, late = Batch(1, [pending(loop)]), Batch(1, [pending(loop)])
    early.pending[0].answer.cancel()
    queue.put_again(early), queue.put_again(late)
    assert queue.again == 1
    late.pending[0].answer.cancel()
    assert queue.take({2}) is None and queue.again == 0
