"""A proxy that knows CONNECT only: ``python -m tests.cluster.connect_proxy PORT``.

It prints ``ready``, then each request in a line.
"""

import asyncio
import sys
from contextlib import suppress


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError):
        request = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[0]
        tell(request)
        method, place, _ = request.split(" ")
        if method == "CONNECT":
            host, _, port = place.rpartition(":")
            there = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(pipe(reader, there[1]), pipe(there[0], writer))
    writer.close()


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "0.0.0.0", int(sys.argv[1]))
    tell("ready")
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
