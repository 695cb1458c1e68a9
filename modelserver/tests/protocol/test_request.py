"""Requests: what is right comes through bit for bit, in both forms; what is wrong is refused with what is legal."""

import json
import math

import numpy
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelserver.protocol.errors import Refused
from modelserver.protocol.request import read_request
from modelserver.protocol.response import response
from modelserver.versions.signature import DATATYPES, Signature, TensorSpec, split_rows
from modelserver.versions.version import Version

IMAGE = Signature((TensorSpec("x", "FP32", (2,)),), (TensorSpec("y", "FP32", (3,)),))
GOOD = {"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [1, 2.5, 3, 4]}


def parsed(message, binary=b"", signature=IMAGE, largest=4, size=None):
    head = json.dumps(message).encode()
    return read_request(head + binary, len(head) if binary or size else None, {"serving_default": signature}, largest)


def test_json_flat_or_nested_is_the_same_array():
    flat = parsed({"inputs": [GOOD]})
    nested = parsed({"inputs": [{**GOOD, "data": [[1, 2.5], [3, 4]]}]})
    assert flat.rows == 2 and bytes(flat.inputs[0]) == bytes(nested.inputs[0])
    assert numpy.frombuffer(flat.inputs[0], "<f4").tolist() == [1, 2.5, 3, 4]
    assert flat.outputs == ((0, False),) and flat.id == ""


def test_binary_parts_come_in_the_order_of_the_inputs_in_the_request():
    two = Signature((TensorSpec("a", "INT8", ()), TensorSpec("b", "INT64", (1,))), IMAGE.outputs)
    inputs = [
        {"name": "b", "shape": [2, 1], "datatype": "INT64", "parameters": {"binary_data_size": 16}},
        {"name": "a", "shape": [2], "datatype": "INT8", "parameters": {"binary_data_size": 2}},
    ]
    request = parsed({"inputs": inputs, "id": "7"}, numpy.array([5, -6]).tobytes() + b"\x01\xff", two)
    assert [bytes(part) for part in request.inputs] == [b"\x01\xff", numpy.array([5, -6]).tobytes()]
    assert request.id == "7"


@st.composite
def tensors(draw):
    name = draw(st.sampled_from(sorted(DATATYPES)))
    dtype, rows, width = DATATYPES[name], draw(st.integers(1, 3)), draw(st.integers(0, 3))
    if dtype.kind == "b":
        values_of_the_datatype = st.booleans()
    elif dtype.kind == "f":
        values_of_the_datatype = st.floats(width=8 * dtype.itemsize, allow_nan=False, allow_infinity=False)
    else:
        values_of_the_datatype = st.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
    values = draw(st.lists(values_of_the_datatype, min_size=rows * width, max_size=rows * width))
    return name, numpy.array(values, dtype).reshape(rows, width)


@given(tensors(), st.booleans(), st.booleans())
def test_any_array_comes_through_a_request_and_an_answer_as_it_was(tensor, as_binary, answered_binary):
    datatype, array = tensor
    spec = TensorSpec("x", datatype, array.shape[1:])
    signature = Signature((spec,), (spec,))
    tensor_message = {"name": "x", "shape": list(array.shape), "datatype": datatype}
    if as_binary:
        tensor_message["parameters"] = {"binary_data_size": array.nbytes}
    else:
        tensor_message["data"] = array.tolist()
    message = {"inputs": [tensor_message], "parameters": {"binary_data_output": answered_binary}}
    request = parsed(message, array.tobytes() if as_binary else b"", signature, size=as_binary)
    (received,) = split_rows(signature.inputs, request.rows, b"".join(request.inputs))
    assert received.dtype == array.dtype and numpy.array_equal(received, array)
    parts, size = response(Version("m", 3, None, signature), request, [received])
    body = b"".join(parts)
    about = orjson.loads(body[:size] if size else body)
    (output,) = about["outputs"]
    assert about["model_version"] == "3" and output["shape"] == list(array.shape)
    if answered_binary:
        again = numpy.frombuffer(body[size:], array.dtype).reshape(array.shape)
    else:
        again = numpy.array(output["data"], array.dtype).reshape(array.shape)
    assert numpy.array_equal(again, array)


X = {"name": "x", "shape": [1, 2], "datatype": "FP32"}
BINARY = {**X, "parameters": {"binary_data_size": 8}}


@pytest.mark.parametrize(
    "message, binary, reason",
    [
        ([], b"", "no JSON object"),
        ({}, b"", "inputs: give a list of objects, one for each of x"),
        ({"inputs": []}, b"", "x is missing"),
        ({"inputs": ["x"]}, b"", "list of objects"),
        ({"inputs": [{**GOOD, "name": "z"}]}, b"", "'z'; the model takes x"),
        ({"inputs": [{**GOOD, "name": ["x"]}]}, b"", "the model takes x"),
        ({"inputs": [GOOD, GOOD]}, b"", "a second 'x'"),
        ({"inputs": [{**GOOD, "datatype": "FP64"}]}, b"", "the model takes FP32"),
        ({"inputs": [{**GOOD, "shape": [-1, 2]}]}, b"", "rows from 1 to 4"),
        ({"inputs": [{**GOOD, "shape": [0, 2], "data": []}]}, b"", "rows from 1 to 4"),
        ({"inputs": [{**GOOD, "shape": [5, 2]}]}, b"", "rows from 1 to 4"),
        ({"inputs": [{**GOOD, "shape": [2, 3]}]}, b"", "[rows, 2]"),
        ({"inputs": [{**GOOD, "shape": [2.0, 2]}]}, b"", "whole numbers"),
        ({"inputs": [{**GOOD, "shape": [True, 2]}]}, b"", "whole numbers"),
        ({"inputs": [{**GOOD, "shape": "2,2"}]}, b"", "whole numbers"),
        ({"inputs": [{**GOOD, "shape": []}]}, b"", "rows from 1 to 4"),
        ({"inputs": [{**GOOD, "data": [1, 2, 3]}]}, b"", "3 elements"),
        ({"inputs": [{**GOOD, "data": []}]}, b"", "0 elements"),
        ({"inputs": [{**GOOD, "data": [[1, 2], [3]]}]}, b"", "a list of 2 was expected"),
        ({"inputs": [{**GOOD, "data": [[1, 2], 3]}]}, b"", "a list of 2 was expected"),
        ({"inputs": [{**GOOD, "data": [[[1], 2], [3, 4]]}]}, b"", "has a list of 1; FP32 takes numbers"),
        ({"inputs": [{**GOOD, "data": [1, 2, 3, "4"]}]}, b"", "has '4'; FP32 takes numbers"),
        ({"inputs": [{**GOOD, "data": [1, 2, 3, None]}]}, b"", "has None"),
        ({"inputs": [{**GOOD, "data": [1, 2, 3, True]}]}, b"", "has True"),
        ({"inputs": [{**GOOD, "data": [1, 2, 3, 1e39]}]}, b"", "element 3 (row-major) is inf"),
        ({"inputs": [{**GOOD, "data": "1234"}]}, b"", "give a list"),
        ({"inputs": [{**GOOD, "data": {"0": 1}}]}, b"", "give a list"),
        ({"inputs": [X]}, b"", "give either data"),
        ({"inputs": [{**GOOD, "parameters": {"binary_data_size": 16}}]}, bytes(16), "give either data"),
        ({"inputs": [{**GOOD, "extra": 1}]}, b"", "'extra' is not known"),
        ({"inputs": [BINARY]}, bytes(7), "7 bytes are left"),
        ({"inputs": [BINARY]}, bytes(9), "the body has 9 bytes of binary data; binary_data_size says 8"),
        ({"inputs": [{**X, "parameters": {"binary_data_size": 9}}]}, bytes(9), "are 8 bytes"),
        ({"inputs": [{**X, "parameters": {"binary_data_size": -8}}]}, bytes(8), "0 or more"),
        ({"inputs": [{**X, "parameters": {"binary_data_size": True}}]}, bytes(8), "0 or more"),
        ({"inputs": [{**X, "parameters": {"binary_data_size": 8.0}}]}, bytes(8), "0 or more"),
        (
            {"inputs": [{**X, "parameters": {"shared_memory_region": "r"}}]},
            b"",
            "'shared_memory_region' is not supported",
        ),
        ({"inputs": [BINARY]}, numpy.array([1, math.nan], "<f4").tobytes(), "element 1 (row-major) is nan"),
        ({"inputs": [BINARY]}, numpy.array([math.inf, 1], "<f4").tobytes(), "element 0 (row-major) is inf"),
        ({"inputs": [GOOD], "id": 3}, b"", "id: give a text"),
        ({"inputs": [GOOD], "model": 3}, b"", "'model' is not known"),
        ({"inputs": [GOOD], "parameters": {"binary_data_output": 1}}, b"", "true or false"),
        ({"inputs": [GOOD], "parameters": [1]}, b"", "parameters is an object"),
        ({"inputs": [GOOD], "outputs": [{"name": "x"}]}, b"", "'x'; it gives y"),
        ({"inputs": [GOOD], "outputs": [{"name": "y"}, {"name": "y"}]}, b"", "a second 'y'"),
        ({"inputs": [GOOD], "outputs": {"name": "y"}}, b"", "list of objects"),
        (
            {"inputs": [GOOD], "outputs": [{"name": "y", "parameters": {"classification": 2}}]},
            b"",
            "'classification' is not supported",
        ),
    ],
)
def test_a_wrong_request_is_refused_with_the_argument_and_what_is_legal(message, binary, reason):
    with pytest.raises(Refused) as refused:
        parsed(message, binary)
    assert refused.value.status == 400 and reason in refused.value.text


def test_a_parameter_chooses_the_signature_and_without_it_the_default_answers():
    other = Signature((TensorSpec("z", "INT8", ()),), IMAGE.outputs)
    signatures = {"serving_default": IMAGE, "by_z": other}
    z = {"name": "z", "shape": [1], "datatype": "INT8", "data": [5]}
    for parameters, tensor, name in (
        ({}, GOOD, "serving_default"),
        ({"signature_name": "serving_default"}, GOOD, "serving_default"),
        ({"signature_name": "by_z"}, z, "by_z"),
    ):
        body = json.dumps({"inputs": [tensor], "parameters": parameters}).encode()
        assert read_request(body, None, signatures, 4).signature == name
    for parameters, tensor, reason in (
        ({"signature_name": "by_y"}, GOOD, "'by_y'; this version has serving_default, by_z"),
        ({"signature_name": "by_z"}, GOOD, "'x'; the model takes z"),
        ({"signature_name": 3}, GOOD, "give a text"),
    ):
        with pytest.raises(Refused, match=reason):
            read_request(json.dumps({"inputs": [tensor], "parameters": parameters}).encode(), None, signatures, 4)


def test_parameters_that_are_not_known_are_ignored_as_triton_does():
    mine = {"priority": 1, "timeout": 10, "sequence_id": 5, "mine": {"any": [None]}}
    message = {"inputs": [{**GOOD, "parameters": mine}], "parameters": mine}
    plain = parsed({"inputs": [GOOD]})
    request = parsed({**message, "outputs": [{"name": "y", "parameters": mine}]})
    assert bytes(request.inputs[0]) == bytes(plain.inputs[0]) and request.outputs == plain.outputs


@pytest.mark.parametrize("body", [b"", b"{", b'{"inputs": [NaN]}', b"\xff", b"[" * 5000, b'{"a":1}' + bytes(8)])
def test_what_is_no_json_is_told_so(body):
    with pytest.raises(Refused, match="no JSON"):
        read_request(body, None, {"serving_default": IMAGE}, 4)


def test_a_head_that_is_longer_than_the_body_is_told_so():
    with pytest.raises(Refused, match="Inference-Header-Content-Length: 9"):
        read_request(b"{}", 9, {"serving_default": IMAGE}, 4)


@pytest.mark.parametrize(
    "datatype, value", [("INT8", 128), ("UINT8", -1), ("INT64", 2**63), ("INT32", 1.0), ("BOOL", 1)]
)
def test_a_number_that_its_datatype_does_not_hold_is_refused_and_not_converted(datatype, value):
    signature = Signature((TensorSpec("x", datatype, ()),), IMAGE.outputs)
    with pytest.raises(Refused):
        parsed({"inputs": [{"name": "x", "shape": [1], "datatype": datatype, "data": [value]}]}, signature=signature)


def test_inputs_have_as_many_rows_as_each_other():
    two = Signature((TensorSpec("a", "INT8", ()), TensorSpec("b", "INT8", ())), IMAGE.outputs)
    inputs = [{"name": n, "shape": [r], "datatype": "INT8", "data": [0] * r} for n, r in (("a", 1), ("b", 2))]
    with pytest.raises(Refused, match="2 rows, and another input has 1"):
        parsed({"inputs": inputs}, signature=two)


def test_a_byte_of_a_binary_bool_is_zero_or_one():
    signature = Signature((TensorSpec("x", "BOOL", ()),), IMAGE.outputs)
    tensor = {"name": "x", "shape": [1], "datatype": "BOOL", "parameters": {"binary_data_size": 1}}
    with pytest.raises(Refused, match="0 or 1"):
        parsed({"inputs": [tensor]}, b"\x02", signature)


def test_an_answer_that_json_has_no_number_for_says_to_ask_for_binary():
    version, array = Version("m", 1, None, IMAGE), numpy.array([[1, math.nan, 2]], "f4")
    with pytest.raises(Refused, match="binary_data_output") as refused:
        response(version, parsed({"inputs": [GOOD]}), [array])
    assert refused.value.status == 422
    binary = parsed({"inputs": [GOOD], "parameters": {"binary_data_output": True}})
    parts, _ = response(version, binary, [array])
    assert bytes(parts[1]) == array.tobytes()


OBJECTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.sampled_from("xy"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "shape", "datatype", "data", "parameters", "binary_data_size"]), inner
        )
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries({}, optional={k: OBJECTS for k in ("id", "inputs", "outputs", "parameters")}),
    OBJECTS,
    st.binary(max_size=9),
)
def test_nothing_but_a_refusal_comes_of_any_other_request(head, tensor, binary):
    for request in (
        head,
        {**head, "inputs": [tensor]},
        {"inputs": [{**X, **(tensor if isinstance(tensor, dict) else {})}]},
    ):
        try:
            parsed(request, binary)
        except Refused as refusal:
            assert refusal.status == 400 and len(refusal.text) > 10
