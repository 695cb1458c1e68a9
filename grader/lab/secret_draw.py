"""The random questions of a submission, which nobody can know in advance.

The class's secret, the student, the lab and the bytes handed in give the secret of one grading: the same file always
gets the same questions, so marking again changes nothing; any other file gets new ones, so an earlier counterexample is
nothing to learn by heart.
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
