"""TLS between tasks: one short-lived certificate that only the tasks of a cluster hold.

Whoever holds the key can join, and run code; so it lives in memory for a local cluster, in a file that only its owner
may read for tasks started by hand.
(Dask's `Security.temporary()` makes one too, with an RSA key, and no file of it for tasks started by hand.)
"""

import datetime
import os
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from distributed.security import Security

from course.signals import held_back


@dataclass(frozen=True)
class Certificate:
    """A certificate that vouches for itself, and its private key, both as PEM text."""

    certificate: str
    key: str = field(repr=False)


def new_certificate(days: int = 365) -> Certificate:
    """Return a new `Certificate` valid for `days` days, on the P-256 curve (a key takes 1 ms; RSA up to 300)."""
    with held_back():
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "course-cluster")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # machines' clocks differ a little
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return Certificate(signed.public_bytes(pem).decode(), private.decode())


def write_certificate(path: str | Path, days: int = 365) -> Certificate:
    """Write a new certificate and its key to the new file `path`, which only its owner may read; return it.

    `days`: how long it is valid. Raises FileExistsError where there is such a file already.
    """
    certificate = new_certificate(days)
    try:
        with open(path, "x", encoding="ascii", opener=partial(os.open, mode=0o600)) as file:
            file.write(certificate.certificate + certificate.key)
    except FileExistsError:
        raise FileExistsError(f"write_certificate({str(path)!r}): the file exists; remove it or name another") from None
    return certificate


def read_certificate(path: str | Path) -> Certificate:
    """Return the `Certificate` in the file `path`.

    Raises FileNotFoundError, and ValueError where the file has none, it has expired, or others may read it.
    """
    path = Path(path)
    try:
        text, mode = path.read_text(encoding="ascii", errors="replace"), path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(
            f"certificate {str(path)!r}: there is no such file. Make one by `python -m course certificate {path}` and "
            "give a copy to every task of the cluster."
        ) from None
    if os.name == "posix" and mode & 0o077:
        raise ValueError(f"certificate {str(path)!r}: others may read the key in it; say `chmod 600 {path}`")
    blocks = re.findall(r"(-----BEGIN ([A-Z ]+)-----.*?-----END \2-----\n?)", text, re.S)
    pem_of = {kind: block for block, kind in blocks}
    if not {"CERTIFICATE", "PRIVATE KEY"} <= pem_of.keys():
        raise ValueError(
            f"certificate {str(path)!r}: it must hold a CERTIFICATE and a PRIVATE KEY in PEM form, as "
            "`python -m course certificate FILE` writes them"
        )
    _check_dates(path, pem_of["CERTIFICATE"])
    return Certificate(pem_of["CERTIFICATE"], pem_of["PRIVATE KEY"])


def _check_dates(path, text):
    from cryptography import x509

    try:
        dated = x509.load_pem_x509_certificate(text.encode())
    except ValueError as error:
        raise ValueError(f"certificate {str(path)!r}: it is damaged ({error}); copy it again") from None
    now, begins, ends = datetime.datetime.now(datetime.UTC), dated.not_valid_before_utc, dated.not_valid_after_utc
    if begins <= now <= ends:
        return
    when = f"it expired on {ends:%Y-%m-%d}" if now > ends else f"it is valid from {begins:%Y-%m-%d %H:%M} UTC on"
    raise ValueError(
        f"certificate {str(path)!r}: {when}, and here it is {now:%Y-%m-%d %H:%M} UTC. Make a new one by "
        "`python -m course certificate FILE`, for every member, or set this machine's clock"
    )


def security(certificate: Certificate | None) -> Security:
    """Return Dask's `Security` for a `Certificate`, or for plain TCP when it is None."""
    if certificate is None:
        return Security(require_encryption=False)
    pair = {"cert": certificate.certificate, "key": certificate.key}
    files = {f"tls_{role}_{kind}": text for role in ("client", "scheduler", "worker") for kind, text in pair.items()}
    return Security(require_encryption=True, tls_ca_file=certificate.certificate, **files)
