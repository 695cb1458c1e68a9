"""Seconds and bytes in words. It imports nothing."""


def seconds_in_words(seconds: float) -> str:
    """Return `seconds` with a unit that suits its size.

    >>> seconds_in_words(0.0000123), seconds_in_words(0.119), seconds_in_words(7.0)
    ('12.3 µs', '119 ms', '7.00 s')
    """
    unit, scale = next((u for u in (("s", 1), ("ms", 1e-3)) if seconds >= u[1]), ("µs", 1e-6))
    return f"{f'{seconds / scale:#.3g}'.rstrip('.')} {unit}"


def bytes_in_words(count: int) -> str:
    """Return a number of bytes as CUDA's messages write it.

    >>> bytes_in_words(512), bytes_in_words(20 * 2**20), bytes_in_words(3 * 2**29)
    ('512 bytes', '20.00 MiB', '1.50 GiB')
    """
    if count <= 1024:
        return f"{count} bytes"
    for unit, size in (("KiB", 2**10), ("MiB", 2**20)):
        if count <= size * 1024:
            return f"{count / size:.2f} {unit}"
    return f"{count / 2**30:.2f} GiB"
