"""Cards: what a member tells the others about itself, in public."""

import base64
import binascii
import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import tomli_w
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from grassvine.engines.peers.transport.certificates import fingerprint
from grassvine.foundations.errors import PlanError
from grassvine.peers.documents import Types, check_keys, parsed, read_text
from grassvine.peers.identity.certificates import checked_certificate, require_valid
from grassvine.peers.identity.names import as_address, as_name

FORMAT = 1
SUFFIX = ".card"
MAX_BYTES = 16_384
X25519_BYTES = 32
_KEYS: Types = {"format": (int,), "name": (str,), "certificate": (str,), "x25519": (str,)}
_OPTIONAL: Types = {"address": (str,)}


@dataclass(frozen=True, slots=True)
class Card:
    """A member in public; everything is checked, but nothing says who really wrote it.

    Parameters
    ----------
    name : str
    certificate : str
        PEM.
    x25519 : str
        The public key for masks, as Base64.
    address : str, optional
        Where it listens, as host:port; None if it only dials.
    """

    name: str
    certificate: str
    x25519: str
    address: str | None = None

    def __post_init__(self) -> None:
        """Check everything but the dates."""
        as_name(self.name)
        if self.address is not None:
            as_address(self.address)
        checked_certificate(self.certificate, self.name)
        _check_x25519(self.x25519, self.name)

    @property
    def listens(self) -> bool:
        """Whether others can connect to the member."""
        return self.address is not None

    @property
    def x509(self) -> x509.Certificate:
        """The parsed certificate."""
        return x509.load_pem_x509_certificate(self.certificate.encode())

    @property
    def fingerprint(self) -> bytes:
        """The SHA-256 digest of the certificate as DER, which both sides of a link compare."""
        return fingerprint(self.certificate.encode())

    def require_valid(self, now: datetime | None = None) -> None:
        """Raise :class:`PlanError` if the certificate is not valid now."""
        require_valid(self.x509, self.name, now)

    def as_table(self) -> dict[str, Any]:
        """Return the card as a TOML table."""
        address = {} if self.address is None else {"address": self.address}
        return {
            "format": FORMAT,
            "name": self.name,
            **address,
            "x25519": self.x25519,
            "certificate": self.certificate,
        }

    def to_toml(self) -> str:
        """Return the card as text."""
        return tomli_w.dumps(self.as_table(), multiline_strings=True)

    @classmethod
    def from_table(cls, table: object, where: str = "") -> "Card":
        """Read a card from a TOML table that others wrote."""
        found = check_keys(table, where, _KEYS, _OPTIONAL)
        if found.pop("format") != FORMAT:
            raise PlanError(
                f"{where}format is not {FORMAT}; all members need the same version of grassvine."
            )
        return cls(**found)

    @classmethod
    def from_toml(cls, text: str) -> "Card":
        """Read a card from text that others wrote."""
        return cls.from_table(parsed(text, "the card"))


def read_card(path: str | os.PathLike[str]) -> Card:
    """Read the card of a member from a file."""
    try:
        return Card.from_toml(read_text(path, MAX_BYTES, "a card"))
    except PlanError as error:
        raise (error if str(path) in str(error) else error.within(str(path))) from None


def x25519_text(key: X25519PublicKey) -> str:
    """Return a public key as Base64."""
    return base64.b64encode(key.public_bytes_raw()).decode()


def x25519_key(text: str) -> X25519PublicKey:
    """Return the public key of a card."""
    return X25519PublicKey.from_public_bytes(base64.b64decode(text))


def _check_x25519(text: str, name: str) -> None:
    """Refuse a key of another length, and those few with which every secret would be zero."""
    try:
        raw = base64.b64decode(text, validate=True)
        if len(raw) != X25519_BYTES or base64.b64encode(raw).decode() != text:
            raise ValueError
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(raw))
    except (ValueError, binascii.Error):
        raise PlanError(
            f"x25519 of {name} is not a public key of {X25519_BYTES} bytes in Base64; use the card "
            "as grassvine wrote it."
        ) from None
