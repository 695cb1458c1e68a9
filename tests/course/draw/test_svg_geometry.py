"""Hand-written pictures, by their elements: boxes in their lanes, arrows as wide as their bytes, marks on scales."""

import base64
import io
import json
import re
from math import log2, log10

import numpy as np
import pytest
from matplotlib.image import imread

from course import draw
from course.devices import OpRecord
from course.draw.graph import Edge, Node, graph
from course.draw.track import track
from course.timing.roofline import Roofline
from course.timing.track import SIZES, track_of
from course.units import short
from tests.helpers.drawn import number, points, svgs, texts

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


# --- a program as a graph --------------------------------------------------------------------------------------------

NODES = [
    Node("x", "x", "/cpu:0", 0, is_input=True),
    Node("w", "w", "/cpu:0", 0, is_input=True),
    Node("a", "x @ w", "/gpu:0", 0),
    Node("b", "relu(a)", "/gpu:0", 1),
    Node("loss", "sum(b)", "/cpu:0", 2),
]
EDGES = [Edge("x", "a", 4096), Edge("w", "a", 2**30), Edge("a", "b"), Edge("b", "loss", 4)]


def graph_of(nodes=NODES, edges=EDGES):
    """The boxes of the ops by text, the circles of inputs by text, the lanes' (top, bottom), and the whole image."""
    (image,) = svgs(graph(nodes, edges, ["/cpu:0", "/gpu:0"], "a program"))
    lanes, boxes = [], {}
    middles = [(text, x, y) for text, x, y in texts(image)]
    for rect in image.iter("rect"):
        x, y, width, height = number(rect, "x", "y", "width", "height")
        if x < 1:
            lanes.append((y, y + height))
        else:
            (text,) = [t for t, at, down in middles if abs(at - (x + width / 2)) < 1 and y < down < y + height]
            boxes[text] = x, y, width, height
    inputs = {}
    for circle in image.iter("circle"):
        x, y, r = number(circle, "cx", "cy", "r")
        (text,) = [t for t, at, down in middles if abs(at - x) < 0.1 and abs(down - 4 - y) < 0.2]
        inputs[text] = x, y, r
    return boxes, inputs, lanes, image


def test_an_op_stands_in_its_devices_lane_and_in_its_own_column():
    boxes, inputs, lanes, _ = graph_of()
    assert lanes[0][1] <= lanes[1][0]
    for node in NODES:
        top, bottom = lanes[["/cpu:0", "/gpu:0"].index(node.device)]
        if node.is_input:
            x, y, r = inputs[node.text]
            assert top < y - r and y + r < bottom and x + r <= boxes["x @ w"][0], "before the op that reads it"
        else:
            x, y, _, height = boxes[node.text]
            assert top < y and y + height < bottom
    ordered = [boxes[text] for text in ("x @ w", "relu(a)", "sum(b)")]
    steps = np.diff([x for x, *_ in ordered])
    assert steps[0] == pytest.approx(steps[1], abs=0.2) and steps[0] > ordered[0][2], "columns don't overlap"
    assert len({width for _, _, width, _ in ordered}) == 1
    (x1, y1, r1), (x2, y2, r2) = inputs["x"], inputs["w"]
    assert abs(y1 - y2) > r1 + r2 or abs(x1 - x2) > r1 + r2, "inputs don't cover each other"


def test_an_arrow_begins_at_what_moves_ends_at_its_reader_and_is_as_wide_as_its_bytes():
    boxes, inputs, _, image = graph_of()
    shafts = [path for path in image.iter("path") if path.get("stroke-width")]
    tips = [path for path in image.iter("path") if path.get("fill") == draw.ROLES["bytes"].colour]
    begins = {name: (x + r, y) for name, (x, y, r) in inputs.items()}
    x, y, width, height = boxes["relu(a)"]
    begins["b"] = (x + width, y + height / 2)
    moved = [edge for edge in EDGES if edge.nbytes]
    for edge, shaft, tip in zip(moved, shafts, tips, strict=True):
        assert number(shaft, "stroke-width") == pytest.approx(1.5 + log2(1 + edge.nbytes) / 4, abs=0.06)
        assert points(shaft)[0] == pytest.approx(begins[edge.source], abs=0.2)
        x, y, width, height = boxes["x @ w" if edge.target == "a" else "sum(b)"]
        (at, down) = points(tip)[0]
        assert x < at < x + width
        edge_of_box = y if edge.target == "a" else y + height  # from above, and from below
        assert abs(down - edge_of_box) < 3
    assert points(tips[0])[0][0] != points(tips[1])[0][0], "two arrows to one op stand side by side"


def test_the_bytes_for_an_op_stand_below_it_and_what_stays_has_a_thin_line():
    boxes, _, lanes, image = graph_of()
    written = {text: (x, y) for text, x, y in texts(image)}
    for text, op in (("1.07 GB", "x @ w"), ("4 B", "sum(b)")):
        x, _, width, _ = boxes[op]
        assert written[text][0] == pytest.approx(x + width / 2, abs=0.2) and written[text][1] > lanes[-1][1]
    (line,) = [path for path in image.iter("path") if path.get("stroke") == "currentColor"]
    (x1, y1, w1, h1), (x2, y2, _, h2) = boxes["x @ w"], boxes["relu(a)"]
    numbers = [float(one) for one in re.findall(r"-?[\d.]+", line.get("d"))]
    assert numbers[:2] == pytest.approx([x1 + w1, y1 + h1 / 2], abs=0.2)
    assert numbers[-2:] == pytest.approx([x2, y2 + h2 / 2], abs=0.2)


# --- an op's track ---------------------------------------------------------------------------------------------------

ROOF = Roofline("/cpu:0", "float32", peak=200e9, bandwidth=20e9)


def scales(image):
    """Return the functions from pixels to operations a byte and to operations a second, as the ticks' labels say."""
    powers = {short(10.0**power).strip(): power for power in range(3, 16)}
    across, up = [], []
    for text in image.iter("text"):
        words, (x, y) = "".join(text.itertext()).strip(), number(text, "x", "y")
        if text.get("text-anchor") == "middle" and re.fullmatch(r"0\.1|10*", words):
            across.append((x, log10(float(words))))
        if text.get("text-anchor") == "end" and words in powers:
            up.append((y - 4, powers[words]))
    assert len(across) == 5 and len(up) > 2
    made = []
    for pairs in (across, up):
        (slope, start), off, *_ = np.polyfit(*zip(*pairs, strict=True), 1, full=True)
        assert off.size == 0 or off[0] < 1e-3, "ticks stand on one logarithmic scale"
        made.append(lambda pixel, slope=slope, start=start: 10 ** (slope * pixel + start))
    return made


@pytest.mark.parametrize("op", ["matrix @ matrix", "matrix @ vector", "matrix + matrix"])
def test_each_stop_stands_at_its_operations_a_byte_and_its_speed_on_the_scales_that_are_written(op):
    speeds = {n: 1e9 * (1 + n / 64) for n in SIZES[:9]}
    found = track_of(op, ROOF, speeds)
    (image,) = svgs(track(found, 64, "a track"))
    intensity, speed = scales(image)
    stops = [circle for circle in image.iter("circle") if circle.get("class") == "stop"]
    assert [int(stop.get("data-size")) for stop in stops] == list(SIZES)
    for circle, stop in zip(stops, found.stops, strict=True):
        assert intensity(number(circle, "cx")) == pytest.approx(stop.intensity, rel=0.01)
        wanted = stop.speed or ROOF.bound(stop.intensity)
        assert speed(number(circle, "cy")) == pytest.approx(wanted, rel=0.02)
    (handle,) = [circle for circle in image.iter("circle") if circle.get("class") == "handle"]
    (own,) = [stop for stop in stops if stop.get("data-size") == "64"]
    assert number(handle, "cx", "cy") == number(own, "cx", "cy")


def test_the_tracks_roof_rises_by_its_bandwidth_and_is_flat_at_its_peak_from_the_ridge_on():
    (image,) = svgs(track(track_of("matrix @ matrix", ROOF, {64: 5e9}), 64, "a track"))
    intensity, speed = scales(image)
    roof, ridge = [path for path in image.iter("path") if "L" in path.get("d") or " V" in path.get("d")[6:]][1:3]
    (x1, y1), (x2, y2) = points(roof)[:2]
    assert intensity(x2) == pytest.approx(10.0, rel=0.01) and speed(y2) == pytest.approx(200e9, rel=0.02)
    assert speed(y1) == pytest.approx(20e9 * intensity(x1), rel=0.03)
    assert points(ridge)[0] == pytest.approx((x2, y2))
    written = [text for text, *_ in texts(image)]
    assert {"ridge 10", "arithmetic: 200 GFLOP/s", "memory: 20 GB/s", "operations a byte", "FLOP/s"} <= set(written)
    assert {"n = 64", "5 GFLOP/s"} <= set(written)


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
