"""Requests that the OpenAPI document allows and ones that nothing allows: the server answers each, none with a 500."""

import json
from contextlib import suppress
from unittest import SkipTest

import httpx
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from modelserver.protocol.metadata import openapi

_SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
_CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


def schema_requests(url, count):
    """Send about `count` requests that Schemathesis makes of the document, spread over all addresses; return how many.

    Half of them are what the document allows, half are not.
    """
    schema = schemathesis.openapi.from_dict(openapi())
    schema.config.update(base_url=url)
    checks = [getattr(schemathesis.checks, name) for name in _CHECKS]
    operations = [result.ok() for result in schema.get_all_operations()]
    sent = 0
    for operation in operations:
        for mode in schemathesis.GenerationMode:

            @settings(max_examples=max(1, count // len(operations) // 2), derandomize=True, **_SETTINGS)
            @given(case=operation.as_strategy(generation_mode=mode))
            def send(case):
                nonlocal sent
                sent += 1
                case.call_and_validate(checks=checks)

            with suppress(Unsatisfiable, SkipTest):  # an address without parameters has no wrong ones
                send()
    return sent


@st.composite
def binary_requests(draw, name="image", row=784):
    """Draw (body, headers) of requests near to right ones: sizes, shapes, heads and bytes that are off by some."""
    rows = draw(st.sampled_from([1, 1, 2, 3, 0, -1]))
    off = st.sampled_from([0] * 20 + [-1, 1, -4, 4, 10**9, -(10**9)])
    size = 4 * row * max(rows, 0)
    data = draw(st.binary(min_size=4, max_size=8)) * (size // 4 or 1)
    data = data[: max(0, min(size + draw(off), 4 * size + 8))]
    tensor = {"name": draw(st.sampled_from([name] * 9 + ["", "x"])), "shape": [rows, row], "datatype": "FP32"}
    tensor["parameters"] = {"binary_data_size": size + draw(off)}
    message = {
        "inputs": [tensor] * draw(st.sampled_from([1] * 9 + [2])),
        "parameters": {"binary_data_output": draw(st.booleans())},
    }
    head = json.dumps(message).encode()
    cut = draw(st.sampled_from([len(head)] * 16 + [0, 1, len(head) + 1, 10**10]))
    headers = {"Inference-Header-Content-Length": draw(st.sampled_from([str(cut)] * 16 + ["-1", "", "x", "1e3"]))}
    return head + data, headers


def binary_part(url, model, count):
    """Send `count` requests with binary parts that are right or nearly so; return the statuses that came."""
    statuses = {}
    with httpx.Client(base_url=url, timeout=60) as client:

        @settings(max_examples=count, derandomize=True, **_SETTINGS)
        @given(binary_requests())
        def send(request):
            body, headers = request
            response = client.post(f"/v2/models/{model}/infer", content=body, headers=headers)
            statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
            assert response.status_code in (200, 400, 413, 422), response.text
            assert response.status_code == 200 or set(response.json()) == {"error"}

        send()
    return statuses
