"""Why a neighbour cannot be reached, in words."""

import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.engines.peers.certificate_cases import card, numbered, signed

from grassvine.engines.peers.transport.credentials import Identity
from grassvine.engines.peers.transport.probe import explain_refusal

A, B = (numbered(signed(name), number) for number, name in enumerate("ab"))


@contextmanager
def answering(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Answer one connection; yields the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def server_context(identity: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(identity.certificate + b"\n" + identity.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def test_a_closed_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert explain_refusal(B, card(A, address)) == (
        f"the port of a at {address} is closed; it has not been started yet, or a firewall refuses."
    )


def test_a_web_server() -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with answering(answer) as address:
        assert "does not speak TLS" in explain_refusal(B, card(A, address))
    with answering(answer) as address:
        assert "does not take links in plain text" in explain_refusal(None, card(A, address))


def test_a_server_with_an_older_version_of_tls() -> None:
    context = server_context(A)
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def answer(connection: socket.socket) -> None:
        context.wrap_socket(connection, server_side=True).close()

    with answering(answer) as address:
        assert "lacks TLS 1.3" in explain_refusal(B, card(A, address))


def test_a_server_that_says_nothing() -> None:
    done = threading.Event()
    with answering(lambda connection: done.wait(30)) as address:
        told = explain_refusal(B, card(A, address), timeout=0.2)
        done.set()
    assert told == f"a at {address} accepts connections but does not go on."


def test_a_server_that_closes_at_once() -> None:
    with answering(lambda connection: connection.close()) as address:
        assert "does not accept the certificate of b" in explain_refusal(B, card(A, address))


def test_a_device_that_replaces_the_certificate() -> None:
    inspecting = signed("a")

    def answer(connection: socket.socket) -> None:
        server_context(inspecting).wrap_socket(connection, server_side=True).close()

    with answering(answer) as address:
        told = explain_refusal(B, card(A, address))
    assert "the certificate presented for a was replaced (issuer CN=a)" in told
    assert "TLS inspection" in told


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (socket.gaierror(-2, "unknown"), "the name of a at clinic-a.example:443 is unknown here"),
        (TimeoutError(), "does not answer within 5 seconds; a firewall may drop the connection"),
        (OSError(113, "No route to host"), "cannot be reached (*No route to host)."),
    ],
)
def test_other_failures_to_connect(
    error: OSError, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "create_connection", fail)
    told = explain_refusal(B, card(A, "clinic-a.example:443"))
    assert all(part in told for part in sentence.split("*"))
    assert "\n" not in told and told.endswith(".")
