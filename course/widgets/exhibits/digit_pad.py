"""`DigitPad`: a digit drawn by hand in the page, and what a running server, or each of several networks, says it is."""

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any

import numpy
import traitlets

from course.draw import Picture, figure, picture
from course.widgets.exhibits.exhibit import Exhibit
from modelserver.client import Client, ServingError

#: For a server to answer about a digit that was drawn in a page; the kernel does nothing else meanwhile.
PAD_ANSWER = 2.0
#: … after so long the page says that no kernel answers; an answer that comes later is still shown.
PAD_PATIENCE = 3.0

_SIDE = 28
_WRONG = (ServingError, OSError, HTTPException, KeyError, ValueError)  # all that asking a server may end in


class DigitPad(Exhibit):
    """A sheet of 28 × 28 to draw on; after each stroke the server at `url` is asked, and its ten probabilities shown.

    - `url`: the server's address; or networks by name, functions from images (rows, 784) to scores (rows, 10), float32
      arrays: then each is asked in this process, and has a row.
    - `model`, `input`, `output`: the model's name, and its tensors': images (rows, 784) of 0 paper to 1 ink, and ten
      scores, of which the softmax is shown.
    - `images`, `labels`: digits to choose from, (n, 784) or (n, 28, 28), and what they are. They are asked about at
      once; where nobody answers later, these answers are shown, and said to be stored.

    `show(image)` puts an image on the sheet, as drawing does. It never raises for a server that is gone: it says so.
    Raises ValueError for images of another size.
    """

    module = "digit_pad.js"
    styles = ("digit_pad.css",)
    shared = ("controls.js",)
    patience = PAD_PATIENCE
    #: What is on the sheet: 784 bytes, 0 paper to 255 ink, in base64; empty: a blank sheet.
    ink = traitlets.Unicode("").tag(state=True)

    def __init__(
        self,
        url: str | Mapping[str, Callable[[numpy.ndarray], numpy.ndarray]],
        images: Any,
        labels: Sequence[int],
        model: str = "digits",
        input: str = "image",
        output: str = "scores",
    ) -> None:
        self._networks = {} if isinstance(url, str) else dict(url)
        self._url, self._model, self._input, self._output = str(url), model, input, output
        self._images = numpy.asarray(images, numpy.float32).reshape(len(labels), -1)
        if self._images.shape[1:] != (_SIDE * _SIDE,):
            raise ValueError(
                f"DigitPad(images=…): of shape {numpy.shape(images)}; give {len(labels)} images of 28 × 28."
            )
        self._labels = [int(label) for label in labels]
        self._stored, self.problem = self._first_answers()
        super().__init__(ink=_in_base64(self._images[0]) if len(self._images) else "")

    def show(self, image: Any) -> "DigitPad":
        """Put `image`, 28 × 28 or 784 numbers from 0 paper to 1 ink, on the sheet, and ask; returns the pad."""
        self.ink = _in_base64(numpy.asarray(image, numpy.float32).reshape(-1))
        return self

    def engine(self, ink: str) -> dict[str, Any]:
        """Return the answer about `ink`, or what is `wrong`; an empty dict for a blank sheet."""
        if not ink:
            return {}
        if self.result is None and self._stored:  # the first is one that has been asked about
            return self._stored[0]
        began = time.perf_counter()
        try:
            (answer,) = self._answers(numpy.frombuffer(base64.b64decode(ink), numpy.uint8)[None] / 255)
        except _WRONG as problem:
            return {"wrong": str(problem)}
        return {"milliseconds": 1e3 * (time.perf_counter() - began), **answer}

    def answer(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result as it is."""
        return result

    @traitlets.validate("ink")
    def _legal_ink(self, proposal):
        try:
            size = len(base64.b64decode(proposal["value"], validate=True))
        except ValueError:
            size = -1
        if size not in (0, _SIDE * _SIDE):
            raise traitlets.TraitError(
                f"DigitPad(ink=…): give {_SIDE * _SIDE} bytes in base64, or none; see show(image)."
            )
        return proposal["value"]

    def ask(self, images: numpy.ndarray) -> tuple[numpy.ndarray, int]:
        """Return (probabilities (rows, 10), version that answered) for images (rows, 784); raises ServingError."""
        with Client(self._url, deadline=PAD_ANSWER) as client:
            if not client.ready():  # asked once: the page is told at once when nobody is there
                raise ServingError(f"nothing at {self._url} is ready", None, 1)
            answer = client.infer(self._model, {self._input: images.astype(numpy.float32)})
        return _shares(answer[self._output]), answer.version

    def _answers(self, images):
        """Return the answer about each of `images` (rows, 784), as the page takes it."""
        if not self._networks:
            rows, version = self.ask(images)
            return [{"probabilities": row.round(4).tolist(), "version": version} for row in rows]
        by_network = {name: _shares(network(images.astype(numpy.float32))) for name, network in self._networks.items()}
        places = range(len(images))
        return [
            {"each": {name: rows[place].round(4).tolist() for name, rows in by_network.items()}} for place in places
        ]

    def draw(self, result: dict[str, Any]) -> Picture:
        """Return a picture of the first stored digit and its stored answer."""
        with figure(title=self._words(), figsize=(5.2, 1.9), ncols=2, width_ratios=(1, 2)) as (fig, (sheet, bars)):
            sheet.imshow(self._images[0].reshape(_SIDE, _SIDE), cmap="Greys")
            sheet.set_axis_off()
            if self._networks and self._stored:
                best = {name: max(shares) for name, shares in self._stored[0]["each"].items()}
                bars.barh(range(len(best)), best.values(), color="#A6611A")
                bars.set(xlim=(0, 1), xlabel="share of the digit that each says")
                names = [f"{name}: {shares.index(best[name])}" for name, shares in self._stored[0]["each"].items()]
                bars.set_yticks(range(len(best)), names)
                bars.invert_yaxis()
            else:
                bars.bar(range(10), self._stored[0]["probabilities"] if self._stored else [0.0] * 10, color="#A6611A")
                bars.set(xticks=range(10), ylim=(0, 1), ylabel="probability")
        return picture(fig, f"{self._words()}.")

    def _first_answers(self):
        try:
            return self._answers(self._images), ""
        except _WRONG as problem:
            return [], str(problem)

    def _words(self):
        if not self._stored:
            return f"No {'network' if self._networks else 'server'} answered about the stored digits"
        if self._networks:
            votes = [f"{name} says {shares.index(max(shares))}" for name, shares in self._stored[0]["each"].items()]
            return f"Of a {self._labels[0]} {', '.join(votes)}"
        best = int(numpy.argmax(self._stored[0]["probabilities"]))
        share, version = self._stored[0]["probabilities"][best], self._stored[0]["version"]
        return f"{self._model} version {version} says of a {self._labels[0]}: {best}, with {share:.0%}"

    def stored(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the stored digits' answers, and that there is none for a blank sheet."""
        inks = map(_in_base64, self._images)
        return [({"ink": ""}, {}), *(({"ink": ink}, answer) for ink, answer in zip(inks, self._stored, strict=False))]

    def data(self) -> dict[str, Any]:
        """Return the stored digits."""
        digits = zip(map(_in_base64, self._images), self._labels, strict=True)
        names = {"model": self._model, "networks": list(self._networks)}
        return {**names, "digits": [{"ink": ink, "label": label} for ink, label in digits]}

    def __repr__(self) -> str:
        return f"DigitPad({self._words()})"


def _shares(scores):
    """Return the softmax of scores (rows, 10)."""
    grown = numpy.exp(scores - numpy.max(scores, axis=1, keepdims=True), dtype=float)
    return grown / grown.sum(axis=1, keepdims=True)


def _in_base64(image):
    return base64.b64encode((255 * image.clip(0, 1)).round().astype(numpy.uint8).tobytes()).decode()
