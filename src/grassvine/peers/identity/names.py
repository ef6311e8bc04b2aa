"""Names of members, and addresses at which they listen."""

import ipaddress
import re

from grassvine.foundations.errors import PlanError

MAX_NAME = 63
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.IGNORECASE)
_ADDRESS = re.compile(r"(\[[^\[\]]+\]|[^\[\]:]+):([0-9]{1,5})", re.ASCII)


def as_name(given: object) -> str:
    """Return the name of a member, which is also the DNS name in its certificate.

    Letters are lower case, so that names that DNS does not tell apart are never two members; a
    name that ends in a number could be taken for an IP address.
    """
    if (
        not isinstance(given, str)
        or len(given) > MAX_NAME
        or not _NAME.fullmatch(given)
        or given.rsplit(".", 1)[-1].isdigit()
    ):
        raise PlanError(
            f"{given!r} is not a name of a member; use up to {MAX_NAME} lower-case letters, "
            "digits, hyphens and dots, such as clinic-a or north.clinic-a."
        )
    return given


def as_address(given: object) -> str:
    """Return an address of the form host:port, where IPv6 addresses are in brackets."""
    found = _ADDRESS.fullmatch(given) if isinstance(given, str) else None
    if found is None or not (_is_host(found[1]) and 1 <= int(found[2]) <= 65535):
        raise PlanError(
            f"{given!r} is not an address; use host:port, such as clinic-a.example:443 or "
            "[2001:db8::7]:443."
        )
    return found[0]


def _is_host(text: str) -> bool:
    try:
        if text.startswith("["):
            ipaddress.IPv6Address(text[1:-1])
        elif text.rsplit(".", 1)[-1].isdigit():
            ipaddress.IPv4Address(text)
        else:
            return len(text) <= 253 and _HOST.fullmatch(text) is not None
    except ValueError:
        return False
    return True
