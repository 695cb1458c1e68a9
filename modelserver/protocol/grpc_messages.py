"""The protocol's requests and answers as gRPC has them: messages of protobuf, held to the rules that JSON is held to.

The messages are made here, of the descriptor beside this file, and in a pool of their own: code that protoc generates
asks for one major version of protobuf's library, and collides with that of another client of the protocol in the same
process, which has messages of the same names.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy

from modelserver.protocol.errors import wrong
from modelserver.protocol.request import InferRequest, checked_request
from modelserver.versions.signature import Signature
from modelserver.versions.version import Version

#: Where a message that isn't raw has the elements of a datatype; FP16 has none, and is raw.
_CONTENTS = {
    "BOOL": "bool_contents",
    "UINT8": "uint_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}


@cache
def service() -> Any:
    """Return protobuf's descriptor of the service: its `full_name`, and its `methods` with what goes in and out."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    written = files(__package__).joinpath("open_inference_grpc.binpb").read_bytes()
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(written).file:
        pool.Add(file)
    return pool.FindServiceByName("inference.GRPCInferenceService")


@cache
def message_class(method: str, answer: bool = False) -> Any:
    """Return the class of the message that a `method` of the service takes; with `answer`, of the one that it gives."""
    from google.protobuf import message_factory

    described = service().methods_by_name[method]
    return message_factory.GetMessageClass(described.output_type if answer else described.input_type)


def read_message(method: str, data: bytes) -> Any:
    """Return the message in `data`; raises Refused, 400, where there is none."""
    from google.protobuf.message import DecodeError

    try:
        return message_class(method).FromString(data)
    except DecodeError as error:
        raise wrong(f"this is no {message_class(method).DESCRIPTOR.name}: {error}.") from None


def read_infer(message: Any, signatures: Mapping[str, Signature], largest: int) -> InferRequest:
    """Return the request in a `ModelInferRequest`; as `read_request` does, which reads JSON."""
    raw = message.raw_input_contents
    if raw and len(raw) != len(message.inputs):
        raise wrong(f"raw_input_contents: {len(raw)} of them for {len(message.inputs)} inputs; give one for each.")
    inputs = []
    for at, tensor in enumerate(message.inputs):
        content = {"name": tensor.name, "datatype": tensor.datatype, "shape": list(tensor.shape)}
        content["parameters"] = _parameters(tensor)
        if not raw:
            content["data"] = list(getattr(tensor.contents, _CONTENTS.get(tensor.datatype, "bytes_contents")))
        elif tensor.HasField("contents"):
            raise wrong(f"input {tensor.name:.60}: give its contents or raw_input_contents, not both.")
        else:
            content["parameters"]["binary_data_size"] = len(raw[at])
        inputs.append(content)
    outputs = [{"name": one.name, "parameters": _parameters(one)} for one in message.outputs]
    about = {"id": message.id, "parameters": _parameters(message), "inputs": inputs, "outputs": outputs}
    return checked_request(about, memoryview(raw[0] if len(raw) == 1 else b"".join(raw)), signatures, largest)


def infer_answer(version: Version, request: InferRequest, arrays: list[numpy.ndarray]) -> Any:
    """Return the `ModelInferResponse` of `arrays`, the outputs in the signature's order; their contents are raw."""
    answer = message_class("ModelInfer", answer=True)(
        model_name=version.model, model_version=str(version.number), id=request.id
    )
    specs = version.signatures[request.signature].outputs
    for at, _ in request.outputs:
        answer.outputs.add(name=specs[at].name, datatype=specs[at].datatype, shape=arrays[at].shape)
        answer.raw_output_contents.append(arrays[at].tobytes())
    return answer


def _parameters(message):
    parameters = {}
    for name, value in message.parameters.items():
        if not name.startswith("binary_data"):  # those are HTTP's: raw_input_contents are binary as they are
            choice = value.WhichOneof("parameter_choice")
            parameters[name] = getattr(value, choice) if choice else None
    return parameters
