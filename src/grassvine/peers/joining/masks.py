r"""Masks: what members add to their parts of sums, so that nobody sees anything but totals.

Two members i < j have a common secret by X25519, from one's own key and the other's card. From it
and the plan's digest HKDF derives the key of the pair. With this key, and the numbers of a sum and
of its round as nonce, ChaCha20 yields words k_ij. Member i sends

.. math:: x_i + Σ_{j>i} k_{ij} − Σ_{j<i} k_{ji} \mod 2^{64}

Each k_ij is added once and subtracted once, so the masks cancel in the total. To anybody who does
not know one of the secrets of i, this is uniform noise; only all others together know them all. Two
members need no link between them.

A mask must hide one payload only: the difference of two payloads under one mask is not hidden. So a
round's mask is given out once; what was sent under it is in the journal and is sent again, never
computed again; and a plan is not begun anew (:mod:`grassvine.peers.joining.begun`).
"""

import struct
from collections.abc import Sequence

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from grassvine.foundations.arrays import Words
from grassvine.foundations.errors import PeerError
from grassvine.peers.identity.cards import x25519_key

DOMAIN = b"grassvine masks 1"
KEY_BYTES = 32
# The counter of blocks, which begins at 0, the number of the sum, and that of the round.
NONCE = struct.Struct("<IQI")


class PairMasks:
    """The masks of one member for one agent that runs a plan.

    Parameters
    ----------
    digest : bytes
        The digest of the plan.
    key : X25519PrivateKey
        The member's own key.
    number : int
        The member's number.
    public : sequence of str
        The public keys of all members, as their cards have them.
    """

    def __init__(
        self, digest: bytes, key: X25519PrivateKey, number: int, public: Sequence[str]
    ) -> None:
        self._digest = digest
        self._own = self._derived(key.private_bytes_raw(), b"own %d" % number)
        self._added: list[bytes] = []  # the keys of pairs in which this member adds
        self._subtracted: list[bytes] = []
        for other, text in enumerate(public):
            if other == number:
                continue
            low, high = sorted((number, other))
            secret = key.exchange(x25519_key(text))
            pair = self._derived(secret, b"pair %d %d" % (low, high))
            (self._added if number == low else self._subtracted).append(pair)
        self._last = -1, -1
        self._zeros = b""

    def mask(self, number: int, attempt: int, size: int) -> Words:
        """Return the mask of a round: of a sum, the sum's round, and the size; each only once."""
        if (number, attempt) <= self._last:
            raise PeerError(
                f"the mask of sum {number}, round {attempt}, was used already, and a second "
                "message under it would reveal the difference; begin a new plan."
            )
        self._last = number, attempt
        mask = np.zeros(size, dtype=np.uint64)
        for key in self._added:
            mask += self._stream(key, number, attempt, size)
        for key in self._subtracted:
            mask -= self._stream(key, number, attempt, size)
        return mask

    def random(self, number: int, attempt: int, size: int) -> Words:
        """Return words that only this member knows; the same ones after a restart."""
        return self._stream(self._own, number, attempt, size)

    def _derived(self, secret: bytes, purpose: bytes) -> bytes:
        info = b"%b: %b" % (DOMAIN, purpose)
        return HKDF(SHA256(), KEY_BYTES, salt=self._digest, info=info).derive(secret)

    def _stream(self, key: bytes, number: int, attempt: int, size: int) -> Words:
        if len(self._zeros) < 8 * size:
            self._zeros = bytes(8 * size)
        words = np.empty(size, dtype="<u8")
        nonce = NONCE.pack(0, number, attempt)
        encryptor = Cipher(ChaCha20(key, nonce), mode=None).encryptor()
        encryptor.update_into(memoryview(self._zeros)[: 8 * size], words.view(np.uint8).data)
        return words.astype(np.uint64, copy=False)
