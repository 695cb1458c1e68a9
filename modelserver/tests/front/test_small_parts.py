"""Histogram, access, body, messages: each held to the plain way to do the same."""

import asyncio
import gzip
import math
import zlib

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelserver.compute.pipe import Kind, Message, Parser, packed
from modelserver.front.access import Access
from modelserver.front.body import Bodies, CallerGone
from modelserver.front.histogram import SECONDS, Histogram
from modelserver.protocol.errors import Refused


@given(st.lists(st.floats(1e-4, 29), min_size=1), st.floats(1, 100))
def test_a_percentile_is_in_the_bucket_of_the_exact_one(values, percent):
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    exact = numpy.percentile(values, percent, method="inverted_cdf")
    bucket = numpy.searchsorted(SECONDS, exact)
    low, high = (0, *SECONDS)[bucket], SECONDS[bucket]
    assert low * 0.999 <= histogram.percentile(percent) <= high * 1.001


def test_a_histogram_counts_all_up_to_each_bound_as_prometheus_wants():
    histogram = Histogram((1, 2))
    for value in (0.5, 1, 1.5, 3):
        histogram.observe(value)
    assert histogram.lines("h", 'm="x"') == [
        'h_bucket{m="x",le="1"} 2',
        'h_bucket{m="x",le="2"} 3',
        'h_bucket{m="x",le="+Inf"} 4',
        'h_sum{m="x"} 6.000000',
        'h_count{m="x"} 4',
    ]
    assert math.isnan(Histogram().percentile(50))


def test_a_percentile_is_interpolated_in_its_bucket_and_of_what_is_larger_than_all_bounds_it_is_the_last():
    histogram = Histogram((1, 2, 4, 8))
    for value in (0.5, 1.5, 1.5, 6, 9):
        histogram.observe(value)
    # the first bucket ends at a fifth of all, the second at three fifths; the third is empty
    assert [histogram.percentile(percent) for percent in (10, 20, 30, 60, 70, 80, 100)] == [0.5, 1, 1.25, 2, 6, 8, 8]


@pytest.mark.parametrize("authorization", [b"", b"Bearer", b"Bearer wrong", b"Basic word", b"Bearer word2", b"word"])
def test_a_wrong_token_is_refused_everywhere_but_at_the_health(authorization):
    access = Access("word")
    access.check("/v2", {b"authorization": b"Bearer word"})
    access.check("/v2", {b"authorization": b"bearer  word"})
    access.check("/v2/health/ready", {})
    with pytest.raises(Refused) as refused:
        access.check("/v2", {b"authorization": authorization})
    assert refused.value.status == 401


def test_without_a_token_another_machines_name_is_refused():
    access = Access(None)
    for host in (b"localhost", b"localhost:8500", b"127.0.0.1:1", b"[::1]:8500", b"[::1]", b"LOCALHOST:80"):
        access.check("/v2", {b"host": host})
    for host in (b"evil.example:8500", b"evil.example", b"[::2]:8500", b"localhost.evil.example", b"", b"a:b:c"):
        with pytest.raises(Refused, match="not this machine"):
            access.check("/v2", {b"host": host})


def body(pieces, limit=1000, **headers):
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages[-1]["more_body"] = False
    it = iter(messages)

    async def receive():
        return next(it, {"type": "http.disconnect"})

    bodies = Bodies(10**6)
    try:
        return asyncio.run(bodies.read(receive, {k.replace("_", "-").encode(): v for k, v in headers.items()}, limit))
    finally:
        assert bodies.bytes == 0


@given(
    st.lists(st.binary(max_size=20), min_size=1, max_size=5), st.sampled_from([None, b"gzip", b"deflate", b"identity"])
)
def test_a_body_comes_through_in_any_pieces_and_packed_or_not(pieces, packing):
    whole = b"".join(pieces)
    sent = {b"gzip": gzip.compress, b"deflate": zlib.compress}.get(packing, bytes)(whole)
    cut = [sent[:3], sent[3:]]
    assert body(cut, **({"content_encoding": packing} if packing else {})) == whole


# Named, since a packed body holds the second in which it was packed, and each process must collect the same tests.
@pytest.mark.parametrize(
    "sent, headers, status",
    [
        pytest.param(bytes(1001), {}, 413, id="a byte too long"),
        pytest.param(b"", {"content_length": b"1001"}, 413, id="said to be a byte too long"),
        pytest.param(b"", {"content_length": b"9" * 30}, 413, id="said to be endless"),
        pytest.param(gzip.compress(bytes(10**7)), {"content_encoding": b"gzip"}, 413, id="too long when unpacked"),
        pytest.param(gzip.compress(bytes(9))[:-3], {"content_encoding": b"gzip"}, 400, id="cut off"),
        pytest.param(gzip.compress(bytes(9)) * 2, {"content_encoding": b"gzip"}, 400, id="two bodies in one"),
        pytest.param(b"no gzip", {"content_encoding": b"gzip"}, 400, id="not packed"),
        pytest.param(zlib.compress(bytes(9)), {"content_encoding": b"gzip"}, 400, id="packed another way"),
        pytest.param(b"", {"content_encoding": b"br"}, 415, id="a packing that is not read"),
    ],
)
def test_a_body_that_is_too_large_or_badly_packed_is_refused(sent, headers, status):
    with pytest.raises(Refused) as refused:
        body([sent[:500], sent[500:]], **headers)
    assert refused.value.status == status


def test_a_body_of_ten_megabytes_packed_in_ten_kilobytes_is_not_unpacked():
    with pytest.raises(Refused):
        body([gzip.compress(bytes(10**7))], limit=10**5, content_encoding=b"gzip")


def test_a_caller_who_leaves_is_told_apart():
    async def receive():
        return {"type": "http.disconnect"}

    with pytest.raises(CallerGone):
        asyncio.run(Bodies(10).read(receive, {}, 10))


def test_bodies_that_are_not_whole_hold_no_more_than_their_limit_together():
    async def main():
        bodies = Bodies(10)

        def of(piece):
            pieces = iter([{"type": "http.request", "body": piece, "more_body": True}])

            async def receive():
                return next(pieces, None) or await asyncio.Event().wait()

            return bodies.read(receive, {}, 100)

        slow = asyncio.create_task(of(b"12345678"))
        while not bodies.bytes:
            await asyncio.sleep(0)
        with pytest.raises(Refused, match="10 bytes in all") as refused:
            await of(b"123")
        assert refused.value.status == 429 and bodies.bytes == 8
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        assert bodies.bytes == 0

    asyncio.run(main())


@given(
    st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 2**32 - 1), st.binary(max_size=40)), max_size=5), st.data()
)
def test_messages_come_through_in_whatever_pieces(messages, data):
    sent = [Message(kind, job, 7, 3, value) for kind, job, value in messages]
    stream, parsed = b"".join(map(packed, sent)), []
    parser = Parser(lambda message: parsed.append((message.kind, message.job, message.rows, bytes(message.data))))
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        parser.feed(stream[:size])
        stream = stream[size:]
    assert parsed == [(message_sent.kind, message_sent.job, 3, message_sent.data) for message_sent in sent]
