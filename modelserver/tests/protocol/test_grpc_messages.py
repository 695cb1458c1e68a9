"""Messages of protobuf: the same requests as JSON has, the same refusals, and a descriptor that is the .proto's own."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from modelserver.protocol import grpc_messages
from modelserver.protocol.errors import Refused
from modelserver.tests.grpc_calls import infer_message, output
from modelserver.versions.signature import DATATYPES, Signature, TensorSpec, split_rows
from modelserver.versions.version import Version

pytest.importorskip("google.protobuf")
Y = (TensorSpec("y", "FP32", (3,)),)
SIGNATURES = {
    "serving_default": Signature((TensorSpec("x", "FP32", (2,)),), Y),
    "tokens": Signature((TensorSpec("t", "INT64", ()),), Y),
}


def parsed(message):
    return grpc_messages.read_infer(
        grpc_messages.read_message("ModelInfer", message.SerializeToString()), SIGNATURES, 4
    )


def test_a_raw_message_is_read_and_answered_in_the_tensors_own_bytes():
    rows = numpy.array([[1, 2.5], [3, 4]], "f4")
    request = parsed(infer_message("m", "x", rows, id="7"))
    assert (request.id, request.rows, request.signature, request.outputs) == ("7", 2, "serving_default", ((0, False),))
    assert bytes(request.inputs[0]) == rows.tobytes()
    scores = numpy.arange(6, dtype="f4").reshape(2, 3)
    answer = grpc_messages.infer_answer(Version("m", 3, None, SIGNATURES["serving_default"]), request, [scores])
    assert (answer.model_name, answer.model_version, answer.id) == ("m", "3", "7")
    assert numpy.array_equal(output(answer), scores)


@pytest.mark.parametrize("datatype", sorted(set(DATATYPES) - {"FP16"}))
def test_a_message_with_contents_of_any_datatype_is_the_array(datatype):
    array = numpy.array([[0, 1]], DATATYPES[datatype])
    spec = TensorSpec("x", datatype, (2,))
    message = grpc_messages.message_class("ModelInfer")()
    tensor = message.inputs.add(name="x", datatype=datatype, shape=[1, 2])
    getattr(tensor.contents, grpc_messages._CONTENTS[datatype]).extend(array.ravel().tolist())
    request = grpc_messages.read_infer(message, {"serving_default": Signature((spec,), Y)}, 4)
    (received,) = split_rows((spec,), 1, b"".join(request.inputs))
    assert received.dtype == array.dtype and numpy.array_equal(received, array)


def test_a_parameter_chooses_the_signature():
    message = infer_message("m", "t", numpy.array([5, 6]))
    message.parameters["signature_name"].string_param = "tokens"
    assert parsed(message).signature == "tokens"


def test_parameters_that_are_not_known_or_are_https_are_ignored():
    message = infer_message("m", "x", numpy.zeros((2, 2), "f4"))
    message.parameters["priority"].int64_param = 3
    message.parameters["binary_data_output"].bool_param = True
    message.inputs[0].parameters["binary_data_size"].int64_param = 3
    assert parsed(message).rows == 2


def changed(**fields):
    message = infer_message("m", "x", numpy.zeros((2, 2), "f4"))
    for name, value in fields.items():
        setattr(message.inputs[0], name, value)
    return message


def with_parameter(name, **value):
    message = changed()
    for key, content in value.items():
        setattr(message.parameters[name], key, content)
    return message


def with_contents():
    message = changed()
    message.inputs[0].contents.fp32_contents.append(1)
    return message


def with_raw(*parts):
    message = changed()
    del message.raw_input_contents[:]
    message.raw_input_contents.extend(parts)
    return message


@pytest.mark.parametrize(
    "message, reason",
    [
        (changed(name="z"), "'z'; the model takes x"),
        (changed(datatype="FP64"), "the model takes FP32"),
        (with_raw(bytes(15)), "are 16 bytes"),
        (with_raw(bytes(8), bytes(8)), "2 of them for 1 inputs"),
        (with_raw(), "data has 0 elements"),
        (with_raw(numpy.full(4, numpy.nan, "f4").tobytes()), "is nan"),
        (with_contents(), "not both"),
        (with_parameter("signature_name", string_param="u"), "'u'; this version has serving_default, tokens"),
        (with_parameter("signature_name", bool_param=True), "give a text"),
    ],
)
def test_a_wrong_message_is_refused_with_the_argument_and_what_is_legal(message, reason):
    with pytest.raises(Refused, match=reason) as refused:
        parsed(message)
    assert refused.value.status == 400


def test_bytes_that_are_no_message_are_refused():
    with pytest.raises(Refused, match="no ModelInferRequest"):
        grpc_messages.read_message("ModelInfer", b"\xff\xff")


@pytest.mark.long
def test_the_descriptor_is_made_of_the_proto_beside_it(tmp_path):
    if importlib.util.find_spec("grpc_tools") is None:
        pytest.skip("grpcio-tools is in the long extra")
    folder = Path(grpc_messages.__file__).parent
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", folder, "--descriptor_set_out", tmp_path / "again"]
    subprocess.run([*command, "open_inference_grpc.proto"], check=True, timeout=60)
    assert (tmp_path / "again").read_bytes() == (folder / "open_inference_grpc.binpb").read_bytes()
