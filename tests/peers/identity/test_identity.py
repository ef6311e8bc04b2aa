"""The private folder: modes, never overwritten, never printed."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from grassvine.foundations.errors import OutputError, PlanError
from grassvine.peers.identity.identity import CARD, KEY, X25519_KEY, create_identity, load_identity

NAME = "clinic-a"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        own = create_identity(NAME, "a.example:443", tmp_path / "deep" / "own")
    finally:
        os.umask(before)
    assert mode(own.folder) == 0o700
    assert {one.name for one in own.folder.iterdir()} == {KEY, X25519_KEY, CARD}
    assert {mode(own.folder / name) for name in (KEY, X25519_KEY, CARD)} == {0o600}
    assert [one.name for one in own.folder.parent.iterdir()] == ["own"]


def test_it_is_read_again(tmp_path: Path) -> None:
    own = create_identity(NAME, None, tmp_path / "own")
    again = load_identity(tmp_path / "own")
    assert again.card == own.card and again.card.address is None
    assert again.key_pem == own.key_pem
    assert again.x25519.private_bytes_raw() == own.x25519.private_bytes_raw()
    assert isinstance(again.key.curve, ec.SECP256R1)


def test_an_identity_is_never_overwritten(tmp_path: Path) -> None:
    own = create_identity(NAME, None, tmp_path / "own")
    for folder in (tmp_path / "own", tmp_path / "own" / KEY):
        with pytest.raises(OutputError, match="never overwritten"):
            create_identity(NAME, None, folder)
    assert load_identity(tmp_path / "own").key_pem == own.key_pem
    assert [one.name for one in tmp_path.iterdir()] == ["own"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="never overwritten"):
        create_identity(NAME, None, tmp_path / "other")
    assert (tmp_path / "other" / "notes.txt").read_text() == "mine"


def test_nothing_is_left_where_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        create_identity(NAME, None, tmp_path / "own")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", KEY, X25519_KEY])
def test_a_folder_that_others_may_read_is_refused(tmp_path: Path, name: str) -> None:
    create_identity(NAME, None, tmp_path / "own")
    path = tmp_path / "own" / name
    path.chmod(mode(path) | 0o040)
    with pytest.raises(PlanError, match="other users of this computer"):
        load_identity(tmp_path / "own")


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="not a private folder"):
        load_identity(tmp_path / "absent")
    one = create_identity(NAME, None, tmp_path / "one").folder
    other = create_identity(NAME, None, tmp_path / "other").folder
    for name in (KEY, X25519_KEY, CARD):
        kept = (one / name).read_bytes()
        (one / name).write_bytes((other / name).read_bytes())
        with pytest.raises(PlanError, match="not those of the card"):
            load_identity(one)
        (one / name).write_bytes(b"nonsense")
        with pytest.raises(PlanError, match=r"is not a key|not valid TOML"):
            load_identity(one)
        (one / name).unlink()
        with pytest.raises(PlanError, match="cannot be read"):
            load_identity(one)
        (one / name).write_bytes(kept)
        (one / name).chmod(0o600)
    load_identity(one)


def test_no_key_is_printed(tmp_path: Path) -> None:
    own = create_identity(NAME, None, tmp_path / "own")
    numbers = own.key.private_numbers().private_value
    secrets = [
        "PRIVATE",
        hex(numbers)[2:],
        str(numbers),
        own.x25519.private_bytes_raw().hex(),
        own.key_pem.decode().splitlines()[1],
    ]
    for text in (repr(own), str(own), f"{own}", own.card.to_toml(), repr([own])):
        assert not any(secret in text for secret in secrets)
