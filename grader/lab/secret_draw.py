"""Chance that cannot be known in advance: which inputs a submission is asked on.

The class has a secret. From it, the student, the lab and the bytes handed in comes the secret of one grading: the same
file is always asked the same, so marking again changes nothing; any other file is asked anew, so there is nothing in
an earlier counterexample to learn by heart.
"""

import hashlib
import hmac

import numpy as np


def draw_secret(class_secret: bytes, student: str, lab: str, notebook: bytes) -> bytes:
    """Return the secret, bytes, of grading `notebook` (bytes) of `student` for `lab` (names)."""
    parts = [student.encode(), lab.encode(), hashlib.sha256(notebook).digest()]
    message = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hmac.new(class_secret, message, hashlib.sha256).digest()


def drawing(secret: bytes, purpose: str) -> np.random.Generator:
    """Return the `numpy.random.Generator` for one `purpose`, such as an exercise's name, in the grading of `secret`."""
    seed = hmac.new(secret, purpose.encode(), hashlib.sha256).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(seed, "little")))
