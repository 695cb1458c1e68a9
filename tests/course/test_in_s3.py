"""Trainings in S3, as moto's server has it: a process of its own, which can be stopped."""

import subprocess
import sys
from functools import partial

import pytest
import torch

from course.cluster import local_cluster
from course.training import Checkpoints, linear_regression, train
from tests.helpers.stores.s3_here import s3_here

pytestmark = pytest.mark.long
SGD = partial(torch.optim.SGD, lr=0.02)


@pytest.fixture
def s3(tmp_path):
    with s3_here(tmp_path) as s3:
        yield s3


def keys(s3):
    return [entry["Key"] for entry in s3.client().list_objects_v2(Bucket="course-bucket").get("Contents", ())]


def course(*words):
    """Run a command of the course; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "course", *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_training_saves_in_a_bucket_and_goes_on_from_it(s3):
    course("train", "--steps", "300", "--checkpoint-dir", f"{s3.address}/run")
    assert Checkpoints(f"{s3.address}/run").latest().version == 300
    assert sorted(key.rpartition(".")[2] for key in keys(s3)) == ["json", "json", "pt", "pt"]
    with local_cluster(ps=1, worker=1) as cluster:
        more = train(linear_regression(), cluster, optimizer=SGD, total_steps=400, checkpoint_dir=f"{s3.address}/run")
    assert more.restored_from == 300 and more.version == 400 and not [key for key in keys(s3) if "lock" in key]


def test_a_search_goes_on_from_its_journal_in_a_bucket(s3):
    search = ["tune", "--problem", "linear", "--steps", "20", "--workers", "1", "--journal", f"{s3.address}/search"]
    assert "3 done" in course(*search, "--trials", "3")
    before = keys(s3)
    assert "5 trials" in course(*search, "--trials", "5") and set(before) < set(keys(s3))
