"""Thousands of random requests: none is an internal error, reads another file or grows memory."""

import collections
import json
import random
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.live.pages import TOKEN

from grassvine.live.app import FILES, PLOTLY
from grassvine.runs.progress import Begin, Incident, Point, ProgressLog

for module in ("starlette", "sse_starlette", "uvicorn", "plotly"):
    pytest.importorskip(module, reason="the extra 'live' is not installed")

# A server that tells on standard output which files it opens once it serves, and its memory.
SERVER = """
import json, sys
from pathlib import Path
from grassvine.live.serve import LiveServer

def memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

opened, watching = set(), False

def note(event, arguments):
    if watching and event in ("open", "os.listdir", "os.scandir", "subprocess.Popen", "os.system"):
        opened.add(str(arguments[0]))

server = LiveServer(Path(sys.argv[1]), token=sys.argv[2])
print(server.address, flush=True)
sys.addaudithook(note)

import threading

def answer():
    global watching
    for line in sys.stdin:
        watching = False
        print(json.dumps({"memory": memory(), "opened": sorted(opened)}), flush=True)
        watching = True
    server.stop()

threading.Thread(target=answer, daemon=True).start()
server.run()
"""
METHODS = (*("GET",) * 12, "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "X")
PARTS = (
    *("run.json", "events", "live.js", "figures.js", "live.css", "icon.svg", "", "progress.jsonl"),
    *("..", "%2e%2e", "%2F", "etc", "passwd", "%00", "%ff", "\\", "~", "C:", "//", "?", "#", "*"),
    *("é", "%C3%A9", "a" * 5000, ";", "run.json/", "..;/", "static", "proc", "self", "environ"),
)


def request(random_numbers: random.Random, port: int) -> bytes:
    """Return a request, of which any part may be right or wrong."""
    choose = random_numbers.choice
    token = choose((TOKEN, TOKEN, TOKEN, TOKEN[:-1], TOKEN.upper(), "", "%", "x" * 50))
    path = "/".join(choose(PARTS) for _ in range(random_numbers.randint(0, 4)))
    host = choose((f"127.0.0.1:{port}",) * 12 + ("localhost", "example.org", "", "[::1", "a b"))
    lines = [f"{choose(METHODS)} /{token}/{path} HTTP/1.1", f"Host: {host}", "Connection: close"]
    for _ in range(random_numbers.choice((0, 0, 1, 4))):
        name = choose(("Host", "Cookie", "Range", "Accept", "X-Forwarded-For", "Last-Event-ID"))
        value = choose(("", "bytes=0-9", "x" * 2000, "\xff", "1", "../..", "a: b", f"{port}"))
        lines.append(f"{name}: {value}")
    if random_numbers.random() < 0.05:
        lines.append(
            choose(("no colon", "Content-Length: -1", "Transfer-Encoding: chunked", "\x00"))
        )
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


def status_of(port: int, sent: bytes) -> int:
    """Send a request, and return the status of the answer, or 0 if the connection was closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(sent)
        answer = connection.recv(4096)
        while b"\r\n" not in answer:
            more = connection.recv(4096)
            if not more:
                break
            answer += more
    return int(answer.split()[1]) if answer.startswith(b"HTTP/") else 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("count", "most_kilobytes"),
    [(400, 20_000), pytest.param(10_000, 20_000, marks=pytest.mark.slow)],
)
def test_random_requests(tmp_path: Path, count: int, most_kilobytes: int) -> None:
    log = ProgressLog(tmp_path / "run")
    log.add(Begin("ab", 1.0, 1.0, 1, "elsewhere", "Exact", 3, 9, one_cost=True, links=((0, 1),)))
    for k in range(1000):
        log.add(Point(2.0 + k, k, cost=1.0 / (1 + k)))
    log.add(Incident(3.0, 1, "an incident"))
    log.flush()
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "run"), TOKEN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None

    def tells() -> dict[str, object]:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write("\n")
        server.stdin.flush()
        found: dict[str, object] = json.loads(server.stdout.readline())
        return found

    try:
        port = urlsplit(server.stdout.readline().strip()).port or 0
        random_numbers = random.Random(count)
        for name in (*FILES, PLOTLY, "run.json", "events"):  # modules are imported
            sent = f"GET /{TOKEN}/{name} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
            assert status_of(port, sent.encode()) == 200
        for _ in range(100):  # caches are filled
            status_of(port, request(random_numbers, port))
        before = tells()
        statuses = collections.Counter(
            status_of(port, request(random_numbers, port)) for _ in range(count)
        )
        after = tells()
    finally:
        server.communicate(timeout=60)
    print(f"{count} requests: {dict(statuses)}; {before['memory']} kB, {after['memory']} kB")  # noqa: T201
    assert not [status for status in statuses if status >= 500]
    assert statuses[200] and statuses[403] and statuses[404] and statuses[405] and statuses[421]
    assert set(after["opened"]) <= {str(tmp_path / "run" / "progress.jsonl")}  # type: ignore[call-overload]
    assert after["memory"] - before["memory"] < most_kilobytes  # type: ignore[operator]
