"""Pictures: what is a PNG comes out with the same pixels and nothing else; what isn't does not come out."""

import base64
import io
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from grader.submission.pictures import SIGNATURE, NotAPicture, clean_png


def packed(image, **more):
    stream = io.BytesIO()
    image.save(stream, "PNG", **more)
    return stream.getvalue()


def text(data):
    return base64.b64encode(data).decode()


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def made(head=(2, 1, 8, 0, 0, 0, 0), pixels=b"\x00\x01\x02", *extra):
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", *head)), *extra, (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    return SIGNATURE + b"".join(chunk(kind, body) for kind, body in chunks)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_a_picture_keeps_its_pixels(mode):
    drawn = np.random.default_rng(1).integers(0, 255, (31, 45, 3), np.uint8)
    image = Image.fromarray(drawn).convert(mode)
    again = Image.open(io.BytesIO(base64.b64decode(clean_png(text(packed(image))))))
    assert again.mode == image.mode and np.array_equal(np.asarray(again), np.asarray(image))


def test_a_figure_of_matplotlib_keeps_its_pixels_and_loses_what_else_it_says():
    from matplotlib.figure import Figure

    stream = io.BytesIO()
    figure = Figure()
    figure.subplots().plot([1, 2])
    figure.savefig(stream, format="png")
    clean = base64.b64decode(clean_png(text(stream.getvalue())))
    assert b"matplotlib" in stream.getvalue() and b"matplotlib" not in clean
    assert np.array_equal(np.asarray(Image.open(stream)), np.asarray(Image.open(io.BytesIO(clean))))


def test_comments_profiles_and_what_follows_the_end_stay_behind():
    told = PngImagePlugin.PngInfo()
    told.add_text("Comment", "<script>window.OWNED=1</script>")
    data = packed(Image.new("RGB", (4, 4)), pnginfo=told, icc_profile=b"OWNED") + b"<script>OWNED</script>"
    assert b"OWNED" not in base64.b64decode(clean_png(text(data))) and b"OWNED" in data


def test_line_breaks_in_base64_are_read():
    assert clean_png(base64.encodebytes(made()).decode()) == clean_png(text(made()))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('"><script>', "base64"),
        (text(b"<svg onload='x'></svg>"), "not a PNG"),
        (text(made()[:-3]), "too early"),
        (text(made()[:40] + b"\x01" + made()[41:]), "damaged"),
        (text(made((2, 1, 8, 0, 0, 0, 1))), "kind"),  # interlaced
        (text(made((2, 1, 3, 0, 0, 0, 0))), "kind"),  # three bits
        (text(made((0, 1, 8, 0, 0, 0, 0))), "pixels"),
        (text(made((9000, 9000, 8, 6, 0, 0, 0))), "pixels"),
        (text(made(pixels=b"\x00\x01")), "as its head says"),
        (text(made(pixels=b"\x00\x01\x02\x03")), "as its head says"),
        (text(made(pixels=b"\x05\x01\x02")), "as its head says"),
        (text(made((2, 1, 8, 3, 0, 0, 0))), "palette"),
        (text(SIGNATURE + chunk(b"IEND", b"")), "head"),
    ],
)
def test_what_is_no_picture_is_refused_in_words(bad, why):
    with pytest.raises(NotAPicture, match=why):
        clean_png(bad)


def test_a_small_file_that_unpacks_to_a_large_one_is_not_unpacked():
    bomb = text(made((2, 1, 8, 0, 0, 0, 0), b"\x00" * 50_000_000))
    assert len(bomb) < 80_000
    tracemalloc.start()
    with pytest.raises(NotAPicture, match="as its head says"):
        clean_png(bomb)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2_000_000


@settings(max_examples=150)
@given(st.integers(0, len(made()) - 1), st.binary(max_size=4), st.integers(0, 4))
def test_whatever_bytes_are_changed_it_is_a_picture_or_refused(place, more, less):
    data = made()[:place] + more + made()[place + less :]
    try:
        clean = base64.b64decode(clean_png(text(data)))
    except NotAPicture:
        return
    Image.open(io.BytesIO(clean)).load()
