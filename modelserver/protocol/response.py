"""The answer to an inference request: JSON, and the binary parts after it."""

from typing import Any

import numpy
import orjson

from modelserver.protocol.errors import Refused
from modelserver.protocol.request import InferRequest
from modelserver.versions.version import Version


def response(version: Version, request: InferRequest, arrays: list[numpy.ndarray]) -> tuple[list[Any], int | None]:
    """Return the body's parts, buffers to send one after the other, and the size of its JSON (None: all is JSON).

    `arrays`: the outputs in the signature's order, `(rows, *shape)` each. The JSON names the version that answered.
    Raises Refused, 422, where an output that was asked for as JSON is not finite.
    """
    outputs: list[dict[str, Any]] = []
    binary: list[Any] = []
    specs = version.signatures[request.signature].outputs
    for at, as_binary in request.outputs:
        spec, array = specs[at], arrays[at]
        output: dict[str, Any] = {"name": spec.name, "datatype": spec.datatype, "shape": array.shape}
        if as_binary:
            part = array.data.cast("B") if array.size else b""
            output["parameters"] = {"binary_data_size": len(part)}
            binary.append(part)
        else:
            output["data"] = _json_data(array, spec)
        outputs.append(output)
    about = {"model_name": version.model, "model_version": str(version.number), "outputs": outputs}
    if request.id:
        about["id"] = request.id
    head = orjson.dumps(about, option=orjson.OPT_SERIALIZE_NUMPY)
    return [head, *binary], len(head) if binary else None


def _json_data(array, spec):
    if spec.dtype.kind == "f" and not numpy.isfinite(array).all():
        raise Refused(
            422,
            f"output {spec.name}: the model's answer to these inputs has NaN or infinity in it, and JSON has no such "
            'number. Ask for it as binary, "parameters": {"binary_data_output": true}, or give smaller numbers.',
        )
    flat = array.reshape(-1)
    return flat.astype(numpy.float32) if spec.datatype == "FP16" else flat
