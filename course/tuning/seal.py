"""The check sum in each line of a journal: of that line and of all before it, so that no flipped bit goes unnoticed."""

import json
import zlib
from typing import Any

_KEY = b',"crc":'


def sealed(change: dict[str, Any], before: int) -> tuple[dict[str, Any], int]:
    """Return (`change` with its seal, the check sum of the journal that ends with it); `before`: that up to here."""
    with_seal = {**change, "crc": zlib.crc32(_written(change), before)}
    return with_seal, zlib.crc32(_written(with_seal) + b"\n", before)


def _written(change):
    return json.dumps(change, separators=(",", ":")).encode()


def check_sums(lines: list[bytes]) -> list[tuple[bool, int]]:
    """Return for each line of a journal whether it is as it was written, and the check sum of the journal up to it.

    Journals of before have lines without a seal; none comes after one with a seal.
    """
    checked, before, any_seal = [], 0, False
    for line in lines:
        body, key, seal = line.rpartition(_KEY)
        whole = seal == b"%d}" % zlib.crc32(body + b"}", before) if key else not any_seal
        any_seal, before = any_seal or bool(key), zlib.crc32(line + b"\n", before)
        checked.append((whole, before))
    return checked
