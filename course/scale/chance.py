"""Chance that Python and a page share: the same seed gives both the same numbers; its twin is `chance.js`."""

from collections.abc import Iterator

_WORD = 0xFFFFFFFF


def uniforms(seed: int) -> Iterator[float]:
    """Yield numbers from 0 to 1: mulberry32 (Tommy Ettinger, 2017, public domain), five lines in any language."""
    state = seed & _WORD
    while True:
        state = (state + 0x6D2B79F5) & _WORD
        mixed = (state ^ state >> 15) * (state | 1) & _WORD
        mixed ^= mixed + ((mixed ^ mixed >> 7) * (mixed | 61) & _WORD) & _WORD
        yield (mixed ^ mixed >> 14) / 2**32
