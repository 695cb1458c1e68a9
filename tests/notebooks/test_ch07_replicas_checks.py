"""Chapter 07's checks notice a plausible wrong answer."""

from operator import add

import torch
from hypothesis import given
from hypothesis import strategies as st

from course import map_reduce
from course.checks import check, same
from tests.notebooks.answers import model_answers
from tests.notebooks.checked import noticed, oracle

RIGHT = model_answers("07_replicas_mnist", map_reduce=map_reduce, add=add)
mean_gradient, partial_products, within_limit, *_ = RIGHT.values()


def counting_dropped_ones_as_versions(w, pushes, limit):
    fresh = [gradient for version, (pulled, gradient) in enumerate(pushes) if version - pulled <= limit]
    return w - 0.5 * sum(fresh), len(pushes) - len(fresh)


def rows_of_a(a, b, parts):
    return [piece @ b for piece in a.tensor_split(parts)]


def larger_parts_first(a, b, parts):
    return [x @ y for x, y in zip(a.tensor_split(parts, dim=1), b.tensor_split(parts), strict=True)]


def by_halves(parts, inputs, fit):
    mean = fit(parts[0])(inputs)
    for part in parts[1:]:
        mean = (mean + fit(part)(inputs)) / 2
    return mean


def weighted_by_rows(parts, inputs, fit):
    return sum(len(part) * fit(part)(inputs) for part in parts) / sum(map(len, parts))


WRONG = [
    ("mean_gradient", lambda gradients, sizes: sum(gradients) / len(gradients)),
    ("mean_gradient", lambda gradients, sizes: sum(gradients)),
    ("mean_gradient", lambda gradients, sizes: sum(g * n for g, n in zip(gradients, sizes, strict=True))),
    ("mean_gradient", lambda gradients, sizes: sum(g / n for g, n in zip(gradients, sizes, strict=True) if n)),
    ("partial_products", lambda a, b, parts: [a @ b] * parts),
    ("partial_products", lambda a, b, parts: a @ b),
    ("partial_products", lambda a, b, parts: partial_products(a, b, parts)[::-1]),
    ("partial_products", lambda a, b, parts: [a @ b / parts] * parts),
    ("partial_products", rows_of_a),
    ("partial_products", larger_parts_first),
    ("within_limit", lambda w, pushes, limit: (w - 0.5 * sum(g for _, g in pushes), 0)),
    ("within_limit", counting_dropped_ones_as_versions),
    ("within_limit", lambda w, pushes, limit: within_limit(w, pushes, limit - 1)),
    ("within_limit", lambda w, pushes, limit: within_limit(w, [(0, g) for _, g in pushes], limit)),
    ("ring_bytes", lambda size, ranks: 2 * size),
    ("ring_bytes", lambda size, ranks: 2 * (ranks - 1) * size),
    ("ring_bytes", lambda size, ranks: (ranks - 1) * (size // ranks)),
    ("ring_bytes", lambda size, ranks: 2 * ranks * (size // ranks)),
    ("ensemble", by_halves),
    ("ensemble", weighted_by_rows),
    ("ensemble", lambda parts, inputs, fit: fit(torch.cat(parts))(inputs)),
    ("ensemble", lambda parts, inputs, fit: sum(fit(part)(inputs) for part in parts)),
    ("ensemble", lambda parts, inputs, fit: fit(parts[-1])(inputs)),
    ("ensemble", lambda parts, inputs, fit: torch.stack([fit(part)(inputs) for part in parts]).median(dim=0).values),
    ("ensemble", lambda parts, inputs, fit: [fit(part)(inputs) for part in parts]),
]


def test_an_uneven_cut_is_told_by_one_row_of_three():
    told = check(larger_parts_first, "partial_products").message
    assert "partial_products([[-1.0, 2.0, -2.0]], [[-2.0], [1.0], [-3.0]], 2)" in told


test_a_plausible_wrong_answer_is_noticed = noticed(WRONG)

ORACLES = {name: oracle(name) for name in ("mean_gradient", "within_limit")}


gradients_and_sizes = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=1).filter(
    lambda found: any(size for _, size in found)
)


@given(gradients_and_sizes)
def test_the_mean_by_shares_is_the_oracles_mean_over_rows(found):
    gradients, sizes = [torch.tensor([g], dtype=torch.float64) for g, _ in found], [size for _, size in found]
    wanted = ORACLES["mean_gradient"](gradients, sizes)
    torch.testing.assert_close(mean_gradient(gradients, sizes), wanted, rtol=1e-9, atol=1e-9)


@given(st.floats(-5, 5), st.lists(st.integers(-3, 3)), st.integers(0, 3), st.data())
def test_pushes_within_a_limit_are_the_oracles(w, gradients, limit, data):
    pushes = [(data.draw(st.integers(0, place)), float(gradient)) for place, gradient in enumerate(gradients)]
    assert same(within_limit(w, pushes, limit), ORACLES["within_limit"](w, pushes, limit))
