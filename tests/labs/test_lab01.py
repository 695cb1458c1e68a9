"""Lab 01 holds what it promises; a placement is judged by a program that is run here; other right answers are right."""

import pytest

from course.checks.discovery import load_part
from grader.lab.source import load_lab
from grader.submission.rebuild import imports_needed
from tests.labs.solved import points_lost

oracles, programs, traced = (load_part("labs/lab01_devices", part) for part in ("oracles", "programs", "traced"))
layers_complaint, product_complaint = oracles.layers_complaint, oracles.product_complaint
Run, drive, inputs = programs.Run, traced.drive, traced.inputs
SHAPES = {"a": (2, 3), "b": (3, 2)}
RIGHT = ["t1 = a.to(cuda:0)", "t2 = b.to(cuda:0)", "t3 = t1 @ t2", "t4 = t3.to(cpu)", "return t4"]


def test_tensors_without_numbers_write_down_what_is_done_to_them():
    assert drive(lambda a, b: (a.to("cuda:0") @ b.to("cuda:0")).to("cpu"), SHAPES) == RIGHT
    assert drive(lambda a, b: a.cuda().mm(b.to("/gpu:0")).cpu(), SHAPES) == RIGHT
    assert product_complaint(RIGHT, SHAPES) is None


def test_moving_a_tensor_to_where_it_is_writes_nothing():
    assert drive(lambda a, b: a.cpu().to("cpu"), SHAPES) == ["return a"]


def test_two_devices_in_one_product_are_refused_as_by_torch():
    a, b = inputs(SHAPES)
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu"):
        a.cuda() @ b
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        a @ a
    with pytest.raises(RuntimeError, match="this machine has cpu, cuda:0, cuda:1"):
        a.to("cuda:7")
    with pytest.raises(TypeError, match="it returned int"):
        drive(lambda a, b: 3, SHAPES)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["return t9"],
        ["a = b.to(cuda:0)", "return a"],
        ["t1 = a.to(cuda:0)", "t1 = b.to(cuda:0)", "return t1"],
        ["t1 = a @ t2", "t2 = b.to(cuda:0)", "return t1"],
        ["t1 = a.to(cuda:9)", "return t1"],
        ["t1 = __import__('os')", "return t1"],
        ["t1 = a @ a", "return t1"],
        ["t1 = a.to(cuda:0)", "t2 = t1 @ b", "return t2"],
        ["t1 = a @ b", "return t1 or a"],
        ["t1 = a @ b", *(f"t{n + 1} = t{n} @ t{n}" for n in range(1, 60)), "return t60"],
    ],
)
def test_what_is_no_program_is_refused_with_a_sentence(lines):
    assert isinstance(product_complaint(lines, SHAPES), str)


def test_bytes_that_move_are_counted_by_where_they_go():
    import numpy as np

    run = Run([*RIGHT[:-1], "t5 = t4.to(cuda:1)", "return t4"], {n: np.ones(shape) for n, shape in SHAPES.items()})
    assert run.moved == {"cuda:0": 48, "cpu": 16, "cuda:1": 16}
    assert run.computed == [("t3 = t1 @ t2", "cuda:0")]


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({3: "t4 = t2.to(cpu)"}, "not a @ b"),
        ({4: "return t3"}, "back on the CPU"),
        ({0: "t1 = a.to(cuda:1)", 1: "t2 = b.to(cuda:1)"}, "runs on cuda:1"),
        ({0: "t9 = a.to(cuda:0)\nt1 = a.to(cuda:0)"}, "72 bytes move to cuda:0; 48 are enough"),
        ({3: "t9 = t3.to(cuda:1)\nt4 = t9.to(cpu)"}, "16 bytes move to cuda:1; 0 are enough"),
    ],
)
def test_a_program_changed_in_one_line_is_wrong_and_says_why(change, complaint):
    lines = "\n".join(change.get(number, line) for number, line in enumerate(RIGHT)).splitlines()
    assert complaint in product_complaint(lines, SHAPES)


def test_a_layer_without_relu_is_seen_whatever_the_shape():
    for rows in range(1, 4):
        lines = ["t1 = x.to(cuda:0)", "t2 = w.to(cuda:0)", "t3 = t1 @ t2", "t4 = t3.to(cpu)", "return t4"]
        assert "1 layer" in layers_complaint(lines, {"x": (rows, 1), "w": (1, 1)}, 1)


PLAIN = {
    "product_on_gpu": "def product_on_gpu(a, b):\n    gpu = '/gpu:0'\n    return a.to(gpu).matmul(b.to(gpu)).cpu()",
    "layers_on_gpu": """
def layers_on_gpu(x, w, steps):
    if not steps:
        return x
    def layer(h, left, w):
        return h if left == 0 else layer((h @ w).relu(), left - 1, w)
    return layer(x.cuda(), steps, w.cuda()).cpu()
""",
    "device_for": """
import numpy as np
from collections import Counter

def device_for(op):
    if op['name'] == 'matmul' and np.prod([*op['shapes'][0], op['shapes'][1][1]]) >= 1e6:
        return '/gpu:0'
    held = Counter()
    for shape, device in zip(op['shapes'], op['devices']):
        held[device] += int(np.prod(shape))
    top = held.most_common(2)
    if not top or (len(top) == 2 and top[0][1] == top[1][1]):
        return '/cpu:0'
    return np.str_(top[0][0])
""",
    "runs_on": """
def runs_on(wanted, present, kernels):
    name = DeviceName.parse(wanted)
    if name.kind in kernels and str(name) in present:
        return str(name)
    return ['nowhere', '/cpu:0']['cpu' in kernels]
""",
    "who_moved": """
def who_moved(log):
    asked = {}
    pile = []
    for position in range(len(log)):
        line = log[position]
        if line['bytes_moved'] > 0:
            pile.append(line['bytes_moved'])
        elif line['view'] is False:
            asked[position] = sum(pile)
            pile = []
    if not asked or max(asked.values()) == 0:
        return [-1, 0]
    return max(asked, key=asked.get), max(asked.values())
""",
    "bytes_to_move": """
import numpy as np

def bytes_to_move(program, places):
    copies = {(name, places[op['name']]) for op in program for name in op['inputs']}
    copies.add((program[-1]['name'], '/cpu:0'))
    sizes = {op['name']: np.prod(op['shape']) for op in program}
    return np.sum([4 * sizes[name] for name, device in copies if places[name] != device])
""",
}
WITH_TORCH = {
    "product_on_gpu": """
def product_on_gpu(a, b):  # torch is imported by a cell that only shows something
    there = torch.device('cuda', 0)
    return torch.mm(a.to(there), b.to(device=there)).to('cpu', non_blocking=True)
""",
    "layers_on_gpu": """
def layers_on_gpu(x, w, steps):
    h, w = x.to('cuda'), w.to('cuda')
    for step in range(steps):
        h = torch.nn.functional.relu(torch.matmul(h, w))
    return h.cpu()
""",
}


@pytest.mark.parametrize("answers", [PLAIN, WITH_TORCH], ids=["plain", "with torch"])
def test_right_answers_in_another_style_get_full_marks(answers):
    assert points_lost(load_lab("labs/lab01_devices"), answers) == {}


def test_an_import_of_a_cell_that_is_not_run_is_lent_where_its_name_is_written():
    lab = load_lab("labs/lab01_devices")
    assert imports_needed(lab, ["return torch.relu(x)"]) == ["import torch"]
    assert imports_needed(lab, ["with place('/gpu:0'):", "place, log_placement"]) == [
        "from course import log_placement",
        "from course import place",
    ]
    assert imports_needed(lab, ["return x.relu()", "x.torchlike"]) == []
