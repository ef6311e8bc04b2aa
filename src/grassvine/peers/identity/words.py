"""Eight words that stand for a plan, to be compared over the telephone.

They are 88 bits, 11 bits a word in the English list of BIP-39, derived from the plan's digest by
scrypt. Each attempt to find a plan with the same words thus takes a tenth of a second and 32 MB. To
replace a plan on its way takes 2⁸⁸ attempts; somebody who drafts two plans with the same words, to
stand between the members, needs 2⁴⁴.
"""

import hashlib
from functools import cache

from mnemonic import Mnemonic

N_WORDS = 8
BITS = 11  # of a word
SALT, COST = b"grassvine words 1", 2**15


@cache
def word_list() -> tuple[str, ...]:
    """Return the list of 2048 words."""
    return tuple(Mnemonic("english").wordlist)


@cache
def words_of(digest: bytes) -> str:
    """Return the words of a plan's digest, separated by spaces."""
    size = N_WORDS * BITS // 8
    stretched = hashlib.scrypt(digest, salt=SALT, n=COST, r=8, p=1, maxmem=2**26, dklen=size)
    number = int.from_bytes(stretched)
    places = [(number >> BITS * place) % (1 << BITS) for place in reversed(range(N_WORDS))]
    return " ".join(word_list()[place] for place in places)


def same_words(given: str, digest: bytes) -> bool:
    """Return whether these are a digest's words; case, spaces, commas and hyphens do not matter."""
    plain = given.casefold().replace(",", " ").replace("-", " ")
    return " ".join(plain.split()) == words_of(digest)
