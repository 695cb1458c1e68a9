"""What an export writes, what it refuses, and that the module is left as it was."""

import json
import re
import shutil
import sys

import numpy
import pytest
import torch

from modelserver import export, read_version
from modelserver.compute.program import load
from modelserver.tests.served import Digits, export_digits
from modelserver.versions.checksums import DamagedVersion
from modelserver.versions.version import numbers


class Doubled(torch.nn.Module):
    def forward(self, x):
        return 2 * x


class Two(torch.nn.Module):
    def forward(self, left, right):
        return {"sum": left + right, "many": right.repeat(1, 2) > 0}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return export_digits(tmp_path_factory.mktemp("models"), labels=list("0123456789"), record={"steps": 3})


def test_a_version_says_what_goes_in_and_what_comes_out(digits):
    (image,), (scores,) = digits.signature.inputs, digits.signature.outputs
    assert (image.name, image.datatype, image.shape) == ("image", "FP32", (784,))
    assert (scores.name, scores.datatype, scores.shape) == ("scores", "FP32", (10,))
    assert digits.labels == tuple("0123456789") and digits.record == {"steps": 3}
    assert digits.torch == torch.__version__ and str(digits) == "digits version 1"


@pytest.mark.parametrize("rows", [1, 2, 5, 64])
def test_the_program_takes_any_number_of_rows_and_answers_as_the_module_does(digits, rows):
    program, comparison = load(str(digits.folder), "cpu", None, 64)
    assert comparison == {"difference": "", "accuracy": None, "own": None}
    images = torch.rand(rows, 784, generator=torch.Generator().manual_seed(1))
    (answer,) = program.run(rows, bytearray(images.numpy().tobytes()))
    with torch.no_grad():
        numpy.testing.assert_allclose(answer, Digits(0)(images).numpy(), atol=1e-5)


@pytest.mark.parametrize("device", ["/gpu:1", "cuda:1"])
def test_a_program_that_was_exported_on_the_cpu_answers_on_another_device(digits, device):
    simgpu = pytest.importorskip("simgpu")
    images = torch.rand(3, 784, generator=torch.Generator().manual_seed(1))
    with simgpu.simulated_gpus(2):
        program, comparison = load(str(digits.folder), device, None, 4)
        assert comparison["difference"] == "" and program.device == "cuda:1"
        (answer,) = program.run(3, bytearray(images.numpy().tobytes()))
    with torch.no_grad():
        numpy.testing.assert_allclose(answer, Digits(0)(images).numpy(), atol=1e-5)


def test_a_device_that_is_none_is_refused_with_the_legal_names(digits):
    with pytest.raises(ValueError, match="give cpu, /gpu:0, or another name of torch"):
        load(str(digits.folder), "gpu one", None, 4)


def test_the_module_is_exported_in_eval_and_left_in_the_mode_of_each_part(tmp_path):
    module = torch.nn.Sequential(torch.nn.Dropout(0.9), torch.nn.BatchNorm1d(3))
    module[1].eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    version = export(module, torch.ones(2, 3), tmp_path, name="m")
    assert module.training and module[0].training and not module[1].training
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    (answer,) = load(str(version.folder), "cpu", None, 4)[0].answers([numpy.ones((2, 3), "f4")])
    numpy.testing.assert_allclose(answer, 1, atol=1e-4)  # nothing dropped, running means


def test_nothing_of_the_example_itself_is_stored(tmp_path):
    secret = torch.full((4, 8), 0.123456)
    secret[0, 0], secret[0, 1] = 0, 1
    version = export(Doubled(), secret, tmp_path, name="m")
    assert secret[1:].numpy().tobytes() not in b"".join(p.read_bytes() for p in version.folder.iterdir())
    assert numpy.float32(0.123456).tobytes() * 4 not in (version.folder / "program.pt2").read_bytes()


def test_inputs_and_outputs_have_their_names_in_order(tmp_path):
    example = {"left": torch.rand(3, 2), "right": torch.rand(3, 2)}
    version = export(Two(), example, tmp_path, name="two", scaling={"left": "metres"})
    assert [spec.name for spec in version.signature.inputs] == ["left", "right"]
    assert version.signature.inputs[0].scaling == "metres"
    assert [(s.name, s.datatype, s.shape) for s in version.signature.outputs] == [
        ("sum", "FP32", (2,)),
        ("many", "BOOL", (4,)),
    ]


class Halves(torch.nn.Module):
    """A network in two halves: it can be asked for features, or by them."""

    def __init__(self):
        super().__init__()
        self.hidden, self.scores = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)

    def forward(self, image):
        return self.classify(self.features(image))

    def features(self, image):
        return torch.sigmoid(self.hidden(image))

    def classify(self, features):
        return self.scores(features)


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    network, directory = Halves(), tmp_path_factory.mktemp("halves")
    ways = {"by_features": (network.classify, torch.rand(2, 3)), "embed": (network.features, torch.rand(2, 4))}
    return network, export(network, torch.rand(2, 4), directory, name="m", outputs=["y"], signatures=ways)


def test_a_version_has_each_signature_with_a_program_of_its_own(halves):
    network, version = halves
    assert {name: str(one) for name, one in version.signatures.items()} == {
        "serving_default": "image FP32 [-1, 4] → y FP32 [-1, 2]",
        "by_features": "features FP32 [-1, 3] → y FP32 [-1, 2]",
        "embed": "image FP32 [-1, 4] → y FP32 [-1, 3]",
    }
    for name, module, width in (("serving_default", network, 4), ("by_features", network.classify, 3)):
        program, comparison = load(str(version.folder), "cpu", None, 4, name)
        assert comparison["difference"] == ""
        rows = torch.rand(3, width, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            numpy.testing.assert_allclose(program.answers([rows.numpy()])[0], module(rows).numpy(), atol=1e-5)


def test_a_version_whose_second_signature_has_no_program_is_damaged(halves, tmp_path):
    folder = tmp_path / "m" / "1"
    shutil.copytree(halves[1].folder, folder)
    (folder / "program.embed.pt2").unlink()
    _sign_again(folder)
    with pytest.raises(DamagedVersion, match="there is no program.embed.pt2"):
        read_version(folder)


class Trained:
    """What a training returns, as far as an export looks into it."""

    def module(self):
        return Doubled()


def test_the_result_of_a_training_is_exported_by_its_module(tmp_path):
    version = export(Trained(), torch.rand(2, 3), tmp_path, name="m")
    assert str(version.signature) == "x FP32 [-1, 3] → output FP32 [-1, 3]"


def test_each_export_is_the_next_version_and_old_ones_go(tmp_path):
    for _ in range(4):
        version = export(Doubled(), torch.rand(2, 3), tmp_path, name="m", keep=2)
    assert version.number == 4 and numbers(tmp_path / "m") == [3, 4]
    assert not [path for path in (tmp_path / "m").iterdir() if path.name.startswith(".")]


class Batchwise(torch.nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Fixed(torch.nn.Module):
    def forward(self, x):
        return x.view(2, -1)


class Sums(torch.nn.Module):
    def forward(self, x):
        return x.sum()


@pytest.mark.parametrize(
    "module, example, more, reason",
    [
        (Batchwise(), torch.rand(2, 3), {}, "depends on the rows beside it"),
        (Fixed(), torch.rand(2, 3), {}, "can't trace it for any number of rows"),
        (Sums(), torch.rand(2, 3), {}, "a row for each row"),
        (Doubled(), torch.rand(2, 3).bfloat16(), {}, "torch.bfloat16"),
        (Doubled(), torch.tensor(1.0), {}, "(rows, …)"),
        (Doubled(), torch.rand(2, 3), {"name": "../m"}, "part of an address"),
        (Doubled(), torch.rand(2, 3), {"labels": "ab"}, "2 labels for 3 places"),
        (Doubled(), torch.rand(2, 3), {"keep": 0}, "1 or more"),
        (lambda x: x, torch.rand(2, 3), {}, "give a torch.nn.Module, one of its methods, or what has a module()"),
        (Doubled, torch.rand(2, 3), {}, "give a torch.nn.Module"),
        (Doubled(), torch.rand(2, 3), {"signatures": {"a.b": (Doubled(), torch.rand(2, 3))}}, "'a.b'; give {name"),
        (
            Doubled(),
            torch.rand(2, 3),
            {"signatures": {"serving_default": (Doubled(), torch.rand(2, 3))}},
            "takes first",
        ),
        (Doubled(), torch.rand(2, 3), {"signatures": {"b": Doubled()}}, "(module or method, example)"),
        (Doubled(), torch.rand(2, 3), {"signatures": {"b": (Sums(), torch.rand(2, 3))}}, "a row for each row"),
        (Doubled(), torch.rand(2, 3), {"outputs": ["a", "b"]}, "forward returns 1"),
        (Doubled(), torch.rand(2, 3), {"scaling": {"y": "?"}}, "the inputs are x"),
        (Doubled(), torch.rand(2, 3), {"record": {"a": float("nan")}}, "as JSON has them"),
        (Doubled(), torch.rand(2, 3), {"labelled": (torch.rand(2, 4), torch.tensor([0, 1]))}, "float32(n, 3)"),
    ],
)
def test_what_cannot_be_served_is_refused_with_the_way_out(tmp_path, module, example, more, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        export(module, example, tmp_path, **{"name": "m", **more})
    assert numbers(tmp_path / "m") == []


def test_a_full_disk_leaves_no_version(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("modelserver.versions.publish._to_disk", full)
    with pytest.raises(OSError, match="no version of m was written"):
        export(Doubled(), torch.rand(2, 3), tmp_path, name="m")
    assert list((tmp_path / "m").iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
@pytest.mark.parametrize("most", [0, 100, 2000, 5000, 12_000])
def test_a_file_that_has_no_place_leaves_no_version_whichever_it_is(tmp_path, most):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    labelled = (torch.rand(2000, 3), torch.zeros(2000, dtype=torch.int64))  # the largest of the files
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        with pytest.raises(OSError, match="no version of m was.*ree some space, then export again"):
            export(Doubled(), torch.rand(2, 3), tmp_path, name="m", labelled=labelled)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list((tmp_path / "m").iterdir()) == []
    assert export(Doubled(), torch.rand(2, 3), tmp_path, name="m", labelled=labelled).number == 1


@pytest.mark.parametrize("name", ["program.pt2", "version.json", "examples.npz"])
def test_a_damaged_file_is_told_before_anything_is_loaded(tmp_path, name, monkeypatch):
    version = export(Doubled(), torch.rand(2, 3), tmp_path, name="m")
    data = bytearray((version.folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (version.folder / name).write_bytes(data)
    monkeypatch.setattr(torch.export, "load", lambda *_: pytest.fail("loaded"))
    with pytest.raises(DamagedVersion, match=name):
        read_version(version.folder)
    with pytest.raises(DamagedVersion, match=name):
        load(str(version.folder), "cpu", None, 4)


def test_answers_other_than_the_recorded_ones_are_found(tmp_path):
    version = export(Doubled(), torch.rand(2, 3), tmp_path, name="m")
    with numpy.load(version.folder / "examples.npz") as file:
        arrays = dict(file)
    arrays["out.output"][5, 2] += 0.001
    numpy.savez(version.folder / "examples.npz", **arrays)
    _sign_again(version.folder)
    _, comparison = load(str(version.folder), "cpu", None, 4)
    assert comparison["difference"].startswith("output[5, 2] of its own examples is")


def test_accuracy_is_the_share_of_labelled_examples_that_are_right(tmp_path):
    eye = torch.eye(3)
    version = export(Doubled(), eye, tmp_path, name="m", labelled=(eye, torch.tensor([0, 1, 0])))
    assert version.labelled
    assert load(str(version.folder), "cpu", str(version.folder), 4)[1]["accuracy"] == pytest.approx(2 / 3)


def test_a_description_that_is_none_is_damage(tmp_path):
    version = export(Doubled(), torch.rand(2, 3), tmp_path, name="m")
    about = json.loads((version.folder / "version.json").read_text())
    for wrong in ({}, [], {**about, "signature": {"inputs": [], "outputs": []}}, {**about, "labels": 3}):
        (version.folder / "version.json").write_text(json.dumps(wrong))
        _sign_again(version.folder)
        with pytest.raises(DamagedVersion, match="version.json"):
            read_version(version.folder)


def _sign_again(folder):
    from modelserver.versions.checksums import NAME, write_checksums

    (folder / NAME).unlink()
    write_checksums(folder)
