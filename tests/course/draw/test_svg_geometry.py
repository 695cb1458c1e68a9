"""Hand-written pictures, by their elements: boxes in their lanes, arrows as wide as their bytes, films, tables."""

import base64
import io
import json
import re
from math import log2

import numpy as np
import pytest
from matplotlib.image import imread

from course import draw
from course.devices import OpRecord
from tests.helpers.drawn import number, svgs, texts

# --- ops on devices --------------------------------------------------------------------------------------------------

RAN = [
    OpRecord("add", "/cpu:0", ((2,),), "float32", made=((2,),)),
    OpRecord("_to_copy", "/gpu:1", ((2,),), "float32", 8, "/cpu:0", ((2,),)),
    OpRecord("mm", "/gpu:1", ((2, 2),), "float32", made=((2, 2),), backward=True),
    OpRecord("_to_copy", "/gpu:0", ((2,),), "float32", 2**20, "/gpu:1", ((2,),)),
    OpRecord("t", "/gpu:0", ((2, 2),), "float32", made=((2, 2),), view=True),
]


def test_each_op_is_a_box_in_the_lane_of_its_device_and_a_row_below_the_one_before():
    (image,) = svgs(draw.ops(RAN, "five", joined=[(0, 4), (1, 2)]))
    heads = {text.split()[1]: x for text, x, y in texts(image) if "/cpu" in text or "/gpu" in text}
    assert list(heads) == ["/cpu:0", "/gpu:0", "/gpu:1"] and sorted(heads.values()) == list(heads.values())
    boxes = [number(box, "x", "y", "width", "height") for box in image.iter("rect")]
    assert [x + width / 2 for x, _, width, _ in boxes] == pytest.approx([heads[op.device] for op in RAN])
    steps = np.diff([y for _, y, *_ in boxes])
    assert set(steps) == {steps[0]} and steps[0] > boxes[0][3], "boxes of neighbours don't touch"
    lanes = sorted(heads.values())
    assert all(width < lanes[1] - lanes[0] for _, _, width, _ in boxes)
    inside = [(text, x, y) for text, x, y in texts(image) if text in {op.op for op in RAN}]
    for (text, x, y), op, (left, top, width, height) in zip(inside, RAN, boxes, strict=True):
        assert text == op.op and left < x < left + width and top < y < top + height
    assert image.get("viewBox") == f"0 0 {image.get('width')} {image.get('height')}"
    assert max(y + height for _, y, _, height in boxes) < float(image.get("height"))


def test_a_moves_arrow_goes_from_lane_to_lane_and_is_as_wide_as_its_bytes():
    (image,) = svgs(draw.ops(RAN, "five"))
    heads = {text.split()[1]: x for text, x, y in texts(image) if "/cpu" in text or "/gpu" in text}
    boxes = [number(box, "x", "y", "width", "height") for box in image.iter("rect")]
    moves = [(op, box) for op, box in zip(RAN, boxes, strict=True) if op.bytes_moved]
    for (op, box), shaft, start in zip(moves, image.iter("line"), image.iter("circle"), strict=True):
        x1, y1, x2, y2 = number(shaft, "x1", "y1", "x2", "y2")
        begin, end = heads[op.origin], heads[op.device]
        assert (x1, y1) == number(start, "cx", "cy") and x1 == begin and y1 == y2 == box[1] + box[3] / 2
        assert min(begin, end) < x2 < max(begin, end) and abs(x2 - end) < abs(x2 - begin)
        assert number(shaft, "stroke-width") == pytest.approx(1.5 + log2(1 + op.bytes_moved) / 4, abs=0.05)
        (tip,) = [y for text, _, y in texts(image) if text == f"→ {op.bytes_moved:,} bytes"]
        assert box[1] < tip < box[1] + box[3], "the bytes stand in the op's own row"


def test_who_made_what_joins_the_two_boxes():
    (image,) = svgs(draw.ops(RAN, "five", joined=[(1, 2), (3, 4)]))
    boxes = [number(box, "x", "y", "width", "height") for box in image.iter("rect")]
    edges = [path for path in image.iter("path") if path.get("class") == "edge"]
    for path, (source, target) in zip(edges, [(1, 2), (3, 4)], strict=True):
        numbers = [float(one) for one in re.findall(r"-?[\d.]+", path.get("d"))]
        middle = boxes[source][0] + boxes[source][2] / 2
        assert numbers == [middle, boxes[source][1] + 20, middle, boxes[target][1]], "from its foot to the other's head"


# --- films and tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("height", "width", "count"), [(9, 14, 12), (48, 72, 5), (3, 900, 4), (1, 1, 1)])
def test_a_films_window_is_one_frame_and_its_steps_are_a_frame_and_the_gap(height, width, count):
    boards = np.random.default_rng(1).integers(0, 2, (count, height, width))
    shown = draw.film(list(boards), seconds=0.25, first=3).html
    settings = json.loads(re.search(r"} = (\{.*?\});", shown)[1])
    (wide, tall), (sheet_wide, sheet_tall) = (
        tuple(map(float, pair)) for pair in re.findall(r'style="width:([\d.]+)px;height:([\d.]+)px"', shown)
    )
    png = imread(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]+)", shown)[1])), format="png")
    cell = wide / width
    assert tall / height == pytest.approx(cell) and 0 < cell <= 16 and wide <= 600 and tall <= 400
    assert cell == int(cell) or cell < 1, "a cell is whole pixels, where there is room"
    assert (settings["right"], settings["down"]) == pytest.approx(((width + 1) * cell, (height + 1) * cell), rel=1e-4)
    assert (sheet_wide, sheet_tall) == pytest.approx((png.shape[1] * cell, png.shape[0] * cell), rel=1e-4)
    assert settings["columns"] * settings["right"] == pytest.approx(sheet_wide, rel=1e-4)
    assert settings["seconds"] == 0.25 and settings["first"] == 3 and settings["living"] == boards.sum((1, 2)).tolist()


def test_a_tables_cells_stand_under_their_headings_row_by_row():
    shown = draw.table(["value", "bytes"], [("x", 4096), ("w", 12.5)], "moves").html
    assert re.findall(r"<th(?: [^>]*)?>(.*?)</th>", shown) == ["value", "bytes"]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", shown)[1:]]
    assert rows == [["x", "4096"], ["w", "12.5"]]
