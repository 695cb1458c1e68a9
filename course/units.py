"""Quantities in words: seconds, bytes, and large numbers by the letter of their thousands. A leaf."""

from simgpu.units import seconds_in_words as in_words

__all__ = ["in_words", "short", "short_bytes"]


def short_bytes(count: int) -> str:
    """Return a count of bytes in at most three digits and a unit.

    >>> short_bytes(4), short_bytes(1_048_576), short_bytes(262_144)
    ('4 B', '1.05 MB', '262 kB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def short(value: float) -> str:
    """Return a number in three digits with the letter of its thousands, to stand before a unit.

    >>> short(67e12), short(4.8e12), short(1e8), short(7)
    ('67 T', '4.8 T', '100 M', '7 ')
    """
    for letter, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g} "
