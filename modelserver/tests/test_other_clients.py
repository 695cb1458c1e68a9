"""Clients and requests that were not written here: Triton's client, and requests made of the OpenAPI document."""

import numpy
import pytest
import torch
import tritonclient.grpc as grpcclient
import tritonclient.http as tritonclient

from modelserver import export
from modelserver.tests.served import Digits, export_digits, serving
from modelserver.tests.slow.fuzz import binary_part, schema_requests
from modelserver.tests.test_served import Table, images, own_answer

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    directory = tmp_path_factory.mktemp("asked") / "models"
    export_digits(directory, seed=1)
    export(Table(), torch.tensor([0, 9]), directory, name="table")
    with serving(directory, "--workers", 2, "--largest", 32, "--grpc-port", 0) as server:
        yield server


@pytest.mark.parametrize("packed", [None, "gzip", "deflate"])
@pytest.mark.parametrize("binary", [True, False])
def test_tritons_client_gets_the_answer_in_every_form(served, binary, packed):
    rows = images(2, seed=1)
    with tritonclient.InferenceServerClient(served.url.removeprefix("http://")) as triton:
        assert triton.is_server_live() and triton.is_server_ready() and triton.is_model_ready("digits", "1")
        assert triton.get_server_metadata()["extensions"] == ["binary_tensor_data"]
        about = triton.get_model_metadata("digits")
        assert about["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 784]}]
        tensor = tritonclient.InferInput("image", [2, 784], "FP32")
        tensor.set_data_from_numpy(rows.numpy(), binary_data=binary)
        wanted = [tritonclient.InferRequestedOutput("scores", binary_data=binary)]
        for outputs in (None, wanted):
            answer = triton.infer("digits", [tensor], "1", outputs, request_compression_algorithm=packed)
            numpy.testing.assert_allclose(answer.as_numpy("scores"), own_answer(1, rows), atol=1e-5)


@pytest.mark.parametrize("packed", [None, "gzip", "deflate"])
@pytest.mark.parametrize("signature, width", [(None, 784), ("serving_default", 784), ("features", 100)])
def test_tritons_client_gets_the_answer_of_either_signature_over_grpc(served, signature, width, packed):
    rows = torch.rand(2, width, generator=torch.Generator().manual_seed(1))
    name = "features" if signature == "features" else "image"
    with grpcclient.InferenceServerClient(served.grpc) as triton:
        assert triton.is_server_live() and triton.is_server_ready() and triton.is_model_ready("digits", "1")
        assert [one.name for one in triton.get_model_metadata("digits").inputs] == ["image"]
        tensor = grpcclient.InferInput(name, [2, width], "FP32").set_data_from_numpy(rows.numpy())
        chosen = None if signature is None else {"signature_name": signature}
        answer = triton.infer("digits", [tensor], "1", parameters=chosen, compression_algorithm=packed)
    with torch.no_grad():
        wanted = Digits(1).classify(rows) if name == "features" else Digits(1)(rows)
    numpy.testing.assert_allclose(answer.as_numpy("scores"), wanted.numpy(), atol=1e-5)


#: What changes nothing where a model has no sequences, and no priorities.
IGNORED = [{"priority": 2}, {"timeout": 10}, {"sequence_id": 5}, {"parameters": {"mine": 1}}]


def test_what_tritons_client_asks_over_grpc_and_is_not_known_is_ignored_or_refused(served):
    with grpcclient.InferenceServerClient(served.grpc) as triton:
        tensor = grpcclient.InferInput("image", [2, 784], "FP32").set_data_from_numpy(images(2).numpy())
        for more in IGNORED:
            assert triton.infer("digits", [tensor], **more).as_numpy("scores").shape == (2, 10)
        top = grpcclient.InferRequestedOutput("scores", class_count=3)
        with pytest.raises(tritonclient.InferenceServerException, match="classification") as refused:
            triton.infer("digits", [tensor], outputs=[top])
        assert refused.value.status() == "StatusCode.INVALID_ARGUMENT"
        with pytest.raises(tritonclient.InferenceServerException, match="UNIMPLEMENTED"):
            triton.load_model("digits")


def test_what_tritons_client_can_ask_and_is_not_supported_is_refused_if_the_answer_would_be_another(served):
    with tritonclient.InferenceServerClient(served.url.removeprefix("http://")) as triton:
        tensor = tritonclient.InferInput("image", [2, 784], "FP32").set_data_from_numpy(images(2).numpy())
        for more in IGNORED:
            assert triton.infer("digits", [tensor], **more).as_numpy("scores").shape == (2, 10)
        top = tritonclient.InferRequestedOutput("scores", class_count=3)
        with pytest.raises(tritonclient.InferenceServerException, match="classification") as refused:
            triton.infer("digits", [tensor], outputs=[top])
        assert refused.value.status() == "400"
        with pytest.raises(tritonclient.InferenceServerException, match="not done over HTTP"):
            triton.load_model("digits")
        with pytest.raises(tritonclient.InferenceServerException, match="openapi.json"):
            triton.get_model_config("digits")
        states = {(model["name"], model["state"]) for model in triton.get_model_repository_index()}
        assert states == {("digits", "READY"), ("table", "READY")}


def test_requests_with_binary_parts_that_are_nearly_right_get_no_500(served):
    statuses = binary_part(served.url, "digits", 100)
    assert statuses[200] > 5 and statuses[400] > 20


def test_requests_made_of_the_openapi_document_get_what_it_says(served):
    assert schema_requests(served.url, 28) > 14
