"""What Kubernetes takes for a quantity, and for a variable's or a label's name: checked before it is sent.

By the API's reference, https://kubernetes.io/docs/reference/kubernetes-api/; a DNS label by RFC 1123, section 2.1.
"""

import re
from decimal import Decimal
from typing import Any

DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_LABEL = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
#: An option with names and values -> the patterns of both, and these in words.
PAIRS = {
    "environment": (
        r"[-._a-zA-Z][-._a-zA-Z0-9]*",
        r"(?s).*",
        "a variable's name has letters, digits, '_', '-' and '.', no digit first; its value is a text",
    ),
    "labels": (
        rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_LABEL}",
        rf"({_LABEL})?",
        "a label's key, perhaps after 'dns.name/', and its value are up to 63 letters, digits, '-', '_' and '.'",
    ),
}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_POWERS: dict[str, Any] = {"": 1, "m": Decimal("0.001")}
_POWERS |= {name: 1000**power for power, name in enumerate("kMGTPE", 1)}
_POWERS |= {f"{name}i": 1024**power for power, name in enumerate("KMGTPE", 1)}
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
