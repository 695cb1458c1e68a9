"""Calls of the protocol over gRPC, by grpcio and the messages that the server itself reads."""

import numpy

from modelserver.protocol import grpc_messages


def infer_message(model, name, rows, **more):
    """Return a `ModelInferRequest` for the numpy array `rows` as raw contents."""
    message = grpc_messages.message_class("ModelInfer")(model_name=model, **more)
    message.inputs.add(name=name, datatype={"f": "FP32", "i": "INT64"}[rows.dtype.kind], shape=rows.shape)
    message.raw_input_contents.append(rows.tobytes())
    return message


def called(channel, method, message=None, **more):
    """Call a `method` of the service; return the answer. Raises grpc.RpcError."""
    path = f"/{grpc_messages.service().full_name}/{method}"
    serialised = (message or grpc_messages.message_class(method)()).SerializeToString()
    read = grpc_messages.message_class(method, answer=True).FromString
    return channel.unary_unary(path, response_deserializer=read)(serialised, **more)


def output(answer):
    """Return the only output of a `ModelInferResponse`, float32."""
    return numpy.frombuffer(answer.raw_output_contents[0], "f4").reshape(answer.outputs[0].shape)
