"""Servers of pages on loopback, and requests to them."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from grassvine.live.serve import LiveServer

TOKEN = "a-token-for-the-tests"


@contextmanager
def serving(run: Path, port: int = 0, poll_seconds: float = 0.02) -> Iterator[str]:
    """Serve the page of a run in a thread, and yield its address."""
    server = LiveServer(run, port=port, token=TOKEN)
    server.feed.poll_seconds = poll_seconds
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.address
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


def ask(
    address: str,
    path: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Send one request, whose path begins after the port, and return status, headers and body."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host="Host" in (headers or {}))
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, answer.read()
    finally:
        connection.close()
