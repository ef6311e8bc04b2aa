import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grassvine.peers.identity.words import N_WORDS, same_words, word_list, words_of

DIGEST = bytes(range(32))


def test_the_list_has_2048_words_that_four_letters_tell_apart() -> None:
    words = word_list()
    assert len({word[:4] for word in words}) == 2048
    assert all(word.isascii() and word.islower() and word.isalpha() for word in words)


def test_the_words_are_those_of_the_first_version() -> None:
    """Members with different versions of grassvine must see the same words of the same plan."""
    assert words_of(DIGEST) == "clog elder amount another again squeeze elegant egg"


@settings(max_examples=10, deadline=None)  # each takes a tenth of a second, by intention
@given(st.binary(min_size=32, max_size=32), st.integers(0, 255))
def test_a_changed_bit_changes_the_words(digest: bytes, bit: int) -> None:
    changed = bytearray(digest)
    changed[bit // 8] ^= 1 << bit % 8
    assert len(words_of(digest).split()) == N_WORDS
    assert set(words_of(digest).split()) <= set(word_list())
    assert words_of(bytes(changed)) != words_of(digest)


@pytest.mark.parametrize(
    "change", [str.upper, str.title, lambda text: f"  {text.replace(' ', '   ')}\n"]
)
def test_case_and_spaces_do_not_matter(change) -> None:  # type: ignore[no-untyped-def]
    assert same_words(change(words_of(DIGEST)), DIGEST)
    assert same_words(words_of(DIGEST).replace(" ", "-"), DIGEST)
    assert same_words(words_of(DIGEST).replace(" ", ", "), DIGEST)


def test_other_words_are_others() -> None:
    words = words_of(DIGEST).split()
    for other in (words[:-1], words[::-1], [*words, words[0]], [], [*words[:-1], "zoo"]):
        assert not same_words(" ".join(other), DIGEST)
