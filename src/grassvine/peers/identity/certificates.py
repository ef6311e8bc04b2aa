"""Self-signed P-256 certificates, one per member, pinned by the plan; nobody vouches for them."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from grassvine.foundations.errors import PlanError

VALID = timedelta(days=825)
EARLY = timedelta(days=1)  # clocks of other members may be behind
MAX_CERTIFICATE = 4096  # characters
UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


def self_signed(key: ec.EllipticCurvePrivateKey, name: str, now: datetime | None = None) -> str:
    """Return a certificate as PEM, whose only alternative name is that of the member."""
    begin = (now or datetime.now(UTC)) - EARLY
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + EARLY + VALID)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _as_text(certificate)


def checked_certificate(text: object, name: str) -> x509.Certificate:
    """Return the certificate of a member, or raise :class:`PlanError`; dates are not checked.

    Exactly one P-256 certificate that is signed by its own key, is for the name alone and is not an
    authority; in the one encoding that it has.
    """
    what = f"the certificate of {name}"
    if not isinstance(text, str) or len(text) > MAX_CERTIFICATE:
        raise PlanError(f"{what} is not a short text; use the card as grassvine wrote it.")
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        basics = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        key = certificate.public_key()
        encoded = _as_text(certificate)
    except UNREADABLE as cause:
        reason = " ".join(str(cause).split())
        raise PlanError(
            f"{what} cannot be read ({reason}); use the card as grassvine wrote it."
        ) from None
    if encoded != text:
        raise PlanError(f"{what} contains more than a certificate; use the card as it was written.")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise PlanError(f"{what} has a key that is not P-256; make one by 'grassvine peer init'.")
    if list(names) != [x509.DNSName(name)]:
        raise PlanError(f"{what} is for other names than {name} alone; ask its owner for the card.")
    if basics.ca:
        raise PlanError(f"{what} is that of an authority; make one by 'grassvine peer init'.")
    try:
        certificate.verify_directly_issued_by(certificate)
    except (InvalidSignature, ValueError, TypeError):
        raise PlanError(
            f"{what} is not signed by its own key; ask its owner for the card again."
        ) from None
    return certificate


def require_valid(certificate: x509.Certificate, name: str, now: datetime | None = None) -> None:
    """Raise :class:`PlanError` if a certificate has expired or is not valid yet."""
    moment = now or datetime.now(UTC)
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if moment > end:
        raise PlanError(
            f"the certificate of {name} expired on {end:%Y-%m-%d}; {name} needs a new identity "
            "('grassvine peer init') and the members a new plan."
        )
    if moment < begin:
        raise PlanError(
            f"the certificate of {name} is not valid before {begin:%Y-%m-%d %H:%M} UTC; set the "
            "clock of this computer, or wait."
        )


def public_key(certificate: x509.Certificate) -> ec.EllipticCurvePublicKey:
    """Return the key of a checked certificate."""
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    return key


def _as_text(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
