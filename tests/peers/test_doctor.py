"""The doctor against servers on loopback that show the right certificate, another one, or none."""

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.peers.houses import learning

from grassvine.peers.cards import Card
from grassvine.peers.certificates import self_signed
from grassvine.peers.doctor import Finding, examine
from grassvine.peers.group_plan import GroupPlan
from grassvine.peers.identity import OwnIdentity, create_identity

NO_PROXY: dict[str, str] = {}


@contextmanager
def served(certificate: str, key: bytes, folder: Path) -> Iterator[int]:
    """Serve TLS with a certificate on a free port."""
    (folder / "served.pem").write_bytes(key + certificate.encode())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(folder / "served.pem")
    with listening(lambda line: _shake(context, line)) as port:
        yield port


def _shake(context: ssl.SSLContext, line: socket.socket) -> None:
    with suppress(OSError), context.wrap_socket(line, server_side=True) as secure:
        secure.sendall(b"settings")
        secure.recv(1)


@contextmanager
def listening(answer) -> Iterator[int]:  # type: ignore[no-untyped-def]
    """Answer connections one after another until the end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)

        def serve() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                with line:
                    line.settimeout(20)
                    answer(line)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(20)


def plan_of(own: OwnIdentity, listener: Card, port: int) -> GroupPlan:
    there = replace(listener, address=f"127.0.0.1:{port}")
    return GroupPlan.draft([own.card, there], learning("pca"))


def link(findings: list[Finding]) -> Finding:
    (found,) = [one for one in findings if one.what == "link with clinic-a"]
    return found


@pytest.fixture
def own(tmp_path: Path) -> OwnIdentity:
    return create_identity("clinic-b", None, tmp_path / "own")


@pytest.fixture
def other(tmp_path: Path) -> OwnIdentity:
    return create_identity("clinic-a", "127.0.0.1:9", tmp_path / "other")


def test_the_certificate_of_the_plan_is_recognised(
    tmp_path: Path, own: OwnIdentity, other: OwnIdentity
) -> None:
    with served(other.card.certificate, other.key_pem, tmp_path) as port:
        found = examine(plan_of(own, other.card, port), own.folder, environment=NO_PROXY)
    assert all(one.fine for one in found), found
    assert "shows the certificate of the plan, and accepts" in link(found).says
    assert {one.what for one in found} == {
        "versions",
        "certificate of clinic-a",
        "certificate of clinic-b",
        "identity",
        "proxy",
        "link with clinic-a",
    }


def test_a_neighbour_with_an_older_card_of_this_member_refuses_it(
    tmp_path: Path, own: OwnIdentity, other: OwnIdentity
) -> None:
    older = create_identity("clinic-b", None, tmp_path / "older")
    for known, fine in ((own, True), (older, False)):
        server = grpc.server(ThreadPoolExecutor(1))
        port = server.add_secure_port(
            "127.0.0.1:0",
            grpc.ssl_server_credentials(
                [(other.key_pem, other.card.certificate.encode())],
                root_certificates=known.card.certificate.encode(),
                require_client_auth=True,
            ),
        )
        server.start()
        found = link(examine(plan_of(own, other.card, port), own.folder, environment=NO_PROXY))
        server.stop(None).wait()
        assert found.fine == fine
        assert fine or "refuses the certificate of clinic-b" in found.says


def test_a_new_identity_of_the_neighbour_is_explained(
    tmp_path: Path, own: OwnIdentity, other: OwnIdentity
) -> None:
    renewed = self_signed(other.key, "clinic-a")
    with served(renewed, other.key_pem, tmp_path) as port:
        found = link(examine(plan_of(own, other.card, port), own.folder, environment=NO_PROXY))
    assert not found.fine and "may have a new identity" in found.says


def test_an_inspecting_proxy_is_called_by_its_name(
    tmp_path: Path, own: OwnIdentity, other: OwnIdentity
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Corporate Inspection")])
    forged = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "clinic-a")]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with served(forged.public_bytes(pem).decode(), private, tmp_path) as port:
        found = link(examine(plan_of(own, other.card, port), own.folder, environment=NO_PROXY))
    assert not found.fine
    assert "CN=Corporate Inspection" in found.says and "inspects TLS" in found.says


def test_who_does_not_speak_tls_or_does_not_listen_is_told(
    own: OwnIdentity, other: OwnIdentity
) -> None:
    with listening(lambda line: line.sendall(b"220 hello\r\n")) as port:
        found = link(examine(plan_of(own, other.card, port), own.folder, environment=NO_PROXY))
    assert (not found.fine and "TLS 1.3" in found.says) or "reset" in found.says
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = link(examine(plan_of(own, other.card, port), own.folder, environment=NO_PROXY))
    assert not found.fine and "nobody listens" in found.says


def test_who_does_not_answer_is_given_up(own: OwnIdentity, other: OwnIdentity) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        plan = plan_of(own, other.card, silent.getsockname()[1])
        found = link(examine(plan, own.folder, environment=NO_PROXY, timeout=0.2))
    assert not found.fine and "did not answer in 0.2 s" in found.says


@pytest.mark.parametrize("login", ["", "me:p%40ss@"])
def test_a_proxy_is_used_as_grpc_would(
    tmp_path: Path, own: OwnIdentity, other: OwnIdentity, login: str
) -> None:
    asked: list[bytes] = []

    def carry(line: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += line.recv(4096)
        asked.append(request)
        host, port = request.split()[1].decode().split(":")
        with socket.create_connection((host, int(port)), 20) as further:
            line.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = Thread(target=_copy, args=(further, line), daemon=True)
            back.start()
            _copy(line, further)
            back.join(20)

    with ExitStack() as stack:
        port = stack.enter_context(served(other.card.certificate, other.key_pem, tmp_path))
        proxy = stack.enter_context(listening(carry))
        environment = {"https_proxy": f"http://{login}127.0.0.1:{proxy}"}
        found = examine(plan_of(own, other.card, port), own.folder, environment=environment)
        assert link(found).fine, found
        assert asked[0].startswith(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n".encode())
        assert (b"Proxy-Authorization: Basic bWU6cEBzcw==" in asked[0]) == bool(login)
        assert not any("p@ss" in one.says or "p%40ss" in one.says for one in found)
        skipped = {**environment, "no_proxy": "localhost, 127.0.0.1"}
        examine(plan_of(own, other.card, port), own.folder, environment=skipped)
        assert len(asked) == 1


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(4096):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def test_a_proxy_that_refuses_is_quoted(own: OwnIdentity, other: OwnIdentity) -> None:
    with listening(lambda line: line.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")) as proxy:
        environment = {"https_proxy": f"http://127.0.0.1:{proxy}"}
        found = link(examine(plan_of(own, other.card, 9), own.folder, environment=environment))
    assert not found.fine and "403 Forbidden" in found.says


def test_an_upper_case_proxy_is_not_read_by_grpc(own: OwnIdentity, other: OwnIdentity) -> None:
    plan = plan_of(own, other.card, 9)
    environment = {"HTTPS_PROXY": "http://proxy.example:3128"}
    found = examine(plan, own.folder, environment=environment, timeout=1.0)
    (proxy,) = [one for one in found if one.what == "proxy"]
    assert not proxy.fine and "gRPC reads only https_proxy" in proxy.says


def test_ports_clocks_and_strangers(tmp_path: Path, own: OwnIdentity) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        listener = create_identity("clinic-a", f"127.0.0.1:{port}", tmp_path / "listener")
        plan = GroupPlan.draft([listener.card, own.card], learning("pca"))
        found = {one.what: one for one in examine(plan, listener.folder, environment=NO_PROXY)}
    assert not found[f"port {port}"].fine and "cannot be used" in found[f"port {port}"].says
    assert "clinic-b dials this member" in found["link with clinic-b"].says
    again = {one.what: one for one in examine(plan, listener.folder, environment=NO_PROXY)}
    assert again[f"port {port}"].fine
    early = datetime.now(UTC) - timedelta(days=30)
    late = examine(plan, listener.folder, environment=NO_PROXY, now=early)
    assert sum("the clock of this computer shows" in one.says for one in late) == 2
    stranger = create_identity("clinic-z", None, tmp_path / "z")
    last = examine(plan, stranger.folder, environment=NO_PROXY)[-1]
    assert (last.what, last.fine) == ("identity", False) and "no member of the plan" in last.says
