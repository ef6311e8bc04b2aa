"""Signatures of plans by the members' P-256 keys: each confirms the plan that it takes part in."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from grassvine.foundations.errors import PlanError
from grassvine.peers.identity.cards import Card
from grassvine.peers.identity.certificates import public_key

# What is signed begins with this, so that a signature made for something else never counts.
DOMAIN = b"grassvine: I take part in this plan, version 1\n"
DIGEST_BYTES = 32
MAX_SIGNATURE = 80  # bytes: ECDSA as DER


def sign_plan(key: ec.EllipticCurvePrivateKey, digest: bytes) -> bytes:
    """Return the signature of a plan's digest."""
    return key.sign(_signed(digest), ec.ECDSA(hashes.SHA256()))


def verify_plan(card: Card, digest: bytes, signature: bytes) -> None:
    """Raise :class:`PlanError` unless the owner of a card has signed this digest."""
    try:
        if len(signature) > MAX_SIGNATURE:
            raise InvalidSignature
        public_key(card.x509).verify(signature, _signed(digest), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise PlanError(
            f"{card.name} has not signed this plan; {card.name} must join the same plan."
        ) from None


def _signed(digest: bytes) -> bytes:
    if len(digest) != DIGEST_BYTES:
        raise ValueError(f"the digest of a plan has {DIGEST_BYTES} bytes, not {len(digest)}")
    return DOMAIN + digest
