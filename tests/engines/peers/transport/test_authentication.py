"""Who is let in: certificates that listening and dialling members refuse, and the right one."""

import asyncio
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.engines.peers.certificate_cases import (
    DAY,
    Authority,
    card,
    key_of,
    numbered,
    signed,
)
from tests.engines.peers.doubles import MemoryJournal, Recorder

from grassvine.engines.peers.member.events import Connected, Received
from grassvine.engines.peers.member.frames import Ack, Frame
from grassvine.engines.peers.transport import certificates, links
from grassvine.engines.peers.transport.certificates import fingerprint
from grassvine.engines.peers.transport.channel import METHOD, dialled
from grassvine.engines.peers.transport.credentials import (
    Identity,
    Neighbour,
    Refused,
    authenticated,
    check_certificates,
)
from grassvine.engines.peers.transport.driver import run_member
from grassvine.engines.peers.transport.extra import load_grpc, load_peers_extra
from grassvine.engines.peers.transport.probe import explain_refusal
from grassvine.engines.peers.transport.wire import decode, encode
from grassvine.foundations.errors import PlanError

load_grpc()  # which sets what gRPC reads when it starts
grpc = load_peers_extra("grpc")

A, B, C = (numbered(signed(name), number) for number, name in enumerate("abc"))
EXPIRED = numbered(signed("b", begins=-9 * DAY, ends=-DAY), 1)
NOT_YET = numbered(signed("b", begins=DAY, ends=9 * DAY), 1)
RSA_1024 = rsa.generate_private_key(65537, 1024)


@dataclass(frozen=True)
class Case:
    """What member 1, called b, presents; the card that member 0 has of it; and what b is told."""

    presents: Identity
    sentence: str
    known: Identity = B


CASES = {
    "expired": Case(EXPIRED, "the certificate of b was valid until", EXPIRED),
    "not yet valid": Case(NOT_YET, "the certificate of b is not valid before", NOT_YET),
    "other authority": Case(
        signed("b", by=Authority("authority", key_of(signed("authority")))),
        "the certificate of b is not signed with its own key",
    ),
    "b's name signed by c": Case(
        signed("b", by=Authority("c", key_of(C))), "is not that of a neighbour in the plan"
    ),
    "self-signed stranger": Case(signed("stranger"), "does not accept the certificate of stranger"),
    "wrong name": Case(
        replace(signed("x", by=Authority("b", key_of(B))), name="b"),
        "is not that of a neighbour in the plan",
    ),
    "two names": Case(
        signed("b", names=("b", "a"), by=Authority("c", key_of(C))),
        "is not that of a neighbour in the plan",
    ),
    "unlisted": Case(numbered(signed("d"), 3), "does not accept the certificate of d"),
    "none": Case(Identity(1, "b", b"", b""), "the certificate of b cannot be read"),
    "weak key": Case(
        signed("b", key=RSA_1024, by=Authority("c", key_of(C))),
        "the certificate of b has a key of another kind than P-256",
    ),
    "plaintext": Case(B, "does not take links in plain text"),
    "member of an older plan": Case(signed("b"), "does not accept the certificate of b"),
}


@asynccontextmanager
async def listener(member: Recorder, known: Sequence[Identity]) -> AsyncIterator[str]:
    """Let member 0 listen, with the cards of others; yields its address."""
    opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    cards = [card(identity) for identity in known]
    running = run_member(
        member, 0, A, cards, MemoryJournal(), listen="127.0.0.1:0", opened=opened.set_result
    )
    task = asyncio.create_task(running)
    task.add_done_callback(lambda _: opened.cancel())
    try:
        yield f"127.0.0.1:{await opened}"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def dial(identity: Identity | None, neighbour: Neighbour) -> str:
    """Open a stream and send a frame; return what the listener said, or "" if it answered."""
    try:
        async with asyncio.timeout(30), dialled(identity, 1, neighbour) as stream:
            await stream.write(encode(Ack(7)))
            return "" if isinstance(await stream.read(), bytes) else "closed"
    except grpc.RpcError as error:
        return f"{error.code().name}: {error.details()}"


async def dial_without_certificate(address: str) -> str:
    credentials = grpc.ssl_channel_credentials(A.certificate)
    options = [("grpc.ssl_target_name_override", "a")]
    async with grpc.aio.secure_channel(address, credentials, options) as channel:
        try:
            await channel.stream_stream(METHOD)().read()
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"
    return ""


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All bytes that members decode as frames."""
    seen: list[bytes] = []

    def noted(data: bytes) -> Frame:
        seen.append(data)
        return decode(data)

    monkeypatch.setattr(links, "decode", noted)
    return seen


@pytest.mark.parametrize("name", CASES)
def test_a_listening_member_refuses_a_certificate(name: str, decoded: list[bytes]) -> None:
    case, member = CASES[name], Recorder()

    async def scene() -> str:
        async with listener(member, [case.known, C]) as address:
            explained = await asyncio.to_thread(explain_refusal, case.presents, card(A, address))
            if name == "none":
                answer = await dial_without_certificate(address)
            elif name == "plaintext":
                answer = await dial(None, card(A, address))
                explained = await asyncio.to_thread(explain_refusal, None, card(A, address))
            else:
                answer = await dial(case.presents, card(A, address))
        assert answer.startswith(("UNAVAILABLE", "PERMISSION_DENIED"))
        return f"{explained} {answer}"

    told = asyncio.run(scene())
    assert case.sentence in told and "\n" not in told
    assert decoded == [] and not member.of(Connected) and not member.of(Received)


def test_a_listening_member_accepts_the_certificate_of_the_card(decoded: list[bytes]) -> None:
    member = Recorder()

    async def scene() -> tuple[str, str]:
        async with listener(member, [B, C]) as address:
            told = await asyncio.to_thread(explain_refusal, B, card(A, address))
            return told, await dial(B, card(A, address))

    assert asyncio.run(scene()) == ("", "")
    assert member.of(Received) == [Received(1, Ack(7))]
    assert decoded[0] == encode(Ack(7))


PRESENTED = {
    "expired": (EXPIRED, EXPIRED, "the certificate of b was valid until"),
    "not yet valid": (NOT_YET, NOT_YET, "the certificate of b is not valid before"),
    "other authority": (
        CASES["other authority"].presents,
        B,
        "the certificate presented for b was replaced (issuer CN=authority)",
    ),
    "b's name signed by c": (
        CASES["b's name signed by c"].presents,
        B,
        "the certificate presented for b was replaced (issuer CN=c)",
    ),
    "wrong name": (CASES["wrong name"].presents, B, "presents a certificate of x (issuer CN=b)"),
    "two names": (CASES["two names"].presents, B, "presents a certificate of b, a (issuer CN=c)"),
    "stranger": (CASES["self-signed stranger"].presents, B, "presents a certificate of stranger"),
    "weak key": (CASES["weak key"].presents, B, "the certificate presented for b was replaced"),
    "older plan": (signed("b"), B, "b has a new card and needs a new plan"),
}


@pytest.mark.parametrize("name", PRESENTED)
def test_a_dialling_member_refuses_a_certificate(name: str, decoded: list[bytes]) -> None:
    """Whoever answers is taken for b only with b's certificate, although it accepts everybody."""
    presents, known, sentence = PRESENTED[name]
    received = []

    async def scene() -> str:
        async def link(_: object, context: Any) -> None:
            received.append(await context.read())

        handler = grpc.stream_stream_rpc_method_handler(link)
        server = grpc.aio.server()
        service, _, method = METHOD[1:].rpartition("/")
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, {method: handler}),)
        )
        credentials = grpc.ssl_server_credentials([(presents.key, presents.certificate)])
        port = server.add_secure_port("127.0.0.1:0", credentials)
        await server.start()
        neighbour = card(known, f"127.0.0.1:{port}")
        answer = await dial(A, neighbour)
        explained = await asyncio.to_thread(explain_refusal, A, neighbour)
        await server.stop(None)
        assert answer.startswith("UNAVAILABLE")
        return explained

    assert sentence in asyncio.run(scene())
    assert received == []


def test_an_older_version_of_tls_is_refused() -> None:
    """A neighbour that would rather use TLS 1.2 does not get as far as a stream."""

    async def scene() -> None:
        async with listener(Recorder(), [B]) as address:
            with pytest.raises(OSError, match=r"EOF|handshake|reset"):
                await asyncio.to_thread(shake_hands, address, ssl.TLSVersion.TLSv1_2)
            assert await asyncio.to_thread(shake_hands, address, ssl.TLSVersion.TLSv1_3)

    asyncio.run(scene())
    context = {"x509_pem_cert": [B.certificate], "ssl_tls_version": [b"TLSv1.2"]}
    neighbours = {fingerprint(B.certificate): card(B)}
    with pytest.raises(Refused, match="older version of TLS"):
        authenticated(context, neighbours)
    assert authenticated({**context, "ssl_tls_version": [b"TLSv1.3"]}, neighbours) == card(B)


def shake_hands(address: str, version: ssl.TLSVersion) -> bytes:
    host, _, port = address.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    with tempfile.NamedTemporaryFile() as file:
        file.write(B.certificate + B.key)
        file.flush()
        context.load_cert_chain(file.name)
    with (
        socket.create_connection((host, int(port)), 10) as connection,
        context.wrap_socket(connection) as encrypted,
    ):
        return encrypted.recv(1)


@pytest.mark.parametrize("now", [timedelta(days=-3), timedelta(days=3)])
def test_a_certificate_that_lapses_during_a_run_is_refused_at_the_next_stream(
    now: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = {"x509_pem_cert": [B.certificate], "ssl_tls_version": [b"TLSv1.3"]}
    monkeypatch.setattr(certificates, "current_time", lambda: datetime.now(UTC) + now)
    with pytest.raises(Refused, match=r"is not valid before|was valid until"):
        authenticated(context, {fingerprint(B.certificate): card(B)})


def test_cards_that_cannot_be_those_of_members_are_refused_at_the_start() -> None:
    check_certificates(A, [card(B), card(C), card(EXPIRED)])  # it may still be waited for
    for identity, neighbours, sentence in (
        (EXPIRED, [], "the certificate of b was valid until"),
        (NOT_YET, [], "the certificate of b is not valid before"),
        (A, [card(CASES["weak key"].presents)], "a key of another kind than P-256"),
        (A, [card(CASES["two names"].presents)], "is made out to b, a"),
        (A, [card(CASES["other authority"].presents)], "is not signed with its own key"),
        (A, [card(B), replace(card(B), number=5)], "b and b have the same certificate"),
        (A, [Neighbour(1, "b", b"-----BEGIN CERTIFICATE-----\n")], "cannot be read"),
    ):
        with pytest.raises(PlanError, match=sentence):
            check_certificates(identity, neighbours)


def test_a_fingerprint_does_not_depend_on_the_form() -> None:
    assert fingerprint(A.certificate) == fingerprint(
        ssl.PEM_cert_to_DER_cert(A.certificate.decode())
    )
    assert fingerprint(A.certificate) != fingerprint(B.certificate)
