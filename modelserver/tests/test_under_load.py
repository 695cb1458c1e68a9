"""Versions change and workers are lost under load: no request fails, but for the one that costs two workers."""

import numpy
import pytest
import torch

from modelserver import Client, ServingError
from modelserver.tests.served import PATIENCE, export_digits, serving
from modelserver.tests.slow.churn import both_up, churn


@pytest.mark.faults
@pytest.mark.long
def test_no_request_fails_but_the_one_that_two_workers_were_lost_at(tmp_path):
    directory = tmp_path / "models"
    export_digits(directory, seed=1)
    with serving(directory, "--workers", 2, "--model-seconds", 2.5) as served:
        outcome = churn(served, directory, changes=3, kills=1)
        assert outcome.failed == [] and outcome.answered > 20 and len(outcome.versions) >= 3
        served.wait_for(r"worker \d+ ended .*another is started")
        with Client(served.url, deadline=PATIENCE) as client:
            rows = {"image": torch.zeros(1, 784).numpy()}
            answer = client.infer("digits", rows)
            before = both_up(client, served)
            for process in before:
                process.suspend()  # as a model that hangs: it answers nothing
            with pytest.raises(ServingError, match="longer than 2.5 s") as refused:
                client.infer("digits", rows)
            assert refused.value.status == 500 and refused.value.attempts == 1
            numpy.testing.assert_array_equal(client.infer("digits", rows)["scores"], answer["scores"])
            assert not {process.pid for process in before} & {process.pid for process in served.workers()}
