"""Chapter 01's exercises on GPUs: right answers pass, plausible wrong ones meet a counterexample that names the op."""

from functools import partial

import pytest
import torch

from course import place
from course.checks import check
from course.checks.watched_gpus import gpus_for
from course.devices import simulated_gpus
from simgpu import active
from tests.notebooks.answers import model_answers
from tests.notebooks.checked import named

GPUS = ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]


ANSWERS = model_answers("01_devices", torch=torch, place=place)
fit, split_product = ANSWERS["fit"], ANSWERS["split_product"]


def by_to(a, b):
    return (a.to("cuda:0") @ b.to("cuda:0")).cpu()


def thrown(darts, seed=lambda index: index, home=lambda inside: int(inside.sum().item()), devices=GPUS):
    counts = []
    for index, gpu in enumerate(devices):
        generator = torch.Generator(gpu).manual_seed(seed(index))
        points = torch.rand(2, darts // 4 + (index < darts % 4), generator=generator, device=gpu)
        counts.append(home(points.square().sum(0) < 1))
    return counts


RIGHT = {
    "placed": ("on_the_gpu", ANSWERS["on_the_gpu"]),
    "moved by hand": ("on_the_gpu", by_to),
    "mended": ("fit", fit),
    "split": ("split_product", split_product),
    "a seed each": ("darts_on_four", thrown),
}


@pytest.mark.parametrize("answer", RIGHT)
@pytest.mark.parametrize("simulated", [0, 4])
def test_a_right_answer_passes_with_and_without_a_simulation_of_the_readers(answer, simulated):
    name, function = RIGHT[answer]
    if not simulated:
        verdict = check(named(name, function))
    else:
        with simulated_gpus(simulated):
            verdict = check(named(name, function))
    assert verdict, verdict
    assert active() is None


def on_the_cpu(a, b):
    return a @ b


def left_there(a, b):
    with place("/gpu:0"):
        return a @ b


def moved_twice(a, b):
    a.to("cuda:0")
    return by_to(a, b)


def no_leaf(x, y, steps):
    x, y = x.to("cuda:0"), y.to("cuda:0")
    w = torch.zeros(x.shape[1], 1, requires_grad=True).to("cuda:0")
    for _ in range(steps):
        ((x @ w - y) ** 2).mean().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return w


def fitted(x, y, steps, moved=True, read=False, on_the_cpu=False):
    """Fit as the model answer does, but for one mistake."""
    x, y = (x.to("cuda:0"), y.to("cuda:0")) if moved else (x, y)
    w = torch.zeros(x.shape[1], 1, device="cuda:0", requires_grad=True)
    for _ in range(steps):
        loss = ((x.to("cuda:0") @ w - y.to("cuda:0")) ** 2).mean()
        loss.backward()
        if read:
            loss.item()
        with torch.no_grad():
            w.copy_(w.cpu() - 0.1 * w.grad.cpu() if on_the_cpu else w - 0.1 * w.grad)
            w.grad = None
    return w


def all_on_the_cpu(x, y, steps):
    w = torch.zeros(x.shape[1], 1)
    for _ in range(steps):
        w -= 0.1 * 2 * x.T @ (x @ w - y) / len(x)
    return w.to("cuda:0")


def whole_to_both(a, b):
    halves = [a.to(gpu).tensor_split(2)[index] @ b.to(gpu) for index, gpu in enumerate(GPUS[:2])]
    return torch.cat([half.cpu() for half in halves])


def wrong_order(a, b):
    return torch.cat([part.to(gpu).mm(b.to(gpu)).cpu() for part, gpu in zip(a.split(1), GPUS * 9, strict=False)][::-1])


def twice_the_product(a, b):
    for gpu in GPUS[:2]:
        a.to(gpu) @ b.to(gpu)
    return a @ b


def even_only(a, b):
    half = len(a) // 2
    return torch.cat([a[i * half : (i + 1) * half].to(GPUS[i]).mm(b.to(GPUS[i])).cpu() for i in range(2)])


WRONG = {
    "never moved": ("on_the_gpu", on_the_cpu, "no product ran on /gpu:0"),
    "left there": ("on_the_gpu", left_there, "back on the CPU"),
    "moved twice": ("on_the_gpu", moved_twice, "bytes moved to /gpu:0"),
    "no leaf": ("fit", no_leaf, "raised"),
    "data moved every step": ("fit", partial(fitted, moved=False), "bytes moved to /gpu:0"),
    "step on the CPU": ("fit", partial(fitted, on_the_cpu=True), "ran on the CPU"),
    "loss read every step": ("fit", partial(fitted, read=True), "came back"),
    "all on the CPU": ("fit", all_on_the_cpu, "ran on the CPU"),
    "one step too many": ("fit", lambda x, y, steps: fit(x, y, steps + 1), "expected"),
    "whole to both": ("split_product", whole_to_both, "bytes moved"),
    "joined in the wrong order": ("split_product", wrong_order, "expected"),
    "everything twice": ("split_product", twice_the_product, "computed"),
    "an odd row lost": ("split_product", even_only, "shape"),
    "one GPU for all": ("split_product", by_to, "/gpu:0 computed 2 of the 2 rows"),
    "the same seed": ("darts_on_four", lambda n: thrown(n, seed=lambda _: 7), "threw the same darts"),
    "the CPU throws": ("darts_on_four", lambda n: thrown(n, devices=["cpu"] * 4), "/gpu:0 made 0"),
    "one GPU throws": ("darts_on_four", lambda n: thrown(n, devices=["cuda:0"] * 4), "/gpu:1 made 0"),
    "all darts come home": (
        "darts_on_four",
        lambda n: thrown(n, home=lambda inside: int(inside.cpu().sum())),
        "bytes came home",
    ),
    "a square, no circle": (
        "darts_on_four",
        lambda n: thrown(n, home=lambda inside: int((inside | ~inside).sum()) - int(inside.device.index)),
        "standard errors",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_plausible_mistake_is_found_and_named(mistake):
    name, answer, said = WRONG[mistake]
    verdict = check(named(name, answer))
    assert verdict.state == "wrong" and said in verdict.message, verdict


def test_a_simulation_with_too_few_gpus_is_named_with_the_way_out():
    with simulated_gpus(1), pytest.raises(RuntimeError, match=r"needs 2 GPUs.*close it"):
        gpus_for(2)


def test_the_readers_simulation_outlives_the_check():
    with simulated_gpus(4) as gpus:
        x = torch.ones(2, device="cuda:3")
        check(named("split_product", split_product))
        assert active() is gpus and (x + 1).sum().item() == 4
