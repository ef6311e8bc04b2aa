"""Checks of what a run needs: identity, certificates, port, proxy, the way to each neighbour."""

import hashlib
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import unquote, urlsplit

from cryptography import x509

from grassvine.foundations.errors import GrassvineError
from grassvine.peers.cards import Card
from grassvine.peers.group_plan import GroupPlan
from grassvine.peers.identity import KEY, OwnIdentity
from grassvine.peers.join import own_identity

PACKAGES = ("grassvine", "grpcio", "cryptography", "protobuf", "numpy")
PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")  # as gRPC reads them, in this order
TIMEOUT = 10.0
MAX_ANSWER = 65_536


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
    environment: Mapping[str, str] = os.environ,
    now: datetime | None = None,
    timeout: float = TIMEOUT,
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
    found.append(_proxy(environment))
    if card.address is not None:
        found.append(_port(card.address))
    cards = {one.name: one for one in plan.members}
    for name in plan.dials(card.name):
        found.append(_way_to(cards[name], identity, environment, timeout))
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


def _proxy(environment: Mapping[str, str]) -> Finding:
    used = _proxy_of(environment)
    if used is not None:
        name, address = used
        host = urlsplit(address).hostname
        return Finding(
            "proxy", host is not None, f"{name} names {host or 'no host'}; CONNECT is used"
        )
    ignored = [name.upper() for name in PROXIES if environment.get(name.upper())]
    if ignored:
        return Finding(
            "proxy",
            False,
            f"{ignored[0]} is set, but gRPC reads only {ignored[0].lower()}; set that",
        )
    return Finding("proxy", True, "none")


def _proxy_of(environment: Mapping[str, str]) -> tuple[str, str] | None:
    return next(((name, environment[name]) for name in PROXIES if environment.get(name)), None)


def _port(address: str) -> Finding:
    """Look whether this member's port is free, or taken by a run that is already there."""
    _, port = _host_and_port(address)
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


def _way_to(
    card: Card, identity: OwnIdentity, environment: Mapping[str, str], timeout: float
) -> Finding:
    """Connect to a neighbour as the run would, and compare the certificate that it shows."""
    assert card.address is not None
    what = f"link with {card.name}"
    try:
        with (
            _connected(card.address, environment, timeout) as plain,
            _context(identity).wrap_socket(plain, server_hostname=card.name) as secure,
        ):
            shown = secure.getpeercert(binary_form=True) or b""
            if hashlib.sha256(shown).digest() != card.fingerprint:
                return Finding(what, False, _other_certificate(shown, card))
            accepted = _is_accepted(secure)
    except TimeoutError:
        says = f"{card.address} did not answer in {timeout:g} s; a firewall may drop packets"
    except socket.gaierror:
        says = f"the name of {card.address} is not known; check DNS"
    except ConnectionRefusedError:
        says = f"nobody listens at {card.address}; {card.name} may not have started yet"
    except ssl.SSLError as cause:
        says = f"{card.address} does not speak TLS 1.3 ({cause.reason or cause})"
    except OSError as cause:
        says = f"{card.address} cannot be reached ({cause.strerror or cause})"
    else:
        if accepted:
            says = f"{card.address} shows the certificate of the plan, and accepts this member's"
            return Finding(what, True, says)
        says = (
            f"{card.name} refuses the certificate of {identity.card.name}; it may run an older "
            "plan, with another card of this member"
        )
    return Finding(what, False, says)


def _context(identity: OwnIdentity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # compared by its digest instead
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    with NamedTemporaryFile("w", suffix=".pem") as public:  # ssl reads certificates from files
        public.write(identity.card.certificate)
        public.flush()
        context.load_cert_chain(public.name, identity.folder / KEY)
    return context


def _is_accepted(secure: ssl.SSLSocket) -> bool:
    """Return whether the other side accepts our certificate.

    In TLS 1.3 it judges it after our side of the handshake has ended: gRPC then sends its settings,
    or an alert, or closes the connection.
    """
    try:
        return bool(secure.recv(1))
    except TimeoutError:
        raise
    except (ssl.SSLError, ConnectionError):
        return False


def _other_certificate(shown: bytes, card: Card) -> str:
    """Explain a certificate that is not the one of the plan."""
    try:
        certificate = x509.load_der_x509_certificate(shown)
        issuer, subject = certificate.issuer.rfc4514_string(), certificate.subject.rfc4514_string()
    except ValueError:
        return f"{card.address} shows something that is no certificate"
    if issuer != subject:
        return (
            f"{card.address} shows a certificate issued by {issuer!r}: something on the way "
            "inspects TLS; ask for an exception for this address"
        )
    return (
        f"{card.address} shows another certificate ({subject!r}) than the plan has; {card.name} "
        "may have a new identity, or runs another plan"
    )


def _connected(address: str, environment: Mapping[str, str], timeout: float) -> socket.socket:
    """Return a connection, through the proxy if there is one for this host."""
    host, port = _host_and_port(address)
    proxy = _proxy_of(environment)
    skipped = environment.get("no_grpc_proxy") or environment.get("no_proxy", "")
    if proxy is None or any(_ends_with(host, one.strip()) for one in skipped.split(",")):
        return socket.create_connection((host, port), timeout)
    place = urlsplit(proxy[1])
    plain = socket.create_connection((place.hostname or "", place.port or 80), timeout)
    try:
        login = ""
        if place.username is not None:
            pair = f"{unquote(place.username)}:{unquote(place.password or '')}"
            login = f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n"
        plain.sendall(f"CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n{login}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer and len(answer) < MAX_ANSWER:
            if not (more := plain.recv(1)):
                break
            answer += more
        status = answer.split(b"\r\n", 1)[0].decode("latin-1")
        if len(status.split()) < 2 or status.split()[1] != "200":
            raise OSError(f"the proxy {place.hostname} answered {status[:80]!r}")
    except BaseException:
        plain.close()
        raise
    return plain


def _ends_with(host: str, domain: str) -> bool:
    return bool(domain) and f".{host}".endswith(f".{domain.lstrip('.')}")


def _host_and_port(address: str) -> tuple[str, int]:
    host, port = address.rsplit(":", 1)
    return host.strip("[]"), int(port)
