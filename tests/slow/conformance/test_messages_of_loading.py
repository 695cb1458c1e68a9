"""Files saved on one machine, loaded on another with fewer GPUs or none: torch's words, and the way out it names."""

import io

import pytest
import torch

from course import simulated_gpus


def saved_on(device, count):
    """Return the bytes of a tensor that a machine with `count` GPUs saved on `device`."""
    file = io.BytesIO()
    with simulated_gpus(count):
        torch.save({"x": torch.arange(3.0).to(device)}, file)
    return file.getvalue()


def load(data, **options):
    return torch.load(io.BytesIO(data), weights_only=True, **options)["x"]


def test_without_a_gpu_torch_says_so_and_names_map_location():
    data = saved_on("cuda:0", 1)
    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device, so the file loads there")
    with pytest.raises(
        RuntimeError, match="Attempting to deserialize object on a CUDA device but torch.cuda.is_available"
    ):
        load(data)
    assert torch.equal(load(data, map_location="cpu"), torch.arange(3.0))


def test_with_fewer_gpus_torch_names_the_one_that_is_missing():
    data = saved_on("cuda:3", 4)
    words = r"Attempting to deserialize object on CUDA device 3 but torch\.cuda\.device_count\(\) is 2\."
    with simulated_gpus(2):
        with pytest.raises(RuntimeError, match=words):
            load(data)
        there = load(data, map_location={"cuda:3": "cuda:1"})
        assert str(there.device) == "cuda:1"
        assert torch.equal(there.cpu(), torch.arange(3.0))
        assert str(load(data, map_location="cuda:0").device) == "cuda:0"


def test_a_file_of_the_simulation_is_an_ordinary_one():
    """It names torch's own classes only: a machine without the course reads it, and with a GPU puts it there."""
    data = saved_on("cuda:0", 1)
    assert b"course" not in data
    assert type(load(data, map_location="cpu")) is torch.Tensor
