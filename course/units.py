"""Quantities in words: seconds with the unit that suits their size. A leaf: it imports nothing."""


def in_words(seconds):
    """Return `seconds` with a unit that suits its size.

    >>> in_words(0.0000123), in_words(0.119), in_words(7.0)
    ('12.3 µs', '119 ms', '7.00 s')
    """
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{f'{seconds / scale:#.3g}'.rstrip('.')} {unit}"
