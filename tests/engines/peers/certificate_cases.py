"""Certificates for tests: right ones, and wrong ones of every kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from grassvine.engines.peers.transport.credentials import Identity, Neighbour

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Authority:
    """Whoever signs: a name and a key."""

    name: str
    key: Key


def new_key() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def signed(
    name: str,
    *,
    key: Key | None = None,
    names: Sequence[str] | None = None,
    by: Authority | None = None,
    begins: timedelta = -DAY,
    ends: timedelta = DAY,
) -> Identity:
    """Return a certificate and its key: self-signed and valid unless said otherwise."""
    key = key or new_key()
    by = by or Authority(name, key)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_common_name(name))
        .issuer_name(_common_name(by.name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins)
        .not_valid_after(now + ends)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(one) for one in names or (name,)]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(by.key, hashes.SHA256())
    )
    return Identity(
        0,
        name,
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def numbered(identity: Identity, number: int) -> Identity:
    return Identity(number, identity.name, identity.certificate, identity.key)


def key_of(identity: Identity) -> Key:
    key = serialization.load_pem_private_key(identity.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    return key


def card(identity: Identity, address: str | None = None) -> Neighbour:
    """Return what others know of a member."""
    return Neighbour(identity.number, identity.name, identity.certificate, address)


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
