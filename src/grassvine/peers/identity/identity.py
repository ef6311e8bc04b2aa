"""The private folder of a member: its keys, which never leave it, and its card."""

import errno
import os
import shutil
import stat
import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from platformdirs import user_data_path

from grassvine.foundations.errors import OutputError, PlanError
from grassvine.foundations.files import flush_folder
from grassvine.peers.identity.cards import SUFFIX, Card, read_card, x25519_text
from grassvine.peers.identity.certificates import public_key, self_signed
from grassvine.peers.identity.names import as_address, as_name

KEY, X25519_KEY, CARD = "p256.key", "x25519.key", f"own{SUFFIX}"
MAX_KEY = 4096  # bytes
EXISTS = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EACCES}
_PEM = serialization.Encoding.PEM
_PLAIN = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()


@dataclass(frozen=True, slots=True)
class OwnIdentity:
    """A member's own card and keys; what is printed of it contains no key.

    Attributes
    ----------
    folder : Path
        The private folder.
    card : Card
    """

    folder: Path
    card: Card
    _key: ec.EllipticCurvePrivateKey
    _x25519: X25519PrivateKey

    @property
    def key(self) -> ec.EllipticCurvePrivateKey:
        """The P-256 key of the certificate."""
        return self._key

    @property
    def x25519(self) -> X25519PrivateKey:
        """The key for masks."""
        return self._x25519

    @property
    def key_pem(self) -> bytes:
        """The P-256 key as PEM, for TLS."""
        return self._key.private_bytes(_PEM, *_PLAIN)

    def __repr__(self) -> str:
        """Return a description without keys."""
        return f"OwnIdentity({self.card.name}, {self.folder})"


def default_folder(name: str) -> Path:
    """Return the private folder of a member unless another is chosen."""
    return user_data_path("grassvine", appauthor=False) / "peers" / as_name(name)


def create_identity(
    name: str, address: str | None, folder: Path | None = None, now: datetime | None = None
) -> OwnIdentity:
    """Make keys and card of a new member in a folder that must not exist, or be empty."""
    as_name(name)
    if address is not None:
        as_address(address)
    target = folder or default_folder(name)
    key, masks = ec.generate_private_key(ec.SECP256R1()), X25519PrivateKey.generate()
    card = Card(name, self_signed(key, name, now), x25519_text(masks.public_key()), address)
    contents = {
        KEY: key.private_bytes(_PEM, *_PLAIN),
        X25519_KEY: masks.private_bytes(_PEM, *_PLAIN),
        CARD: card.to_toml().encode(),
    }
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir(mode=0o700)
        for file, data in contents.items():
            _write_private(partial / file, data)
        flush_folder(partial)
        partial.rename(target)  # fails if there is anything but an empty folder
        flush_folder(target.parent)
    except OSError as cause:
        if os.path.lexists(target) and cause.errno in EXISTS:
            raise OutputError(
                f"{target} already exists; an identity is never overwritten, so choose another "
                "folder, or remove that one."
            ) from None
        raise OutputError(
            f"{target} cannot be written ({cause.strerror}); choose another folder."
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return OwnIdentity(target, card, key, masks)


def load_identity(folder: Path) -> OwnIdentity:
    """Read keys and card; refuse what others may read, or keys that do not fit the card."""
    if not folder.is_dir():
        raise PlanError(
            f"{folder} is not a private folder of a member; make one by 'grassvine peer init', or "
            "name the right one."
        )
    _require_private(folder)
    key = _read_key(folder / KEY)
    masks = _read_key(folder / X25519_KEY)
    card = read_card(folder / CARD)
    fits = (
        isinstance(key, ec.EllipticCurvePrivateKey)
        and isinstance(masks, X25519PrivateKey)
        and key.public_key() == public_key(card.x509)
        and x25519_text(masks.public_key()) == card.x25519
    )
    if not fits:
        raise PlanError(
            f"the keys in {folder} are not those of the card there; restore the folder, or make a "
            "new identity by 'grassvine peer init'."
        )
    assert isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(masks, X25519PrivateKey)
    return OwnIdentity(folder, card, key, masks)


def _write_private(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _require_private(folder: Path) -> None:
    """Refuse what other users of the computer may read, where the system has such modes."""
    if os.name == "nt":
        return
    for path in (folder, folder / KEY, folder / X25519_KEY):
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError as cause:
            raise PlanError(
                f"{path} cannot be read ({cause.strerror}); name the private folder that "
                "'grassvine peer init' made."
            ) from None
        if mode & 0o077:
            raise PlanError(
                f"{path} may be read or changed by other users of this computer (mode {mode:04o}); "
                f"take that away by 'chmod go-rwx {path}'."
            )


def _read_key(path: Path) -> object:
    try:
        with path.open("rb") as file:
            return serialization.load_pem_private_key(file.read(MAX_KEY), password=None)
    except OSError as cause:
        raise PlanError(f"{path} cannot be read ({cause.strerror}); restore the folder.") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise PlanError(
            f"{path} is not a key that 'grassvine peer init' wrote; restore the folder."
        ) from None
