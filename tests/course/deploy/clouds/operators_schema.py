"""The schema of a DaskCluster that Dask's operator installs, from dask-kubernetes (BSD 3-Clause); and a Secret's."""

import base64
import functools
import importlib.metadata

import jsonschema
import yaml

_CHART = "dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"


@functools.cache
def operators_schema():
    """A validator of a DaskCluster's `spec`: the API's own pods and services are in it, and nothing else goes.

    Cached: to read it takes half a second.
    """
    file = importlib.metadata.distribution("dask-kubernetes").locate_file(_CHART)
    crd = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    found = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return jsonschema.Draft202012Validator(_closed(found["properties"]["spec"]))


def _closed(schema):
    """Return the schema, with unknown fields refused, as `fieldValidation=Strict` has the API do."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def wrong_secret(made):
    """Return what the API would mind about a Secret of the type kubernetes.io/tls, or ""."""
    known = {"apiVersion", "kind", "metadata", "type", "data", "immutable"}
    if strange := set(made) - known:
        return f"strict decoding error: unknown field {min(strange)!r}"
    if (made["apiVersion"], made["kind"], made["type"]) != ("v1", "Secret", "kubernetes.io/tls"):
        return "it is none of that type"
    if lacking := {"tls.crt", "tls.key"} - set(made["data"]):
        return f"data[{min(lacking)}]: Required value"
    try:
        for value in made["data"].values():
            base64.b64decode(value, validate=True)
    except ValueError as error:
        return f"illegal base64 data: {error}"
    owners = made["metadata"].get("ownerReferences", ())
    return "" if all(set(one) == {"apiVersion", "kind", "name", "uid"} for one in owners) else "an owner lacks a part"
