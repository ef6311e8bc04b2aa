"""Find out in words why a neighbour cannot be reached or refuses the connection.

gRPC only says that a neighbour is unavailable. The probe takes the same way, through the proxy if
there is one, and looks at each stage: our own certificate, the neighbour's name, its port, TLS, the
certificate that it presents, and whether it accepts ours.
"""

import base64
import ipaddress
import os
import socket
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit

from grassvine.engines.peers.transport.certificates import (
    fault,
    fingerprint,
    issuer_of,
    lapsed,
    names_of,
)
from grassvine.engines.peers.transport.credentials import Identity, Neighbour
from grassvine.foundations.errors import DataError

PROBE_SECONDS = 5.0
PROXY_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")  # in gRPC's order
EXEMPT_VARIABLES = ("no_grpc_proxy", "no_proxy")
# What both sides of an HTTP/2 connection say first; an empty frame of settings ends it.
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


class Unreachable(Exception):
    """What prevents the link, as a sentence."""


def explain_refusal(
    identity: Identity | None, neighbour: Neighbour, timeout: float = PROBE_SECONDS
) -> str:
    """Connect to a neighbour; return in a sentence what prevents a link, or nothing.

    Parameters
    ----------
    identity : Identity or None
        Our certificate and key; without them links are in plain text.
    neighbour : Neighbour
        The neighbour, with the address at which it listens.
    timeout : float, default=5
        Seconds to wait for each reply.
    """
    if identity is not None:
        ours = identity.certificate, identity.name
        if sentence := fault(*ours) or lapsed(*ours):
            return sentence
    try:
        with _connected(neighbour, timeout) as connection:
            if identity is None:
                _greet_in_plaintext(connection, neighbour)
            else:
                _shake_hands(connection, identity, neighbour)
    except Unreachable as unreachable:
        return str(unreachable)
    return ""


def is_loopback(address: str) -> bool:
    """Return whether an address ``host:port`` is one of this machine."""
    host, _ = _split(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def proxy_for(address: str) -> str:
    """Return the address of the proxy that gRPC uses for an address, or nothing."""
    found = next((os.environ[key] for key in PROXY_VARIABLES if os.environ.get(key)), "")
    exempt = next((os.environ[key] for key in EXEMPT_VARIABLES if os.environ.get(key)), "")
    host, _ = _split(address)
    suffixes = [part.strip().lower() for part in exempt.split(",") if part.strip()]
    if is_loopback(address) or any(host.lower().endswith(suffix) for suffix in suffixes):
        return ""
    return found


@contextmanager
def _connected(neighbour: Neighbour, timeout: float) -> Iterator[socket.socket]:
    """Connect to a neighbour, through the proxy if there is one."""
    name, address = neighbour.name, str(neighbour.address)
    proxy = urlsplit(proxy_for(address))
    place = f"the proxy {proxy.hostname}" if proxy.hostname else f"{name} at {address}"
    host, port = _split(address)
    headers = {}
    connection = HTTPConnection(host, port, timeout=timeout)
    if proxy.hostname:
        connection = HTTPConnection(proxy.hostname, proxy.port or 80, timeout=timeout)
        if proxy.username:
            user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
            headers["Proxy-Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
        connection.set_tunnel(host, port, headers)
    try:
        connection.connect()
        yield connection.sock
    except socket.gaierror:
        raise Unreachable(f"the name of {place} is unknown here; check it for mistakes.") from None
    except TimeoutError:
        raise Unreachable(
            f"{place} does not answer within {timeout:g} seconds; a firewall may drop the "
            "connection, or the machine is down."
        ) from None
    except ConnectionRefusedError:
        raise Unreachable(
            f"the port of {place} is closed; it has not been started yet, or a firewall refuses."
        ) from None
    except (OSError, HTTPException) as error:
        raise Unreachable(f"{place} cannot be reached ({error}).") from None
    finally:
        connection.close()


def _greet_in_plaintext(connection: socket.socket, neighbour: Neighbour) -> None:
    connection.sendall(HTTP2_GREETING)
    if connection.recv(9)[3:] != HTTP2_GREETING[-6:]:
        raise Unreachable(
            f"{neighbour.name} at {neighbour.address} does not take links in plain text."
        )


def _shake_hands(connection: socket.socket, identity: Identity, neighbour: Neighbour) -> None:
    """Raise :class:`Unreachable` unless both sides accept each other's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # to see which certificate it is; nothing is sent
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    with tempfile.TemporaryDirectory() as folder:  # only its owner can read it
        path = Path(folder) / "identity.pem"
        path.write_bytes(identity.certificate + b"\n" + identity.key)
        context.load_cert_chain(path)
    name, address = neighbour.name, neighbour.address
    try:
        with context.wrap_socket(connection, server_hostname=name) as encrypted:
            if sentence := _mismatch(encrypted.getpeercert(binary_form=True), neighbour):
                raise Unreachable(sentence)
            if encrypted.recv(1):  # a listener that accepts us speaks first
                return
    except TimeoutError:
        raise Unreachable(f"{name} at {address} accepts connections but does not go on.") from None
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            raise Unreachable(
                f"what answers for {name} at {address} does not speak TLS; another program or a "
                "proxy may use the port."
            ) from None
        if "VERSION" in str(error.reason):
            raise Unreachable(f"what answers for {name} at {address} lacks TLS 1.3.") from None
    except OSError:
        pass
    raise Unreachable(
        f"{name} ended the connection: it does not accept the certificate of {identity.name}; its "
        "plan may be older or newer, its clock wrong, or what answers is another program."
    )


def _mismatch(presented: bytes | None, neighbour: Neighbour) -> str:
    """Return how a presented certificate differs from the card, or why it is not valid."""
    name = neighbour.name
    if presented is None:
        return f"what answers for {name} presents no certificate."
    if fingerprint(presented) == fingerprint(neighbour.certificate):
        return lapsed(presented, name)
    try:
        found, issuer = ", ".join(names_of(presented)) or "nobody", issuer_of(presented)
    except DataError:
        return f"what answers for {name} presents a certificate that cannot be read."
    if found != name:
        return (
            f"what answers for {name} at {neighbour.address} presents a certificate of {found} "
            f"(issuer {issuer}): the address is that of somebody else, or a device in between "
            "decrypts the connection (TLS inspection); ask for an exception."
        )
    return (
        f"the certificate presented for {name} was replaced (issuer {issuer}): {name} has a new "
        "card and needs a new plan, or a device in between decrypts the connection (TLS "
        "inspection); compare fingerprints by telephone."
    )


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port) if port.isdecimal() else 443
