"""TLS between tasks: one short-lived certificate that every task of a cluster holds, and nobody else.

Whoever holds the key can join, and run code; so it lives in memory for a local cluster, in a file that only its owner
may read for tasks started by hand.
"""

import datetime
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Certificate:
    """A certificate that vouches for itself, and its private key, both as PEM text."""

    certificate: str
    key: str = field(repr=False)


def new_certificate(days=365):
    """Return a new `Certificate` valid for `days` days, on the P-256 curve (a key takes 1 ms; RSA up to 300)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "course-cluster")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
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
    return Certificate(
        made.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    )


def security(certificate):
    """Return Dask's `Security` for a `Certificate`, or for plain TCP when it is None."""
    from distributed.security import Security

    if certificate is None:
        return Security(require_encryption=False)
    roles = ("client", "scheduler", "worker")
    files = {f"tls_{role}_{kind}": text for role in roles for kind, text in vars(certificate).items() if kind == "key"}
    files |= {f"tls_{role}_cert": certificate.certificate for role in roles}
    return Security(require_encryption=True, tls_ca_file=certificate.certificate, **files)
