"""The certificates of members in gRPC's TLS: accepted on both sides, and only those of the plan."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.peers.houses import identity

from grassvine.engines.peers.transport.extra import load_peers_extra
from grassvine.peers.identity.identity import OwnIdentity

grpc: Any = load_peers_extra("grpc")

A, B, STRANGER = identity("clinic-a"), identity("clinic-b"), identity("clinic-z")


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers every call with the name in the caller's certificate."""

    def service(self, details: object) -> object:
        def answer(request: bytes, context: Any) -> bytes:
            name: bytes = context.auth_context()["x509_subject_alternative_name"][0]
            return name

        return grpc.unary_unary_rpc_method_handler(answer)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = grpc.server(ThreadPoolExecutor(1), handlers=[Echo()])
    credentials = grpc.ssl_server_credentials(
        [(A.key_pem, A.card.certificate.encode())],
        root_certificates=B.card.certificate.encode(),
        require_client_auth=True,
    )
    number = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    yield number
    server.stop(None).wait()


def call(port: int, client: OwnIdentity, trusted: OwnIdentity, name: str = "clinic-a") -> bytes:
    credentials = grpc.ssl_channel_credentials(
        trusted.card.certificate.encode(), client.key_pem, client.card.certificate.encode()
    )
    options = [("grpc.ssl_target_name_override", name)]
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials, options) as channel:
        found: bytes = channel.unary_unary("/grassvine/test")(b"", timeout=20)
        return found


def test_members_accept_each_other(port: int) -> None:
    assert call(port, B, A) == b"clinic-b"


@pytest.mark.parametrize(
    ("client", "trusted", "name"),
    [(STRANGER, A, "clinic-a"), (B, B, "clinic-a"), (B, STRANGER, "clinic-a"), (B, A, "clinic-z")],
)
def test_nobody_else_is_accepted(
    port: int, client: OwnIdentity, trusted: OwnIdentity, name: str
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        call(port, client, trusted, name)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
