"""Links: at most one open stream to each neighbour, whoever opened it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from grassvine.engines.peers.member.events import Connected, Disconnected, Event, Received
from grassvine.engines.peers.member.frames import Frame, Hello, Refusal
from grassvine.engines.peers.transport.extra import load_grpc, load_peers_extra
from grassvine.engines.peers.transport.wire import decode, encode
from grassvine.foundations.errors import MessageError

FIRST_FRAME_SECONDS = 10.0
WRITE_SECONDS = 60.0  # for one frame: 10 kB/s
CLOSE_SECONDS = 5.0
MAX_QUEUED = 2**12  # frames

log = logging.getLogger("grassvine.peers")


@dataclass(frozen=True, slots=True)
class Stream:
    """The two directions of a gRPC stream; only who opened it can end its direction alone."""

    read: Callable[[], Awaitable[Any]]  # bytes, or something else at the end
    write: Callable[[bytes], Awaitable[None]]
    done_writing: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True)
class Traffic:
    """Frames and bytes to and from a neighbour, on all connections."""

    frames_sent: int = 0
    bytes_sent: int = 0
    frames_received: int = 0
    bytes_received: int = 0


def connection_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that mean that a connection failed, ended or stalled."""
    grpc, aio = load_peers_extra("grpc"), load_grpc()
    return (
        grpc.RpcError,
        aio.BaseError,
        asyncio.InvalidStateError,
        ConnectionRefusedError,
        TimeoutError,
    )


class Link:
    """An open stream to a neighbour.

    Frames are sent in order. When the link ends for whatever reason, those that wait are dropped.
    """

    def __init__(self, stream: Stream, receive: Callable[[Frame], None], traffic: Traffic):
        self._stream = stream
        self._receive = receive
        self._traffic = traffic
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._closing = self._abandoned = False
        self._tasks: list[asyncio.Task[None]] = []
        self.accepted = False  # whether the neighbour has gone on after the greeting

    def send(self, frame: Frame) -> None:
        """Queue a frame; if too many wait, the neighbour is too slow, and the link ends."""
        if self._closing:
            return
        if self._queue.qsize() >= MAX_QUEUED:
            self.abandon()
        else:
            self._queue.put_nowait(frame)

    def close(self) -> None:
        """End the link after what was queued, and take nothing more."""
        self._closing = True
        self._queue.put_nowait(None)

    def abandon(self) -> None:
        """End the link now."""
        self._closing = self._abandoned = True
        for task in self._tasks:
            task.cancel()

    async def run(self) -> None:
        """Send and receive until either side ends the link; raises the errors of the program."""
        if self._abandoned:
            return
        writer, reader = asyncio.create_task(self._write()), asyncio.create_task(self._read())
        self._tasks = [writer, reader]
        try:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            if self._closing:  # what was sent is still on its way
                last = self._tasks if self._stream.done_writing else [writer]
                await asyncio.wait(last, timeout=CLOSE_SECONDS)
        finally:
            self.abandon()
            ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, connection_errors()):
                log.debug("a link ended: %r", error)
            elif isinstance(error, Exception):
                raise error

    async def _write(self) -> None:
        while (frame := await self._queue.get()) is not None:
            data = encode(frame)
            async with asyncio.timeout(WRITE_SECONDS):
                await self._stream.write(data)
            self._traffic.frames_sent += 1
            self._traffic.bytes_sent += len(data)
        if self._stream.done_writing:
            await self._stream.done_writing()

    async def _read(self) -> None:
        async with asyncio.timeout(FIRST_FRAME_SECONDS):
            data = await self._stream.read()
        while isinstance(data, bytes):
            self._traffic.frames_received += 1
            self._traffic.bytes_received += len(data)
            if not self._closing:
                self._take(data)
            data = await self._stream.read()

    def _take(self, data: bytes) -> None:
        try:
            frame = decode(data)
        except MessageError as error:
            self.send(Refusal(str(error)))
            self.close()
            return
        self.accepted = self.accepted or not isinstance(frame, Hello | Refusal)
        self._receive(frame)


@dataclass
class Links:
    """The open links of a member; a newer one to the same neighbour replaces the older."""

    deliver: Callable[[Event], None]
    fail: Callable[[BaseException], None]
    traffic: dict[int, Traffic] = field(default_factory=dict)
    _open: dict[int, Link] = field(default_factory=dict)
    _running: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def connected(self) -> tuple[int, ...]:
        """The neighbours with an open link."""
        return tuple(sorted(self._open))

    def send(self, neighbour: int, frame: Frame) -> None:
        """Send a frame to a neighbour, if there is a link."""
        if neighbour in self._open:
            self._open[neighbour].send(frame)

    def close(self, neighbour: int) -> None:
        """Close the link to a neighbour, if there is one, after what was sent."""
        if neighbour in self._open:
            self._open[neighbour].close()

    async def close_all(self) -> None:
        """Close all links after what was sent, and wait a little for that."""
        for link in [*self._open.values()]:
            link.close()
        if self._running:
            await asyncio.wait(self._running, timeout=2 * CLOSE_SECONDS)

    async def run(self, neighbour: int, stream: Stream) -> bool:
        """Run a link over a stream until it ends; return whether the neighbour accepted it."""

        def receive(frame: Frame) -> None:
            if self._open.get(neighbour) is link:
                self.deliver(Received(neighbour, frame))

        link = Link(stream, receive, self.traffic.setdefault(neighbour, Traffic()))
        if older := self._open.pop(neighbour, None):
            older.abandon()
            self.deliver(Disconnected(neighbour))
        self._open[neighbour] = link
        self.deliver(Connected(neighbour))
        running = asyncio.create_task(link.run())
        self._running.add(running)
        try:
            await running
        except Exception as error:
            self.fail(error)
        finally:
            self._running.discard(running)
            if self._open.get(neighbour) is link:
                del self._open[neighbour]
                self.deliver(Disconnected(neighbour))
        return link.accepted
