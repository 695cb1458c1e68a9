"""Evidence: what crosses the pipe comes back as it was, and nothing that was not asked for is read."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from grader.inside.values import NotThat, encode, pack, unpack
from grader.marking.result_types import (
    DTYPES,
    Array,
    Flag,
    Integer,
    Json,
    List_,
    Malformed,
    Nothing,
    Number,
    Optional_,
    Text,
    Tuple_,
    fits,
)

INTEGERS = st.integers(-(2**127), 2**127 - 1)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)
ARRAYS = st.sampled_from(DTYPES).flatmap(lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, min_side=0)))
#: kind -> values that it carries
CARRIED = [
    (Flag(), st.booleans()),
    (Integer(), INTEGERS),
    (Number(), st.floats(allow_nan=False)),
    (Text(), st.text(max_size=50)),
    (Json(), st.lists(st.dictionaries(st.text(), st.integers() | st.booleans() | st.none()))),
    (Optional_(Integer()), st.none() | INTEGERS),
    (Tuple_(Integer(), Text()), st.tuples(INTEGERS, st.text(max_size=20))),
    (List_(Flag()), st.lists(st.booleans(), max_size=20)),
    (Nothing(), st.none()),
]


class Bytes:
    """Reads as a pipe does; remembers the most that was asked for at once."""

    def __init__(self, data):
        self.data, self.offset, self.most = data, 0, 0

    def __call__(self, count):
        self.most = max(self.most, count)
        piece = self.data[self.offset : self.offset + count]
        if len(piece) < count:
            raise EOFError
        self.offset += count
        return piece

    @property
    def is_empty(self):
        return self.offset == len(self.data)


ENDLESS: list = []
ENDLESS.append(ENDLESS)


def there_and_back(kind, value):
    read = Bytes(encode(json.loads(json.dumps(kind.plan())), value))
    back = kind.read(read)
    assert read.is_empty
    return back


@pytest.mark.parametrize(("kind", "values"), CARRIED, ids=lambda one: getattr(one, "describe", str)())
@given(data=st.data())
def test_a_value_of_the_kind_comes_back_as_it_was(kind, values, data):
    value = data.draw(values)
    assert there_and_back(kind, value) == value


@given(ARRAYS, st.booleans())
def test_an_array_comes_back_with_its_dtype_shape_and_bits(array, free):
    shape = tuple(None if free else length for length in array.shape)
    back = there_and_back(Array(str(array.dtype), shape, exact_dtype=True), array)
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


@given(st.one_of(PLAIN, ARRAYS))
def test_a_request_arrives_as_it_was_sent(value):
    back = unpack(pack(value))
    assert type(back) is type(value)
    assert repr(back) == repr(value)


@given(st.binary(max_size=200), st.sampled_from([kind for kind, _ in CARRIED] + [Array("uint8", (None, None))]))
def test_bytes_that_nobody_asked_for_are_refused_and_no_more_is_read_than_the_kind_allows(data, kind):
    read = Bytes(data)
    try:
        kind.read(read)
    except (Malformed, EOFError):
        pass
    assert read.most <= getattr(kind, "limit", 65536)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Flag(), 1),
        (Integer(), True),
        (Integer(), 2.5),
        (Integer(), 2**127),
        (Integer(), "3"),
        (Number(), "3"),
        (Number(), True),
        (Number(), np.zeros(2)),
        (Text(), b"bytes"),
        (Text(limit=3), "four"),
        (Json(), object()),
        (Json(), ENDLESS),
        (Array("uint8", (2, 2)), np.zeros((2, 3), np.uint8)),
        (Array("uint8", (2, 2)), np.zeros((), np.uint8)),  # would broadcast
        (Array("uint8", (0,)), np.zeros((0, 3), np.uint8)),
        (Array("uint8", (2,)), np.array([0, 256])),
        (Array("uint8", (2,)), np.array([0.5, 1])),
        (Array("uint8", (2,)), np.array([np.nan, 1])),
        (Array("uint8", (2,)), np.array(["a", "b"])),
        (Array("float64", (2,)), np.array([1j, 2])),
        (Array("float64", (2,)), np.array([None, 1.0])),
        (Array("uint8", (2,), exact_dtype=True), np.zeros(2, np.int64)),
        (Array("uint8", (None,), limit=10), np.zeros(11, np.uint8)),
        (Array("uint8", ()), 3),
        (Tuple_(Integer(), Integer()), (1,)),
        (Tuple_(Integer(), Integer()), 7),
        (List_(Integer(), limit=2), [1, 2, 3]),
        (List_(Text()), "text"),
        (Nothing(), 0),
        (Optional_(Integer()), ...),
        (Json([int]), [1, "x"]),
        (Tuple_(Json({"a": int}), Integer()), ({"b": 1}, 2)),
        (Json({str: (float, None)}), {"a": [1]}),
    ],
)
def test_what_is_of_another_kind_is_said_to_be(kind, value):
    with pytest.raises(NotThat):
        encode(kind.plan(), value)


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        (Integer(), np.int64(5), 5),
        (Integer(), 5.0, 5),
        (Integer(), np.array([5]), 5),
        (Number(), 5, 5.0),
        (Number(), np.float32(0.5), 0.5),
        (Flag(), np.bool_(True), True),
        (Json([int]), (1, 2), [1, 2]),
        (Json({"a": float}), {"a": np.float64(2)}, {"a": 2.0}),
    ],
)
def test_a_value_in_another_dress_is_taken_for_what_it_is(kind, value, wanted):
    assert there_and_back(kind, value) == wanted


def test_a_board_of_another_dtype_is_a_board_where_every_value_survives():
    for board in (np.eye(3), np.eye(3, dtype=bool), np.eye(3, dtype=np.int64), np.eye(3).tolist()):
        assert np.array_equal(there_and_back(Array("uint8", (3, 3)), board), np.eye(3, dtype=np.uint8))


@pytest.mark.parametrize(
    ("value", "schema", "is_so"),
    [
        ([1, 2], [int], True),
        ([1, True], [int], False),
        ([1, 2.0], [float], True),
        ({"a": 1}, {"a": int}, True),
        ({"a": 1, "b": 2}, {"a": int}, False),
        ({"a": 1, "b": 2}, {str: int}, True),
        ([1, "x"], (int, str), True),
        ([1, "x", 2], (int, str), False),
        (None, None, True),
        ("x", None, False),
    ],
)
def test_a_schema_is_an_example_made_of_types(value, schema, is_so):
    assert fits(value, schema) is is_so


def test_text_nested_a_million_deep_or_with_a_number_of_a_million_digits_is_malformed():
    for text in (b"[" * 60_000, b"1" * 60_000):
        with pytest.raises(Malformed):
            Json().read(Bytes(struct.pack("<I", len(text)) + text))


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        (Flag(), b"\0", False),
        (Flag(), b"\1", True),
        (Flag(), b"\2", None),
        (Optional_(Flag()), b"\2\1", None),
        (Text(limit=3), b"\3\0\0\0abc", "abc"),
        (Text(limit=3), b"\4\0\0\0abcd", None),
        (Text(), b"\0\0\1\0" + b"x" * 65536, "x" * 65536),
        (Text(), b"\1\0\1\0" + b"x" * 65537, None),
        (Json(), b"\0\0\1\0" + b"1" + b" " * 65535, 1),
        (Json(), b"\1\0\1\0" + b"1" + b" " * 65536, None),
        (List_(Nothing()), struct.pack("<I", 1000), [None] * 1000),
        (List_(Nothing()), struct.pack("<I", 1001), None),
        (Text(), b"\1\0\0\0\xff", None),
    ],
)
def test_what_is_read_keeps_to_its_kind_to_the_byte(kind, data, value):
    if value is not None:
        assert kind.read(Bytes(data)) == value
        return
    with pytest.raises(Malformed):
        kind.read(Bytes(data))


def test_an_array_is_read_up_to_its_limit_holds_what_its_dtype_can_and_may_be_written_to():
    small = Array("uint8", (None,), limit=3)
    back = small.read(Bytes(struct.pack("<Q", 3) + b"abc"))
    back[0] = 7
    assert back.tolist() == [7, 98, 99]
    with pytest.raises(Malformed, match="an array of 4 bytes; the limit is 3"):
        small.read(Bytes(struct.pack("<Q", 4) + b"abcd"))
    assert Array("bool", (2,)).read(Bytes(b"\1\0")).tolist() == [True, False]
    with pytest.raises(Malformed, match="neither 0 nor 1"):
        Array("bool", (2,)).read(Bytes(b"\1\2"))


def test_an_array_may_be_as_large_as_the_limit_says_whatever_its_free_axes():
    assert Array("uint8", (64 << 20,)).shape == (64 << 20,)
    assert Array("uint8", (None, 10**12)).shape == (None, 10**12), "the free axis may be 0"
    for shape in (((64 << 20) + 1,), (1 << 20, 1 << 20)):
        with pytest.raises(ValueError, match="raise limit"):
            Array("uint8", shape)
    with pytest.raises(ValueError, match="the dtypes are bool"):
        Array("object", (1,))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Array("uint8", (3, None)), "an array of uint8, shape (3, any)"),
        (Array("uint8", (3,)), "an array of uint8, shape (3,)"),
        (Array("uint8", ()), "an array of uint8, shape ()"),
        (Optional_(Tuple_(Integer(), Flag())), "None or (a whole number, True or False)"),
        (List_(Text()), "a list, each a string"),
        (Json({"a": [int], "b": (str, None)}), "{'a': a list, each a whole number, 'b': (a string, None)}"),
        (Json({str: float}), "a dictionary, each value a number"),
        (Json(), "plain data"),
    ],
)
def test_a_kind_is_told_to_students_in_words(kind, words):
    assert kind.describe() == words


def test_a_case_that_cannot_be_sent_names_the_type_and_the_legal_ones():
    with pytest.raises(TypeError, match="a set can't be sent to the sandbox. Arguments are None, bool"):
        pack({1, 2})
    with pytest.raises(TypeError, match="ndarray"):
        pack(np.array([object()]))
