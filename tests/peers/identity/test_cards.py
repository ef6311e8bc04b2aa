"""Cards: what is believed of a stranger's text is only what was checked."""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from tests.peers.houses import identity

from grassvine.foundations.errors import PlanError
from grassvine.peers.identity.cards import MAX_BYTES, Card, read_card
from grassvine.peers.identity.certificates import VALID, self_signed

NAME = "clinic-a"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
P256 = ec.generate_private_key(ec.SECP256R1())


def card() -> Card:
    return identity(NAME).card


def certificate(
    names: tuple[str, ...] = (NAME,),
    key: object = P256,
    signer: object = None,
    *,
    ca: bool | None = False,
    subject: str = NAME,
) -> str:
    """Return a certificate that differs in one respect from that of a member."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())  # type: ignore[attr-defined]
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + VALID)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(one) for one in names])
        builder = builder.add_extension(alternatives, critical=False)
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca, None), critical=True)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    signed = builder.sign(signer or key, algorithm)  # type: ignore[arg-type]
    return signed.public_bytes(serialization.Encoding.PEM).decode()


def with_ip_address() -> str:
    import ipaddress

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    names = [x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(P256.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + VALID)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(False, None), critical=True)
        .sign(P256, hashes.SHA256())
    )
    return signed.public_bytes(serialization.Encoding.PEM).decode()


BAD: dict[str, tuple[Callable[[], str], str]] = {
    "another name": (lambda: certificate(("clinic-b",)), "for other names"),
    "two names": (lambda: certificate((NAME, "clinic-b")), "for other names"),
    "a name and an address": (with_ip_address, "for other names"),
    "a wildcard": (lambda: certificate(("*",)), "for other names"),
    "no name": (lambda: certificate(()), "cannot be read"),
    "an authority": (lambda: certificate(ca=True), "an authority"),
    "no constraints": (lambda: certificate(ca=None), "cannot be read"),
    "another curve": (lambda: certificate(key=ec.generate_private_key(ec.SECP384R1())), "P-256"),
    "a weak curve": (lambda: certificate(key=ec.generate_private_key(ec.SECP192R1())), "P-256"),
    "an RSA key": (lambda: certificate(key=rsa.generate_private_key(65537, 2048)), "P-256"),
    "an Ed25519 key": (lambda: certificate(key=ed25519.Ed25519PrivateKey.generate()), "P-256"),
    "a stranger's signature": (
        lambda: certificate(signer=ec.generate_private_key(ec.SECP256R1())),
        "not signed by its own key",
    ),
    "two certificates": (lambda: certificate() + certificate(), "contains more"),
    "text before": (lambda: "hello\n" + certificate(), "contains more"),
    "other line breaks": (lambda: certificate().replace("\n", "\r\n"), "contains more"),
    "no certificate": (lambda: "hello", "cannot be read"),
    "a cut one": (lambda: certificate()[:300], "cannot be read"),
    "a long one": (lambda: certificate() * 20, "short text"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_certificate_is_refused_with_its_reason(what: str) -> None:
    make, reason = BAD[what]
    with pytest.raises(PlanError, match=reason) as caught:
        replace(card(), certificate=make())
    assert "\n" not in str(caught.value) and NAME in str(caught.value)


def test_a_good_one_of_the_same_making_is_accepted() -> None:
    for text in (certificate(), self_signed(P256, NAME, NOW)):
        assert replace(card(), certificate=text).certificate == text


@pytest.mark.parametrize(
    ("moment", "reason"),
    [
        (NOW - timedelta(days=2), "not valid before"),
        (NOW + VALID + timedelta(days=1), "expired on"),
    ],
)
def test_dates_are_checked_when_asked(moment: datetime, reason: str) -> None:
    one = replace(card(), certificate=self_signed(P256, NAME, NOW))
    one.require_valid(NOW)
    one.require_valid(NOW + VALID - timedelta(days=1))
    with pytest.raises(PlanError, match=reason):
        one.require_valid(moment)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "AAAA",
        "not base64!",
        base64.b64encode(bytes(31)).decode(),
        base64.b64encode(bytes(33)).decode(),
        base64.b64encode(bytes(32)).decode(),  # every shared secret would be zero
        base64.b64encode(b"\x01" + bytes(31)).decode(),
        base64.b64encode(bytes(range(32))).decode() + "\n",
        base64.b64encode(bytes(range(32))).decode().rstrip("="),
    ],
)
def test_a_bad_key_for_masks_is_refused(key: str) -> None:
    with pytest.raises(PlanError, match="x25519 of clinic-a is not a public key"):
        replace(card(), x25519=key)


def test_a_card_survives_toml() -> None:
    for one in (card(), identity("clinic-d", listens=False).card):
        assert Card.from_toml(one.to_toml()) == one
        assert Card.from_toml(one.to_toml()).to_toml() == one.to_toml()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('name = "clinic-a"', "name = 7", "name must be text"),
        ('name = "clinic-a"', 'name = "Clinic A"', "not a name"),
        ('name = "clinic-a"', 'name = "clinic-b"', "for other names"),
        ("clinic-a.example:443", "clinic-a.example", "not an address"),
        ("format = 1", "format = 2", "format is not 1"),
        ("format = 1", "format = true", "format must be a whole number"),
        ("format = 1\n", "", "format is missing"),
        ("x25519 =", "x2519 =", "x2519: unknown key"),
        ("name =", "name", "not valid TOML"),
    ],
)
def test_an_altered_card_is_refused_with_the_key(old: str, new: str, reason: str) -> None:
    text = card().to_toml()
    assert old in text
    with pytest.raises(PlanError, match=reason):
        Card.from_toml(text.replace(old, new, 1))


def test_a_file_that_is_no_card_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "big.card"
    path.write_text(card().to_toml() + "#" * MAX_BYTES)
    with pytest.raises(PlanError, match=f"big.card has more than {MAX_BYTES} bytes"):
        read_card(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="not text in UTF-8"):
        read_card(path)
    with pytest.raises(PlanError, match="cannot be read"):
        read_card(tmp_path / "absent.card")
    with pytest.raises(PlanError, match="cannot be read"):
        read_card(tmp_path)
    path.write_text(card().to_toml().replace("clinic-a", "x", 1))
    with pytest.raises(PlanError, match=r"big\.card: "):
        read_card(path)
