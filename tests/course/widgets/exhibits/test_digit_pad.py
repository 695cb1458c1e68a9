"""The digit pad: stored answers, what the page may ask, a server that is gone, and never an error in the cell."""

import base64

import numpy
import pytest

from course.widgets import DigitPad
from modelserver.client import ServingError
from tests.course.widgets.page_of import Line, data_of, html_of

NOWHERE = "http://127.0.0.1:9"  # the port of "discard": nobody listens
IMAGES = numpy.zeros((2, 28, 28))
IMAGES[0, 4:24, 14], IMAGES[1, 4:24, 4:24] = 1, 0.5


class Answering(DigitPad):
    """A pad whose server says that everything is a 1, or is gone while `gone`."""

    gone = False

    def ask(self, images):
        """Return the answer, or raise as a client whose server is gone."""
        if self.gone:
            raise ServingError("nothing is ready", None, 1)
        self.asked = images
        return numpy.tile([0.02, 0.82, *[0.02] * 8], (len(images), 1)), 3


@pytest.fixture
def pad():
    made = Answering(NOWHERE, IMAGES, [1, 0])
    made.html = html_of(made)
    made.close()
    made._wire = Line()
    yield made
    made.close()


def ink(image):
    return base64.b64encode((255 * image).round().astype(numpy.uint8).tobytes()).decode()


def test_stored_digits_lie_beside_their_answers_and_the_version_that_gave_them(pad):
    data = data_of(pad.html)
    assert [digit["label"] for digit in data["digits"]] == [1, 0]
    blank, (first, answer), second = data["grid"]
    assert first == {"ink": data["digits"][0]["ink"]} == {"ink": ink(IMAGES[0])}
    assert answer["version"] == 3 and answer["probabilities"][1] == 0.82 and blank == [{"ink": ""}, {}]
    assert len(second[0]["ink"]) == 4 * -(-784 // 3)
    assert repr(pad) == "DigitPad(digits version 3 says of a 1: 1, with 82%)" and pad.problem == ""


def test_a_drawing_is_answered_with_its_number(pad):
    pad._heard(pad._wire, {"number": 7, "settings": {"ink": ink(numpy.ones((28, 28)))}}, [])
    (message,) = pad._wire.sent
    answer = message["answer"]
    assert message["number"] == 7 and answer["version"] == 3 and answer["probabilities"][1] == 0.82
    assert answer["milliseconds"] >= 0 and pad.asked.shape == (1, 784) and (pad.asked == 1).all()


def test_python_puts_an_image_on_the_sheet_as_drawing_does(pad):
    pad.show(IMAGES[1])
    (message,) = pad._wire.sent
    assert message["settings"]["ink"] == pad.ink == ink(IMAGES[1]) and message["answer"] == pad.result


def test_nonsense_on_the_sheet_is_said_and_not_asked_about(pad):
    asked = pad.asked
    for nonsense in ("not base64", ink(IMAGES[0])[:40], 7, None):
        pad._heard(pad._wire, {"number": 1, "settings": {"ink": nonsense}}, [])
        assert pad._wire.sent.pop()["wrong"]
    assert pad.asked is asked


def test_a_server_that_is_gone_is_said_to_be_and_the_stored_answers_stay(pad):
    pad.gone = True
    pad.show(IMAGES[1])
    assert pad._wire.sent[-1]["answer"] == {"wrong": "nothing is ready"}
    assert data_of(pad)["grid"][1][1]["version"] == 3


def test_without_a_server_it_is_shown_all_the_same_and_says_so():
    pad = DigitPad(NOWHERE, IMAGES, [1, 0])
    data = data_of(pad)
    assert "nothing at" in pad.problem and "No server answered" in repr(pad)
    assert data["grid"] == [[{"ink": ""}, {}]] and "wrong" in pad.result
    pad.close()
    pad.close()


def certain_of(digit):
    """A network that gives one digit nearly all; what it adds to every score changes nothing."""
    return lambda images: numpy.tile(20 * (numpy.arange(10) == digit), (len(images), 1)) + images.sum(1)[:, None]


def test_several_networks_are_asked_in_this_process_and_have_a_row_each():
    pad = DigitPad({"first": certain_of(3), "second": certain_of(8)}, IMAGES, [1, 0])
    assert repr(pad) == "DigitPad(Of a 1 first says 3, second says 8)" and "first says 3" in pad.static().alt
    data = data_of(pad)
    blank, (_, answer), _ = data["grid"]
    assert data["networks"] == ["first", "second"] == list(answer["each"]) and blank == [{"ink": ""}, {}]
    assert answer["each"]["second"][8] > 0.99 and sum(answer["each"]["second"]) == pytest.approx(1, abs=1e-3)
    pad.show(numpy.ones((28, 28)))
    assert pad.result["each"]["first"][3] > 0.99 and pad.result["milliseconds"] >= 0
    pad.close()


def test_a_network_that_fails_is_said_to():
    def failing(images):
        if images.mean() > 0.9:
            raise ValueError("no such shape")
        return numpy.zeros((len(images), 10))

    pad = DigitPad({"failing": failing}, IMAGES, [1, 0]).show(numpy.ones(784))
    assert pad.result == {"wrong": "no such shape"} and pad.problem == ""
    pad.close()


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match="28 × 28"):
        DigitPad(NOWHERE, numpy.zeros((2, 30, 30)), [1, 0])
