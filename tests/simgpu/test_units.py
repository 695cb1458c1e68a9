"""Seconds and bytes in words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course import units
from simgpu.units import bytes_in_words, seconds_in_words


@given(st.integers(1025, 2**50))
def test_sizes_are_written_with_two_decimals_and_their_unit(count):
    text = bytes_in_words(count)
    number, unit = text.split()
    assert re.fullmatch(r"\d+\.\d\d", number)
    assert float(number) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit] == pytest.approx(count, rel=0.006)


@given(st.floats(0, 1e5))
def test_seconds_are_written_as_the_course_writes_them(seconds):
    assert seconds_in_words(seconds) == units.in_words(seconds)
