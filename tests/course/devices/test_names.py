"""Device names: one grammar, three spellings, errors that help."""

import ast

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from course.devices import DeviceName
from course.devices.names import KINDS, name_of

JOBS = st.none() | st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True)
NUMBERS = st.integers(0, 10**6)
DEVICES = st.none() | st.tuples(st.sampled_from(sorted(KINDS)), NUMBERS)


@st.composite
def names(draw):
    job, task = draw(JOBS), draw(st.none() | NUMBERS)
    device = draw(DEVICES) if job is not None or task is not None else draw(DEVICES.filter(bool))
    return DeviceName(job, task, *(device or (None, None)))


@given(names())
def test_a_name_survives_being_written_and_read(name):
    assert DeviceName.parse(str(name)) == name
    assert hash(DeviceName.parse(str(name))) == hash(name)


PIECES = ["/", ":", "job", "task", "gpu", "device:", "0", "1", "'", '"', "\\", "O", "\n", "\0", "\x1b", "ſ", "²"]


@given(st.text(max_size=30) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("O'")
@example("/job:'")
@example("/job:a'b/task:0")
@example("/job:\\")
@example("/job:\0")
@example("/job:ſ")
@example("/taſk:0")
@example("/task:²")
@example("/gpu:" + "9" * 5000)
@example("/job:worker/task:" + "9" * 10)
def test_any_text_is_a_name_or_a_value_error_with_a_legal_suggestion(text):
    try:
        name = DeviceName.parse(text)
    except ValueError as error:
        said = str(error)
    else:
        assert DeviceName.parse(str(name)) == name
        return
    suggested = ast.literal_eval(said.split("Nearest legal name: ")[1].split(".\nThe grammar is ")[0])
    assert str(DeviceName.parse(suggested)) == suggested
    assert suggested.isascii() and suggested.isprintable() and not set(suggested) & set("'\"\\ ")
    assert "/job:JOB/task:T/KIND:I" in said


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("/job:worker/task:1/gpu:0", "/job:worker/task:1/gpu:0"),
        ("/job:worker/replica:0/task:1/device:GPU:0", "/job:worker/task:1/gpu:0"),
        ("/device:GPU:2", "/gpu:2"),
        ("/task:3/cpu:0", "/task:3/cpu:0"),
        ("/job:ps", "/job:ps"),
        ("cuda:1", "/gpu:1"),
        ("cuda", "/gpu:0"),
        ("mps", "/mps:0"),
        ("cpu", "/cpu:0"),
        ("gpu:1", "/gpu:1"),
        ("/GPU:0", "/gpu:0"),
        ("/job:worker/gpu", "/job:worker/gpu:0"),
        ("meta", "/meta:0"),
    ],
)
def test_every_spelling_of_the_grammar_reads_as_one_name(text, canonical):
    assert str(DeviceName.parse(text)) == canonical


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("/gpuu:0", "/gpu:0"),
        ("/gpu:zero", "/gpu:0"),
        ("/gpu:", "/gpu:0"),
        ("cuda:", "/gpu:0"),
        ("/task:", "/task:0"),
        ("/job:worker/tsk:1/cpu:0", "/job:worker/task:1/cpu:0"),
        ("cdua:1", "/gpu:1"),
        ("/gpu:-1", "/gpu:1"),
        ("/task", "/task:0"),
        ("/task:0/gpu:1:2", "/task:0/gpu:1"),
        ("", "/cpu:0"),
        ("/job:/task:1", "/task:1"),
        ("job=worker task=2 gpu", "/job:worker/task:2/gpu:0"),
    ],
)
def test_a_malformed_name_is_answered_with_the_nearest_legal_one(wrong, nearest):
    with pytest.raises(ValueError, match="Nearest legal name") as caught:
        DeviceName.parse(wrong)
    assert repr(wrong) in str(caught.value)
    assert f"Nearest legal name: {nearest!r}" in str(caught.value)


def test_torch_and_the_course_name_the_same_devices():
    for text in ("cpu", "cuda:1", "mps:0", "meta"):
        assert DeviceName.parse(torch.device(text)).torch == torch.device(text)
        assert name_of(torch.device(text)) == str(DeviceName.parse(text))
    assert torch.ones(1).device == DeviceName.parse("/cpu:0").torch, "a CPU tensor's device has no index"
    assert name_of(torch.device("xpu:1")) == "/xpu:1", "one outside the grammar keeps torch's name"


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"kind": "gpu"},
        {"index": 0},
        {"kind": "tpu", "index": 0},
        {"kind": "gpu", "index": -1},
        {"kind": "gpu", "index": True},
        {"kind": "gpu", "index": 1.5},
        {"task": "0"},
        {"task": 10**9},
        {"job": "a/b"},
        {"job": "a b"},
        {"job": "'"},
        {"job": "1st"},
        {"job": "wörker"},
        {"job": ""},
    ],
)
def test_impossible_parts_are_refused(parts):
    with pytest.raises(ValueError, match=r"DeviceName\("):
        DeviceName(**parts)


def test_a_name_cannot_be_changed_and_a_tasks_is_no_torch_device():
    with pytest.raises(AttributeError):
        DeviceName.parse("/gpu:0").index = 1
    with pytest.raises(ValueError, match="a task, not a device"):
        _ = DeviceName.parse("/job:ps/task:0").torch


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_last_index_that_torch_has_is_taken_and_the_first_that_it_would_wrap_is_refused(kind):
    assert DeviceName.parse(f"/{kind}:127").torch.index == 127
    for wrapped in (128, 300):
        with pytest.raises(ValueError, match="from 0 to 127"):
            _ = DeviceName.parse(f"/{kind}:{wrapped}").torch


def test_the_local_part_is_what_a_task_calls_its_own_device():
    assert str(DeviceName.parse("/job:worker/task:1/gpu:0").local) == "/gpu:0"
    assert DeviceName.parse("/job:worker/task:1").local is None


@given(names())
def test_every_spelling_of_a_name_reads_as_the_same_name(name):
    full = DeviceName.parse(name.tensorflow)
    assert (full.job, full.task) == (name.job or "localhost", name.task or 0)
    assert full.local == name.local
    assert DeviceName.parse(str(name).upper().replace("JOB:", "job:")).local == name.local
    assert DeviceName.parse(name) is name


@given(DEVICES.filter(bool).filter(lambda device: device[1] <= 127))
def test_a_device_survives_being_torchs_and_back(device):
    name = DeviceName(None, None, *device)
    assert DeviceName.parse(name.torch) == name
    assert DeviceName.parse(str(name.torch)) == name


@given(names(), names())
def test_the_order_is_total_and_agrees_with_equality(one, other):
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (not other < one)


def test_numbers_are_ordered_as_numbers_and_a_task_stands_before_its_devices():
    texts = ["/job:ps/task:2", "/job:ps/task:2/cpu:0", "/job:ps/task:2/gpu:0", "/job:ps/task:10", "/job:worker/task:0"]
    assert [str(name) for name in sorted(map(DeviceName.parse, reversed(texts)))] == texts
    with pytest.raises(TypeError):
        _ = DeviceName.parse("/gpu:0") < "/gpu:1"
