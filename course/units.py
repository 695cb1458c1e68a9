"""Quantities in words: seconds with the unit that suits their size. A leaf: it imports nothing."""


def in_words(seconds: float) -> str:
    """Return `seconds` with a unit that suits its size.

    >>> in_words(0.0000123), in_words(0.119), in_words(7.0)
    ('12.3 µs', '119 ms', '7.00 s')
    """
    unit, scale = next((u for u in (("s", 1), ("ms", 1e-3)) if seconds >= u[1]), ("µs", 1e-6))
    return f"{f'{seconds / scale:#.3g}'.rstrip('.')} {unit}"
