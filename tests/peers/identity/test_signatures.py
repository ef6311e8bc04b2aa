import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from tests.peers.houses import identity

from grassvine.foundations.errors import PlanError
from grassvine.peers.identity.signatures import sign_plan, verify_plan

DIGEST = bytes(range(32))
A, B = identity("clinic-a"), identity("clinic-b")


def test_a_signature_is_of_one_plan_by_one_member() -> None:
    signature = sign_plan(A.key, DIGEST)
    verify_plan(A.card, DIGEST, signature)
    for card, digest, given in (
        (B.card, DIGEST, signature),
        (A.card, DIGEST[::-1], signature),
        (A.card, DIGEST, sign_plan(B.key, DIGEST)),
        (A.card, DIGEST, b""),
        (A.card, DIGEST, signature[:-1]),
        (A.card, DIGEST, signature + b"\0" * 100),
        (A.card, DIGEST, b"\xff" * 70),
    ):
        with pytest.raises(PlanError, match=f"{card.name} has not signed this plan"):
            verify_plan(card, digest, given)


def test_what_is_signed_for_something_else_does_not_count() -> None:
    signature = A.key.sign(DIGEST, ec.ECDSA(hashes.SHA256()))
    with pytest.raises(PlanError, match="has not signed"):
        verify_plan(A.card, DIGEST, signature)


def test_only_digests_are_signed() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        sign_plan(A.key, b"anything")
