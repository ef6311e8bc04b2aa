"""Relays on loopback: one that records what passes, and a proxy that understands CONNECT."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Relay:
    """Connects whoever dials it to a port of this machine.

    As a proxy it waits for CONNECT and asks ``port_of`` for the place that was named; 0 is refused.
    """

    port_of: Callable[[str], int]
    proxy: bool = False
    authorization: str = ""
    recorded: bytearray = field(default_factory=bytearray)
    requests: list[str] = field(default_factory=list)
    port: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Relay"]:
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.drop()

    def drop(self) -> None:
        """End all connections at once."""
        for writer in [*self._writers]:
            writer.transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(OSError, asyncio.IncompleteReadError):
            port = await self._greet(reader, writer) if self.proxy else self.port_of("")
            if port:
                there = await asyncio.open_connection("127.0.0.1", port)
                self._writers.add(there[1])
                pipes = (self._pipe(reader, there[1]), self._pipe(there[0], writer))
                await asyncio.gather(*pipes)
        writer.close()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(request)
        method, place, _ = request.split("\r\n")[0].split(" ")
        if self.authorization and f"Basic {self.authorization}\r\n" not in request:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        elif method != "CONNECT" or not self.port_of(place):
            writer.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            return self.port_of(place)
        await writer.drain()
        return 0

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                self.recorded += data
                writer.write(data)
                await writer.drain()
        writer.close()
