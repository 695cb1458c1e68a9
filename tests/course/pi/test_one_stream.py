"""Servers with one seed: the estimate is one server's, the error that is claimed is that of different darts."""

import numpy
import pytest

from course.pi import METHODS, estimate_pi, one_stream


@pytest.mark.parametrize("method", METHODS)
def test_the_estimate_is_one_servers_and_the_claim_is_too_small(method):
    found, alone = one_stream(4_003, 4, 5, method), estimate_pi(1000, 5, method=method)
    assert (found.value, found.samples, found.inside) == (alone.value, 4000, 4 * alone.inside)
    assert found.standard_error == pytest.approx(alone.standard_error / 2)
    assert one_stream(1000, 1, 5, method) == alone


def test_over_many_seeds_the_error_is_as_many_times_the_claim_as_the_root_of_the_servers():
    found = [one_stream(16_000, 16, seed) for seed in range(400)]
    honest = [estimate_pi(16_000, seed) for seed in range(400)]
    for estimates, times in ((found, 4), (honest, 1)):
        ratio = numpy.sqrt(numpy.mean([(one.error / one.standard_error) ** 2 for one in estimates]))
        assert abs(ratio - times) < 4 * times / numpy.sqrt(2 * 400)  # four standard errors of a root mean square


@pytest.mark.parametrize(("samples", "servers"), [(100, 0), (7, 4), (3, 4)])
def test_too_few_darts_or_servers_are_refused(samples, servers):
    with pytest.raises(ValueError, match="one_stream"):
        one_stream(samples, servers)
