"""Strangers and slow or greedy neighbours: what they may take is bounded, and others go on."""

import asyncio
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.engines.peers.certificate_cases import card, numbered, signed
from tests.engines.peers.doubles import MemoryJournal, Recorder

from grassvine.engines.peers.member.events import (
    Connected,
    Disconnected,
    Effect,
    Event,
    Received,
    Send,
)
from grassvine.engines.peers.member.frames import MAX_CHUNK, MAX_FRAME, Ack, Data, Refusal
from grassvine.engines.peers.transport import channel, links
from grassvine.engines.peers.transport.channel import METHOD, dialled
from grassvine.engines.peers.transport.credentials import (
    Identity,
    channel_credentials,
    channel_options,
)
from grassvine.engines.peers.transport.driver import run_member
from grassvine.engines.peers.transport.extra import load_grpc
from grassvine.engines.peers.transport.links import Stream
from grassvine.engines.peers.transport.wire import decode, encode

A, B, C = (numbered(signed(name), number) for number, name in enumerate("abc"))
STRANGER = signed("stranger")
COUNT = 200
TIMEOUT = 120.0


@dataclass
class Echo(Recorder):
    """Sends every frame back."""

    def react(self, event: Event) -> Sequence[Effect]:
        return [Send(event.neighbour, event.frame)] if isinstance(event, Received) else []


@asynccontextmanager
async def listener(member: Recorder) -> AsyncIterator[str]:
    opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    cards = [card(B), card(C)]
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


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time that strangers get."""
    short = dict.fromkeys(
        (
            "grpc.max_connection_idle_ms",
            "grpc.server_handshake_timeout_ms",
            "grpc.http2.settings_timeout",
        ),
        1000,
    )
    options = tuple((name, short.get(name, value)) for name, value in channel.SERVER_OPTIONS)
    monkeypatch.setattr(channel, "SERVER_OPTIONS", options)
    monkeypatch.setattr(links, "FIRST_FRAME_SECONDS", 1.0)


async def round_trips(stream: Stream, count: int) -> list[float]:
    """Return the seconds that each of some frames took to come back."""
    seconds = []
    for number in range(count):
        data, began = encode(Ack(number)), time.perf_counter()
        await stream.write(data)
        assert await stream.read() == data
        seconds.append(time.perf_counter() - began)
    return seconds


def context_of(identity: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with tempfile.NamedTemporaryFile() as file:
        file.write(identity.certificate + b"\n" + identity.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def slow_connections(address: str, stack: ExitStack, count: int) -> list[socket.socket]:
    """Open connections that are silent, that greet by half, are refused, or silent members."""
    host, _, port = address.rpartition(":")
    contexts = [context_of(STRANGER), context_of(C)]
    opened = []
    for number in range(count):
        connection = socket.create_connection((host, int(port)), 10)
        if number % 4 == 1:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00")
        elif number % 4 > 1:
            connection = contexts[number % 2].wrap_socket(connection, server_hostname="a")
        opened.append(stack.enter_context(connection))
    return opened


def ended(connection: socket.socket) -> bool:
    """Wait until the other side closes a connection."""
    connection.settimeout(30)
    try:
        while connection.recv(2**12):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.mark.usefixtures("hasty")
def test_slow_and_idle_connections_are_closed_and_the_honest_link_stays() -> None:
    member = Echo()

    async def scene() -> list[bool]:
        async with listener(member) as address, dialled(B, 1, card(A, address)) as stream:
            await round_trips(stream, 1)
            with ExitStack() as stack:
                slow = await asyncio.to_thread(slow_connections, address, stack, COUNT)
                await round_trips(stream, 20)
                closed = [asyncio.to_thread(ended, connection) for connection in slow]
                result = await asyncio.gather(*closed)
            await round_trips(stream, 20)
            return result

    assert all(asyncio.run(asyncio.wait_for(scene(), TIMEOUT)))
    assert member.of(Connected) == [Connected(1)] and member.of(Disconnected) == []


@contextmanager
def flood(address: str) -> Iterator[None]:
    """Let another process open up to two hundred connections a second, and send noise."""
    code = (
        "import os, socket, sys, time\n"
        "host, _, port = sys.argv[1].rpartition(':')\n"
        "while True:\n"
        "    try:\n"
        "        with socket.create_connection((host, int(port)), 5) as connection:\n"
        "            connection.sendall(os.urandom(2**12))\n"
        "    except OSError:\n"
        "        pass\n"
        "    time.sleep(0.005)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, address])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slow", "flood"])
def test_strangers_do_not_disturb_an_honest_neighbour(kind: str) -> None:
    """The 95th percentile of its latency is less than twice the undisturbed one.

    The machine is shared, so the undisturbed one is measured before and after, and the best of
    five attempts counts.
    """

    async def scene() -> float:
        async with listener(Echo()) as address, dialled(B, 1, card(A, address)) as stream:
            await round_trips(stream, 100)
            before = await round_trips(stream, 400)
            with ExitStack() as stack:
                if kind == "slow":
                    await asyncio.to_thread(slow_connections, address, stack, COUNT)
                else:
                    stack.enter_context(flood(address))
                during = await round_trips(stream, 800)
            after = await round_trips(stream, 400)
            undisturbed, disturbed = (np.quantile(s, 0.95) for s in (before + after, during))
            return float(disturbed / undisturbed)

    ratios: list[float] = []
    while len(ratios) < 5 and min(ratios, default=9.0) >= 2.0:
        ratios.append(asyncio.run(asyncio.wait_for(scene(), TIMEOUT)))
    assert min(ratios) < 2.0, ratios


@pytest.mark.usefixtures("hasty")
def test_a_neighbour_that_never_greets_is_dropped() -> None:
    member = Recorder()

    async def scene() -> None:
        async with listener(member) as address, dialled(B, 1, card(A, address)) as stream:
            assert not isinstance(await stream.read(), bytes)

    asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
    assert member.of(Connected) == [Connected(1)] and member.of(Received) == []


def test_a_neighbour_has_one_stream_however_many_it_opens() -> None:
    """Streams over one connection wait for each other; those of other connections replace it."""
    member = Echo()

    async def scene() -> int:
        async with listener(member) as address, AsyncExitStack() as stack:
            streams = []
            for _ in range(30):
                streams.append(await stack.enter_async_context(dialled(C, 2, card(A, address))))
                await round_trips(streams[-1], 1)
            honest = await stack.enter_async_context(dialled(B, 1, card(A, address)))
            await round_trips(honest, 20)
            ends = await asyncio.gather(*(stream.read() for stream in streams[:-1]))
            assert not any(isinstance(end, bytes) for end in ends)
            await round_trips(streams[-1], 1)
            return len(member.of(Connected)) - len(member.of(Disconnected))

    assert asyncio.run(asyncio.wait_for(scene(), TIMEOUT)) == 2


def test_streams_over_one_connection_are_taken_one_at_a_time() -> None:
    member = Echo()

    async def scene() -> None:
        async with listener(member) as address:
            options = channel_options(card(A))
            credentials = channel_credentials(C, card(A))
            async with load_grpc().secure_channel(address, credentials, options) as connection:
                method = connection.stream_stream(METHOD)
                calls = [method()]
                data = encode(Ack(1))
                await calls[0].write(data)
                assert await calls[0].read() == data
                calls += [method() for _ in range(50)]
                async with dialled(B, 1, card(A, address)) as stream:
                    await round_trips(stream, 20)
                for call in calls:
                    call.cancel()

    asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
    assert member.of(Connected).count(Connected(2)) == 1


async def write_and_read(call: Any, data: bytes) -> None:
    await call.write(data)
    while isinstance(await call.read(), bytes):
        pass
    await call  # raises what ended it


@pytest.mark.parametrize("size", [MAX_FRAME + 1, 8 * MAX_FRAME])
def test_a_frame_that_is_too_large_is_not_read(size: int) -> None:
    """gRPC announces the length of a message before it; the link ends at the announcement."""
    member = Recorder()

    async def scene() -> None:
        async with listener(member) as address:
            options = channel_options(card(A))
            credentials = channel_credentials(B, card(A))
            async with load_grpc().secure_channel(address, credentials, options) as connection:
                call = connection.stream_stream(METHOD)()
                with pytest.raises(load_grpc().AioRpcError):
                    await write_and_read(call, bytes(size))
            async with dialled(B, 1, card(A, address)) as stream:
                await stream.write(encode(Ack(1)))
                assert isinstance(await stream.read(), bytes)

    asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
    assert member.of(Received) == [Received(1, Ack(1))]


@pytest.mark.parametrize(
    "data",
    [
        encode(Data(0, 2**63, 0, b"a")),
        encode(Data(0, 2**64 - 1, 0, b"a")),
        b"\x12\x0c\x22" + b"\x80" * 9 + b"\x01a",  # the field announces 2^63 bytes
    ],
)
def test_a_message_of_2_to_the_63_bytes_is_refused_when_it_is_announced(data: bytes) -> None:
    member = Recorder()

    async def scene() -> Any:
        async with listener(member) as address, dialled(B, 1, card(A, address)) as stream:
            await stream.write(data)
            answer = decode(await stream.read())
            assert not isinstance(await stream.read(), bytes)
            return answer

    answer = asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
    assert isinstance(answer, Refusal)
    assert "must be below 9007199254740992" in answer.reason or "valid" in answer.reason
    assert member.of(Received) == []


def test_the_largest_part_is_accepted() -> None:
    member = Echo()
    data = encode(Data(1, 2**40, 2**39, bytes(MAX_CHUNK)))

    async def scene() -> None:
        async with listener(member) as address, dialled(B, 1, card(A, address)) as stream:
            await stream.write(data)
            assert await stream.read() == data

    asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
