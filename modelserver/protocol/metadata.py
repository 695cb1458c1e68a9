"""What the protocol's metadata says of the server and of a model, and the OpenAPI document of all addresses."""

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from modelserver.versions.version import Version

#: Extensions of the protocol that are supported, by their names in Triton's documents.
EXTENSIONS = ("binary_tensor_data",)


def of_server() -> dict[str, Any]:
    """Return the server's metadata."""
    try:
        release = version("modelserver")
    except PackageNotFoundError:  # a checkout that isn't installed
        release = "0"
    return {"name": "modelserver", "version": release, "extensions": list(EXTENSIONS)}


def of_model(served: Version, versions: list[int]) -> dict[str, Any]:
    """Return a model's metadata: of the version `served`, with the numbers of all `versions` that are loaded."""
    about: dict[str, Any] = {"version": str(served.number), "torch": served.torch, "labels": list(served.labels)}
    about["signatures"] = {name: signature.as_json() for name, signature in served.signatures.items()}
    return {
        "name": served.model,
        "versions": list(map(str, versions)),
        "platform": "pytorch_torch_export",
        **served.signature.as_json(),
        "parameters": {**about, "record": served.record},
    }


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document that `/openapi.json` answers; not to be changed."""
    return json.loads(files(__package__).joinpath("openapi.json").read_text(encoding="utf-8"))
