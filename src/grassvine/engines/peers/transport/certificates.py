"""Certificates of members: self-signed, P-256, with the member's name as their only name.

Nobody vouches for them: a member is who holds the key of the certificate in its card.
"""

import hashlib
from datetime import UTC, datetime
from typing import Any

from grassvine.engines.peers.transport.extra import load_peers_extra
from grassvine.foundations.errors import DataError


def fingerprint(certificate: bytes) -> bytes:
    """Return the SHA-256 digest of a certificate in PEM or DER form."""
    if not certificate.startswith(b"\x30"):  # as DER always does
        certificate = to_der(certificate)
    return hashlib.sha256(certificate).digest()


def to_der(pem: bytes) -> bytes:
    """Return the first certificate of a PEM file in DER form."""
    encoding = load_peers_extra("cryptography.hazmat.primitives.serialization").Encoding.DER
    return bytes(_parsed(pem).public_bytes(encoding))


def fault(certificate: bytes, name: str) -> str:
    """Return why a certificate can never be that of a member, as a sentence, or nothing."""
    x509 = load_peers_extra("cryptography.x509")
    ec = load_peers_extra("cryptography.hazmat.primitives.asymmetric.ec")
    unreadable = (DataError, ValueError, x509.InvalidVersion, x509.DuplicateExtension)
    try:
        parsed = _parsed(certificate)
        key, names = parsed.public_key(), names_of(certificate)
    except (*unreadable, load_peers_extra("cryptography.exceptions").UnsupportedAlgorithm):
        return f"the certificate of {name} cannot be read; ask for the card again."
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        return f"the certificate of {name} has a key of another kind than P-256; make a new card."
    if names != (name,):
        found = ", ".join(names) or "nobody"
        return f"the certificate of {name} is made out to {found}; make a new card."
    try:
        parsed.verify_directly_issued_by(parsed)
    except Exception:  # of several libraries
        return f"the certificate of {name} is not signed with its own key; make a new card."
    return ""


def current_time() -> datetime:
    """Return the time by the clock of the machine."""
    return datetime.now(UTC)


def lapsed(certificate: bytes, name: str) -> str:
    """Return why a readable certificate is not valid at this time, as a sentence, or nothing."""
    parsed, now = _parsed(certificate), current_time()
    clock = f"and the clock here shows {now:%Y-%m-%d %H:%M} UTC"
    if now < parsed.not_valid_before_utc:
        begins = f"{parsed.not_valid_before_utc:%Y-%m-%d %H:%M}"
        return f"the certificate of {name} is not valid before {begins}, {clock}; set the clock."
    if now > parsed.not_valid_after_utc:
        ends = f"{parsed.not_valid_after_utc:%Y-%m-%d %H:%M}"
        return (
            f"the certificate of {name} was valid until {ends}, {clock}; make a new card and plan."
        )
    return ""


def names_of(certificate: bytes) -> tuple[str, ...]:
    """Return the DNS names of a certificate."""
    x509 = load_peers_extra("cryptography.x509")
    extensions = _parsed(certificate).extensions
    try:
        found = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(one.value if isinstance(one, x509.DNSName) else str(one.value) for one in found)


def issuer_of(certificate: bytes) -> str:
    """Return who issued a certificate, as it says itself."""
    return str(_parsed(certificate).issuer.rfc4514_string())


def _parsed(certificate: bytes) -> Any:
    x509 = load_peers_extra("cryptography.x509")
    try:
        if certificate.startswith(b"\x30"):
            return x509.load_der_x509_certificate(certificate)
        return x509.load_pem_x509_certificate(certificate)
    except ValueError:
        raise DataError("a certificate cannot be read; ask for the card again.") from None
