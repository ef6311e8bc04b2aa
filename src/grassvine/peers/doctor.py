"""Checks of what a run needs: identity, certificates, port, proxy, the way to each neighbour."""

import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from grassvine.engines.peers.transport.credentials import Identity, Neighbour
from grassvine.engines.peers.transport.probe import (
    PROBE_SECONDS,
    PROXY_VARIABLES,
    explain_refusal,
    proxy_for,
)
from grassvine.foundations.errors import GrassvineError
from grassvine.peers.identity.cards import Card
from grassvine.peers.joining.join import own_identity
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.status import read_status

MAX_CLOCK_SECONDS = 300.0  # more, and certificates may seem not yet valid, or expired
PACKAGES = ("grassvine", "grpcio", "cryptography", "protobuf", "numpy")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, whether it is as it should be, and what to do if not."""

    what: str
    fine: bool
    says: str


def examine(
    plan: GroupPlan,
    folder: Path | None = None,
    *,
    now: datetime | None = None,
    timeout: float = PROBE_SECONDS,
) -> list[Finding]:
    """Return the findings of all checks; none of them sends anything of the member's data."""
    found = [_versions(), *(_certificate(card, now) for card in plan.members)]
    try:
        plan.require_same_timetable()
        identity = own_identity(plan, folder)
    except GrassvineError as error:
        return [*found, Finding("identity", False, str(error))]
    card = identity.card
    found.append(Finding("identity", True, f"{card.name}, in {identity.folder}"))
    found.append(_clock(identity.folder, now or datetime.now(UTC)))
    if card.address is not None:
        found.append(_port(card.address))
    number = plan.number_of(card.name)
    own = Identity(number, card.name, card.certificate.encode(), identity.key_pem)
    for name in plan.dials(card.name):
        found += _way_to(own, plan.members[plan.number_of(name)], plan.number_of(name), timeout)
    for name in plan.dialled_by(card.name):
        says = f"{name} dials this member; 'grassvine peer doctor' there checks the way"
        found.append(Finding(f"link with {name}", True, says))
    return found


def _versions() -> Finding:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    says = ", ".join(f"{name} {one}" for name, one in versions.items())
    return Finding("versions", "not installed" not in versions.values(), says)


def _certificate(card: Card, now: datetime | None) -> Finding:
    moment = now or datetime.now(UTC)
    try:
        card.require_valid(moment)
    except GrassvineError as error:
        clock = f"; the clock of this computer shows {moment:%Y-%m-%d %H:%M} UTC"
        return Finding(f"certificate of {card.name}", False, f"{error}{clock}")
    end = card.x509.not_valid_after_utc
    return Finding(f"certificate of {card.name}", True, f"valid until {end:%Y-%m-%d}")


def _clock(folder: Path, now: datetime) -> Finding:
    """Compare the clock with those that neighbours told in the last run."""
    says = f"{now:%Y-%m-%d %H:%M} UTC"
    try:
        clocks = read_status(folder).clocks
    except GrassvineError:
        clocks = {}
    if not clocks:
        return Finding("clock", True, f"{says}; compared with those of neighbours after a run")
    name = max(clocks, key=lambda one: abs(clocks[one]))
    ahead = clocks[name]
    direction = "ahead of" if ahead > 0.0 else "behind"
    says += f"; in the last run that of {name} was {abs(ahead):.1f} s {direction} it"
    return Finding("clock", abs(ahead) <= MAX_CLOCK_SECONDS, says)


def _port(address: str) -> Finding:
    """Look whether this member's port is free, or taken by a run that is already there."""
    port = int(address.rsplit(":", 1)[1])
    what = f"port {port}"
    try:
        with socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("", port))
    except PermissionError:
        return Finding(
            what, False, "this user may not listen there; choose a port above 1023, or allow it"
        )
    except OSError as cause:
        return Finding(
            what,
            False,
            f"it cannot be used ({cause.strerror}); unless a run is on, stop what has it",
        )
    return Finding(what, True, "free")


def _way_to(own: Identity, card: Card, number: int, timeout: float) -> list[Finding]:
    """Connect to a neighbour as the run would, and see what each shows to the other."""
    assert card.address is not None
    neighbour = Neighbour(number, card.name, card.certificate.encode(), card.address)
    refusal = explain_refusal(own, neighbour, timeout)
    says = refusal or f"{card.address} shows the certificate of the plan, and accepts this member's"
    return [_proxy(card), Finding(f"link with {card.name}", not refusal, says)]


def _proxy(card: Card) -> Finding:
    """Tell which proxy is on the way; gRPC reads variables in lower case only."""
    what = f"proxy to {card.name}"
    if used := urlsplit(proxy_for(str(card.address))).hostname:
        return Finding(what, True, f"{used}, by CONNECT")
    shouted = (name.upper() for name in PROXY_VARIABLES)
    ignored = next((name for name in shouted if os.environ.get(name)), None)
    if ignored and not any(os.environ.get(name) for name in PROXY_VARIABLES):
        says = f"{ignored} is set, but gRPC reads only {ignored.lower()}; set that"
        return Finding(what, False, says)
    return Finding(what, True, "none")
