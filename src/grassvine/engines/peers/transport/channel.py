"""gRPC streams: the one that a member dials, and those that it accepts."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from grassvine.engines.peers.member.frames import MAX_FRAME
from grassvine.engines.peers.transport.certificates import fingerprint
from grassvine.engines.peers.transport.credentials import (
    Identity,
    Neighbour,
    Refused,
    authenticated,
    channel_credentials,
    channel_options,
    server_credentials,
)
from grassvine.engines.peers.transport.extra import load_grpc, load_peers_extra
from grassvine.engines.peers.transport.links import Stream
from grassvine.engines.peers.transport.probe import is_loopback
from grassvine.foundations.errors import OutputError, PlanError

METHOD = "/grassvine.peers.Peers/Link"
MEMBER_KEY = "grassvine-member"  # who dials, where nothing else says it
ACCEPTED_KEY = "grassvine-accepted"  # what the listening side says before any frame
CONNECT_SECONDS = 20.0
HANDSHAKE_SECONDS = 10.0
PING_SECONDS = 20.0
PONG_SECONDS = 30.0  # a slow line may be busy with a part of a message
MAX_CONNECTIONS = 500  # of neighbours and strangers
MAX_METADATA = 2**13

log = logging.getLogger("grassvine.peers")

COMMON_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_FRAME),
    ("grpc.max_send_message_length", MAX_FRAME),
    ("grpc.max_metadata_size", MAX_METADATA),
    ("grpc.absolute_max_metadata_size", 2 * MAX_METADATA),
    ("grpc.keepalive_time_ms", int(1000 * PING_SECONDS)),
    ("grpc.keepalive_timeout_ms", int(1000 * PONG_SECONDS)),
    ("grpc.http2.ping_timeout_ms", int(1000 * PONG_SECONDS)),  # the one above has no effect
    ("grpc.http2.max_pings_without_data", 0),  # no limit
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.per_message_decompression", 0),  # a small message stays small
)
CHANNEL_OPTIONS = (
    *COMMON_OPTIONS,
    ("grpc.use_local_subchannel_pool", 1),  # every attempt is a new connection, with our delays
    ("grpc.enable_retries", 0),
)
SERVER_OPTIONS = (
    *COMMON_OPTIONS,
    ("grpc.so_reuseport", 0),  # else a second process shares the port in silence
    ("grpc.max_concurrent_streams", 1),
    ("grpc.max_connection_idle_ms", int(1000 * HANDSHAKE_SECONDS)),
    ("grpc.server_handshake_timeout_ms", int(1000 * HANDSHAKE_SECONDS)),
    ("grpc.http2.settings_timeout", int(1000 * HANDSHAKE_SECONDS)),
    ("grpc.max_allowed_incoming_connections", MAX_CONNECTIONS),
)

Serve = Callable[[int, Stream], Awaitable[object]]


def check_plaintext(addresses: Iterable[str | None]) -> None:
    """Raise :class:`PlanError` unless all addresses are of this machine."""
    for address in addresses:
        if address is not None and not is_loopback(address):
            raise PlanError(
                f"{address} is not an address of this machine; links between machines are "
                "encrypted."
            )


@asynccontextmanager
async def dialled(
    identity: Identity | None, own: int, neighbour: Neighbour
) -> AsyncIterator[Stream]:
    """Open a stream to a neighbour; without an identity, in plain text.

    Raises one of :func:`~grassvine.engines.peers.transport.links.connection_errors` if that fails.
    """
    aio = load_grpc()
    target = f"dns:///{neighbour.address}"
    # A proxy would look for this machine's addresses on its own.
    proxy = ("grpc.enable_http_proxy", int(not is_loopback(str(neighbour.address))))
    if identity is None:
        check_plaintext([neighbour.address])
        channel = aio.insecure_channel(target, options=(*CHANNEL_OPTIONS, proxy))
        metadata = [(MEMBER_KEY, str(own))]
    else:
        options = (*CHANNEL_OPTIONS, proxy, *channel_options(neighbour))
        credentials = channel_credentials(identity, neighbour)
        channel, metadata = aio.secure_channel(target, credentials, options=options), []
    async with channel:
        call = channel.stream_stream(METHOD)(metadata=metadata)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                answer = await call.initial_metadata()
                if ACCEPTED_KEY not in dict(answer or ()):
                    await call.read()  # raises what the other side says
                    raise ConnectionRefusedError(
                        f"{neighbour.name} ended the connection before accepting it"
                    )
            yield Stream(call.read, call.write, call.done_writing)
        finally:
            call.cancel()


@asynccontextmanager
async def listening(
    identity: Identity | None, neighbours: Iterable[Neighbour], address: str, serve: Serve
) -> AsyncIterator[int]:
    """Accept streams of neighbours at an address while the context is open; yields the port."""
    grpc, aio = load_peers_extra("grpc"), load_grpc()
    neighbours = [one for one in neighbours if one.address is None]
    numbers = {one.number for one in neighbours}
    by_fingerprint = {fingerprint(one.certificate): one for one in neighbours if identity}

    def who(context: Any) -> int:
        if identity is not None:
            return authenticated(context.auth_context(), by_fingerprint).number
        named = dict(context.invocation_metadata()).get(MEMBER_KEY, "")
        if not named.isdecimal() or int(named) not in numbers:
            raise Refused(f"{named!r} is not the number of a neighbour.")
        return int(named)

    async def link(_: object, context: Any) -> None:
        try:
            neighbour = who(context)
        except Refused as refused:
            log.warning("refused a stream from %s: %s", context.peer(), refused)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(refused))
        await context.send_initial_metadata(((ACCEPTED_KEY, "1"),))
        await serve(neighbour, Stream(context.read, context.write))

    method = grpc.stream_stream_rpc_method_handler(link)
    service, _, name = METHOD[1:].rpartition("/")
    server = aio.server(options=SERVER_OPTIONS)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {name: method}),)
    )
    try:
        if identity is None:
            check_plaintext([address])
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, server_credentials(identity, neighbours))
    except RuntimeError:
        raise OutputError(
            f"cannot listen at {address}; is the port taken, or reserved for administrators?"
        ) from None
    await server.start()
    try:
        yield port
    finally:
        await server.stop(1.0)
