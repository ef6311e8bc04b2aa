"""Who may talk to whom: mutual TLS in which every member is known by its very certificate.

The dialling side trusts exactly its neighbour's certificate. The listening side lets gRPC accept
certificates of its neighbours only, and compares the one presented with the cards when a stream
starts: a certificate with another member's name, signed with a neighbour's key, passes the
handshake. A stream over an older version of TLS than 1.3 is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grassvine.engines.peers.transport.certificates import fault, fingerprint, lapsed, names_of
from grassvine.engines.peers.transport.extra import load_grpc, load_peers_extra
from grassvine.foundations.errors import DataError, PlanError

TLS = b"TLSv1.3"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A member at the other end of a link: its certificate (PEM) and, if it is dialled, address."""

    number: int
    name: str
    certificate: bytes
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """The member that runs here: its certificate and the key to it (PEM)."""

    number: int
    name: str
    certificate: bytes
    key: bytes


def server_credentials(identity: Identity, neighbours: Iterable[Neighbour]) -> Any:
    """Return credentials that require a certificate and accept those of neighbours."""
    load_grpc()
    return load_peers_extra("grpc").ssl_server_credentials(
        [(identity.key, identity.certificate)],
        root_certificates=b"\n".join(one.certificate for one in neighbours),
        require_client_auth=True,
    )


def channel_credentials(identity: Identity, neighbour: Neighbour) -> Any:
    """Return credentials that trust exactly the neighbour's certificate."""
    load_grpc()
    return load_peers_extra("grpc").ssl_channel_credentials(
        root_certificates=neighbour.certificate,
        private_key=identity.key,
        certificate_chain=identity.certificate,
    )


def channel_options(neighbour: Neighbour) -> tuple[tuple[str, str], ...]:
    """Return the options with which the name in the certificate is compared, not the address."""
    (name,) = names_of(neighbour.certificate)
    return (("grpc.ssl_target_name_override", name),)


class Refused(Exception):
    """A stream is refused; the reason may be told to the other side."""


def authenticated(
    context: Mapping[str, Sequence[bytes]], neighbours: Mapping[bytes, Neighbour]
) -> Neighbour:
    """Return the neighbour whose certificate was presented; ``neighbours`` are by fingerprint.

    Raises :class:`Refused` if it is nobody's, or no longer valid.
    """
    presented = [*context.get("x509_pem_cert", ())]
    if len(presented) != 1:
        raise Refused("no certificate was presented; members prove who they are by theirs.")
    if [*context.get("ssl_tls_version", ())] != [TLS]:
        raise Refused("the connection uses an older version of TLS than 1.3.")
    try:
        digest = fingerprint(presented[0])
    except DataError as error:
        raise Refused(str(error)) from None
    neighbour = neighbours.get(digest)
    if neighbour is None:
        raise Refused(
            f"the presented certificate ({digest.hex()[:16]}…) is not that of a neighbour in the "
            "plan; compare the plans, and the cards in them."
        )
    if sentence := lapsed(presented[0], neighbour.name):
        raise Refused(sentence)
    return neighbour


def check_certificates(identity: Identity, neighbours: Iterable[Neighbour]) -> None:
    """Raise :class:`PlanError` if a certificate is not as it must be, or two are the same."""
    if sentence := lapsed(identity.certificate, identity.name):
        raise PlanError(sentence)
    seen: dict[bytes, str] = {}
    members: list[Identity | Neighbour] = [identity, *neighbours]
    for one in members:
        if sentence := fault(one.certificate, one.name):
            raise PlanError(sentence)
        digest = fingerprint(one.certificate)
        if digest in seen:
            raise PlanError(f"{seen[digest]} and {one.name} have the same certificate.")
        seen[digest] = one.name
