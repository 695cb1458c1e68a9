"""Whether Kubernetes takes a value, checked before it is sent: a name, quantity, label, variable or image.

Names by RFC 1123; the others as in the API's reference, https://kubernetes.io/docs/reference/kubernetes-api/.
"""

import re
from decimal import Decimal
from typing import Any

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_POWERS: dict[str, Any] = {"": 1, "m": Decimal("0.001")}
_POWERS |= {name: 1000**power for power, name in enumerate("kMGTPE", 1)}
_POWERS |= {f"{name}i": 1024**power for power, name in enumerate("KMGTPE", 1)}
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # a DNS label, RFC 1123, section 2.1
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_IMAGE = re.compile(  # the reference's grammar, https://github.com/distribution/reference
    r"([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?"
)
#: Less memory than this, and somebody meant another unit: torch alone takes 200 MB.
_LEAST_MEMORY = 64 * 1024**2


def quantity(text: object) -> Decimal:
    """Return what a quantity of Kubernetes' says, "500m" or "4Gi"; ValueError with the legal forms."""
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"{text!r} is no quantity: say cores as '2' or '500m', memory as '4G' (10^9) or '4Gi' (2^30)")
    return Decimal(match[1]) * _POWERS[match[2] or ""]


def cores(text: object) -> Decimal:
    """Return how many cores a quantity says; ValueError unless it is a thousandth of a core or more."""
    number = quantity(text)
    if number < Decimal("0.001"):
        raise ValueError(f"{text!r} cores is less than a thousandth of one; say '500m' or '2'")
    return number


def memory(text: object) -> int:
    """Return how many bytes a quantity says; ValueError where it can't have been meant so."""
    number = quantity(text)
    if number < _LEAST_MEMORY:
        raise ValueError(f"{text!r} is {number:f} bytes; say '512Mi' or '2G'")
    return int(number)


def dns_label(text: object) -> str:
    """Return `text`, a DNS label; ValueError with what RFC 1123 asks."""
    if not isinstance(text, str) or not _LABEL.fullmatch(text):
        raise ValueError(f"{text!r} is no name: up to 63 of a-z, 0-9 and '-', not at its ends (RFC 1123)")
    return text


def image(text: object) -> str:
    """Return `text`, the name of an image; ValueError with its form."""
    if not isinstance(text, str) or not _IMAGE.fullmatch(text):
        raise ValueError(f"{text!r} is no image's name: 'registry.example.org/group/course:1.0', without capitals")
    return text


def variable(name: object, value: object) -> None:
    """Raise ValueError unless these are an environment variable's name and value."""
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise ValueError(f"{name!r} is no variable's name: letters, digits, '_', '-' and '.', no digit first")
    if not isinstance(value, str):
        raise ValueError(f"{name}={value!r}: a variable's value is a text")


def label(key: object, value: object) -> None:
    """Raise ValueError unless these are a label's key and value."""
    if not isinstance(key, str) or not _LABEL_KEY.fullmatch(key):
        raise ValueError(
            f"{key!r} is no label's key: up to 63 letters, digits, '-', '_' and '.', perhaps after 'dns.name/'"
        )
    if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
        raise ValueError(f"{key}={value!r}: a label's value is up to 63 letters, digits, '-', '_' and '.'")
