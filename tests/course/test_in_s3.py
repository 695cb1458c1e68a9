"""Checkpoints, journals and models in S3, as moto's server has it: a process of its own, which is frozen and ended."""

import io
import json
import subprocess
import sys
import time
from functools import partial

import numpy
import pytest
import torch

from course.training import (
    Checkpoints,
    CheckpointWarning,
    Hook,
    SaveCheckpoint,
    linear_regression,
    mnist,
    train_in_turns,
)
from course.tuning.study import opened_study
from modelserver import Client, bucket, local_server
from modelserver.tests.served import export_digits
from tests.course.tuning.test_study import lived, plan, without_attempts
from tests.helpers.shells import eventually
from tests.helpers.stores.s3_here import BUCKET, s3_here

pytestmark = pytest.mark.long
SGD = partial(torch.optim.SGD, lr=0.02)


@pytest.fixture
def s3(tmp_path, free_ports):
    with s3_here(tmp_path, free_ports(1)[0]) as s3:
        yield s3


def keys(s3):
    return [entry["Key"] for entry in s3.client().list_objects_v2(Bucket=BUCKET).get("Contents", ())]


def test_a_training_saves_in_a_bucket_and_goes_on_from_it(s3):
    address, data, digits = f"{s3.address}/run", f"{s3.address}/data/digits.npz", io.BytesIO()
    ours = mnist()
    numpy.savez(digits, images=ours.test_images.numpy(), labels=ours.test_labels.numpy())
    s3.client().put_object(Bucket=BUCKET, Key="data/digits.npz", Body=digits.getvalue())
    command = [sys.executable, "-m", "course", "train", "--problem", "mnist", "--steps", "300"]
    command += ["--data", data, "--checkpoint-dir", address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(key.rpartition(".")[2] for key in keys(s3)) == ["json", "json", "npz", "pt", "pt"]
    assert "on 200 digits" in done.stdout
    as_before = partial(torch.optim.SGD, lr=0.5)  # the command's, for this problem
    more = train_in_turns(mnist(data=data), optimizer=as_before, total_steps=400, checkpoint_dir=address)
    assert more.restored_from == 300 and Checkpoints(address).latest().version == 400
    assert not [upload for upload in s3.client().list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]


class Lost(Hook):
    """Takes the store away between two steps."""

    def __init__(self, take_away, give_back):
        self.take_away, self.give_back = take_away, give_back

    def before_run(self, session):
        if session.step == 25:
            self.take_away()
        if session.step == 45:
            self.give_back()


def forbid(s3, words):
    deny = {"Effect": words, "Principal": "*", "Action": "s3:PutObject", "Resource": f"arn:aws:s3:::{BUCKET}/*"}
    s3.client().put_bucket_policy(Bucket=BUCKET, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))


@pytest.mark.parametrize("how", ["silent", "forbidden"])
def test_a_lost_bucket_costs_what_a_full_disk_costs(s3, monkeypatch, how):
    def answers_in(seconds):
        monkeypatch.setattr(bucket, "STORE_ANSWERS", seconds)

    answers_in(60.0)  # a busy machine's does
    if how == "silent":
        lost = Lost(lambda: (s3.freeze(), answers_in(1.0)), lambda: (s3.thaw(), answers_in(60.0)))
    else:
        lost = Lost(lambda: forbid(s3, "Deny"), lambda: forbid(s3, "Allow"))
    with pytest.warns(
        CheckpointWarning, match="IS NOT SAVED.*(has not answered|denied|Forbidden).*not stopped"
    ) as caught:
        hooks = [lost, SaveCheckpoint(steps=10)]
        settings = {"optimizer": SGD, "total_steps": 70, "hooks": hooks, "checkpoint_dir": f"{s3.address}/run"}
        result = train_in_turns(linear_regression(), **settings)
    assert [str(warning.message).split()[1] for warning in caught] == ["30", "40"]
    assert [event.step for event in result.events] == [0, 10, 20, 50, 60, 70]


def test_a_store_that_is_not_there_is_told_before_anything_is_trained(s3):
    s3.close()
    began = time.monotonic()
    with pytest.raises(OSError, match=r"s3://course-bucket/run"):
        train_in_turns(linear_regression(), optimizer=SGD, total_steps=10, checkpoint_dir=f"{s3.address}/run")
    assert time.monotonic() - began < 60


def test_a_search_goes_on_from_its_journal_in_a_bucket(s3):
    with opened_study(plan(), None) as study:
        uninterrupted = without_attempts(lived(study))
    for trials in (3, 12):
        with opened_study(plan(), f"{s3.address}/search") as study:
            records = lived(study, trials)
    assert without_attempts(records) == uninterrupted and not [key for key in keys(s3) if "lock" in key]


def test_a_model_is_served_from_a_bucket_follows_it_and_outlives_it(s3):
    address = f"{s3.address}/models"
    assert export_digits(address).number == 1
    with local_server(address, workers=1) as server, Client(server.url) as client:
        image = torch.zeros(1, 784).numpy()
        before = client.infer("digits", {"image": image})
        assert "whoever may write to s3://course-bucket/models can run any command here" in server.log
        export_digits(address, seed=1)
        eventually(lambda: "digits version 2 is served" in server.log, 120)
        s3.close()
        after = client.infer("digits", {"image": image})
        assert (before["scores"] != after["scores"]).any()
