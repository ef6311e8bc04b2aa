"""What the server of a page answers and refuses."""

import http.client
import json
import os
import platform
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.live.pages import TOKEN, ask, serving

from grassvine.foundations.errors import PlanError
from grassvine.live.app import FILES, MAX_STREAMS, PLOTLY
from grassvine.live.guard import HEADERS
from grassvine.live.serve import LiveServer
from grassvine.runs.progress import Begin, End, Incident, Members, Point, ProgressLog

pytest.importorskip("starlette", reason="the extra 'live' is not installed")
pytest.importorskip("sse_starlette", reason="the extra 'live' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'live' is not installed")
pytest.importorskip("plotly", reason="the extra 'live' is not installed")

BEGIN = Begin(
    run="ab",
    time=100.0,
    started=100.0,
    pid=os.getpid(),
    host=platform.node(),
    method="Gossip",
    n_agents=3,
    n_slots=9,
    one_cost=False,
    names=("a", "b", "<script>alert(1)</script>"),
    links=((0, 1), (1, 2)),
)


@pytest.fixture
def log(tmp_path: Path) -> ProgressLog:
    written = ProgressLog(tmp_path)
    written.add(BEGIN)
    written.add(Point(101.0, 1, share=0.1, cost=4.0, bytes=80))
    written.add(Members(101.0, 1, "wia", ((1, 0),), (1, 1, 0), (1.0, 3.0, 0.0), (80, 0)))
    written.flush()
    return written


def test_every_file_has_its_type_and_the_headers(tmp_path: Path, log: ProgressLog) -> None:
    with serving(tmp_path) as address:
        for name in (*FILES, PLOTLY, "run.json"):
            status, headers, body = ask(address, f"/{TOKEN}/{name}")
            assert status == 200 and body
            assert (
                headers["content-type"]
                .split(";")[0]
                .endswith(("html", "css", "javascript", "svg+xml", "json"))
            )
            for header, value in HEADERS.items():
                assert headers[header.lower()] == value
            assert "server" not in headers


def test_the_page_names_no_other_host(tmp_path: Path, log: ProgressLog) -> None:
    with serving(tmp_path) as address:
        for name, (_, kind) in FILES.items():
            body = ask(address, f"/{TOKEN}/{name}")[2]
            found = body.replace(b"http://www.w3.org/2000/svg", b"")
            assert b"://" not in found and b"//www" not in found, (name, kind)


@pytest.mark.parametrize(
    ("path", "method", "headers", "status"),
    [
        ("/", "GET", {}, 403),
        ("/wrong/", "GET", {}, 403),
        (f"/{TOKEN[:-1]}/", "GET", {}, 403),
        (f"/{TOKEN}x/run.json", "GET", {}, 403),
        ("/%C3%A9%FF/", "GET", {}, 403),
        (f"/{TOKEN}", "GET", {}, 200),
        (f"/{TOKEN}/nothing", "GET", {}, 404),
        (f"/{TOKEN}//run.json", "GET", {}, 404),
        (f"/{TOKEN}/../run.json", "GET", {}, 404),
        (f"/{TOKEN}/progress.jsonl", "GET", {}, 404),
        (f"/{TOKEN}/%2e%2e/%2e%2e/etc/passwd", "GET", {}, 404),
        (f"/{TOKEN}/", "POST", {"Content-Length": "0"}, 405),
        (f"/{TOKEN}/", "HEAD", {}, 405),
        (f"/{TOKEN}/", "DELETE", {}, 405),
        (f"/{TOKEN}/", "GET", {"Host": "example.org"}, 421),
        (f"/{TOKEN}/", "GET", {"Host": "localhost.example.org"}, 421),
        (f"/{TOKEN}/", "GET", {"Host": "127.0.0.1:1"}, 421),
    ],
)
def test_what_is_refused(
    tmp_path: Path,
    log: ProgressLog,
    path: str,
    method: str,
    headers: dict[str, str],
    status: int,
) -> None:
    with serving(tmp_path) as address:
        given, found, body = ask(address, path, method, headers)
    assert given == status
    assert found["x-content-type-options"] == "nosniff"
    if status != 200:
        assert b"a" not in json.dumps(found).encode() or b"cost" not in body


def test_loopback_has_three_names(tmp_path: Path, log: ProgressLog) -> None:
    with serving(tmp_path) as address:
        port = urlsplit(address).port
        for name in ("127.0.0.1", "localhost", "[::1]"):
            host = {"Host": f"{name}:{port}"}
            assert ask(address, f"/{TOKEN}/run.json", headers=host)[0] == 200


def test_run_json_has_the_figures(tmp_path: Path, log: ProgressLog) -> None:
    with serving(tmp_path) as address:
        found = json.loads(ask(address, f"/{TOKEN}/run.json")[2])
    assert found["summary"]["state"] == "running" and found["summary"]["bytes"] == 80
    assert found["summary"]["waiting_for"] == [["b", "a"]]
    assert found["network"]["names"][2] == "<script>alert(1)</script>"  # the page sets it as text
    assert found["curves"]["cost"] == [4.0] and found["curves"]["rmse"] == [None]
    assert found["members"]["states"] == "wia"


class Stream:
    """A stream of events."""

    def __init__(self, address: str):
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        self._connection.request("GET", f"{parts.path}events")
        self._answer = self._connection.getresponse()
        self.status = self._answer.status

    def next(self) -> dict[str, object]:
        """Return the next message."""
        while True:
            line = self._answer.readline()
            assert line, "the stream has ended"
            if line.startswith(b"data: "):
                found: dict[str, object] = json.loads(line[6:])
                return found

    def close(self) -> None:
        """Close the connection."""
        self._answer.close()
        self._connection.close()


def test_a_stream_sends_everything_and_then_what_is_new(tmp_path: Path, log: ProgressLog) -> None:
    with serving(tmp_path) as address:
        stream = Stream(address)
        first = stream.next()
        assert "network" in first and first["curves"]["from"] == 0  # type: ignore[index]
        log.add(Point(102.0, 2, cost=3.0))
        log.add(Incident(102.0, 2, "a neighbour was lost"))
        log.flush()
        second = stream.next()
        assert "network" not in second
        assert second["curves"]["from"] == 1  # type: ignore[index]
        assert second["curves"]["cost"] == [3.0]  # type: ignore[index]
        log.add(End(103.0, "finished", "converged"))
        log.flush()
        while (last := stream.next())["summary"]["state"] == "running":  # type: ignore[index]
            pass
        assert last["summary"]["reason"] == "converged"  # type: ignore[index]
        stream.close()


def test_a_run_that_begins_anew_is_sent_whole(tmp_path: Path, log: ProgressLog) -> None:
    with serving(tmp_path) as address:
        stream = Stream(address)
        stream.next()
        again = ProgressLog(tmp_path)
        again.add(
            replace(BEGIN, run="cd", time=200.0, started=200.0, n_agents=2, names=(), links=())
        )
        again.flush()
        found = stream.next()
        assert found["summary"]["run"] == "cd" and "network" in found  # type: ignore[index]
        assert found["curves"]["cost"] == []  # type: ignore[index]
        stream.close()


def test_a_page_waits_for_a_run_that_has_not_begun(tmp_path: Path) -> None:
    with serving(tmp_path / "later") as address:
        stream = Stream(address)
        assert stream.next()["summary"] == {"state": "waiting"}
        later = ProgressLog(tmp_path / "later")
        later.add(BEGIN)
        later.flush()
        assert stream.next()["summary"]["state"] == "running"  # type: ignore[index]
        stream.close()


def test_too_many_streams_are_refused(tmp_path: Path, log: ProgressLog) -> None:
    with serving(tmp_path) as address:
        streams = [Stream(address) for _ in range(MAX_STREAMS)]
        for stream in streams:
            stream.next()
        refused = Stream(address)
        assert refused.status == 503
        for stream in [*streams, refused]:
            stream.close()


def test_a_short_token_and_a_port_in_use_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="at least 16"):
        LiveServer(tmp_path, token="short")
    with serving(tmp_path) as address, pytest.raises(PlanError, match="cannot be listened at"):
        LiveServer(tmp_path, port=urlsplit(address).port or 0)


def test_tokens_are_random(tmp_path: Path) -> None:
    servers = [LiveServer(tmp_path) for _ in range(3)]
    for server in servers:
        server.close()
    tokens = {server.address.split("/")[-2] for server in servers}
    assert len(tokens) == 3 and all(len(token) >= 32 for token in tokens)
