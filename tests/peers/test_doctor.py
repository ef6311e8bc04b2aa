"""The doctor against servers on loopback that show the right certificate, another one, or none."""

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest
from tests.peers.houses import learning

from grassvine.engines.peers.transport.extra import load_peers_extra
from grassvine.engines.peers.transport.probe import PROXY_VARIABLES
from grassvine.peers.doctor import Finding, examine
from grassvine.peers.identity.cards import Card
from grassvine.peers.identity.certificates import self_signed
from grassvine.peers.identity.identity import OwnIdentity, create_identity
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.status import Status, write_status

grpc = load_peers_extra("grpc")


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
    return GroupPlan.draft([own.card, there], learning("pca"), secrecy="none")


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
        found = examine(plan_of(own, other.card, port), own.folder)
    assert all(one.fine for one in found), found
    assert "shows the certificate of the plan, and accepts" in link(found).says
    assert {one.what for one in found} == {
        "versions",
        "certificate of clinic-a",
        "certificate of clinic-b",
        "identity",
        "clock",
        "proxy to clinic-a",
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
        found = link(examine(plan_of(own, other.card, port), own.folder))
        server.stop(None).wait()
        assert found.fine == fine
        assert fine or "does not accept the certificate of clinic-b" in found.says


def test_a_new_identity_of_the_neighbour_is_explained(
    tmp_path: Path, own: OwnIdentity, other: OwnIdentity
) -> None:
    renewed = self_signed(other.key, "clinic-a")
    with served(renewed, other.key_pem, tmp_path) as port:
        found = link(examine(plan_of(own, other.card, port), own.folder))
    assert not found.fine and "has a new card" in found.says


def test_who_does_not_listen_is_told(own: OwnIdentity, other: OwnIdentity) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = link(examine(plan_of(own, other.card, port), own.folder))
    assert not found.fine and "is closed" in found.says


@pytest.mark.parametrize(
    ("variables", "fine", "says"),
    [
        ({}, True, "none"),
        ({"https_proxy": "http://me:secret@proxy.example:3128"}, True, "proxy.example, by CONNECT"),
        ({"HTTPS_PROXY": "http://proxy.example:3128"}, False, "gRPC reads only https_proxy"),
    ],
)
def test_the_proxy_is_named_as_grpc_finds_it(
    own: OwnIdentity,
    other: OwnIdentity,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    fine: bool,
    says: str,
) -> None:
    for name in (*PROXY_VARIABLES, *(name.upper() for name in PROXY_VARIABLES)):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("grassvine.peers.doctor.explain_refusal", lambda *_: "")
    there = replace(other.card, address="clinic-a.example:443")
    found = examine(GroupPlan.draft([own.card, there], learning("pca"), secrecy="none"), own.folder)
    (proxy,) = [one for one in found if one.what == "proxy to clinic-a"]
    assert proxy.fine == fine and says in proxy.says
    assert not any("secret" in one.says for one in found)


def test_ports_clocks_and_strangers(tmp_path: Path, own: OwnIdentity) -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        listener = create_identity("clinic-a", f"127.0.0.1:{port}", tmp_path / "listener")
        plan = GroupPlan.draft([listener.card, own.card], learning("pca"), secrecy="none")
        found = {one.what: one for one in examine(plan, listener.folder)}
    assert not found[f"port {port}"].fine and "cannot be used" in found[f"port {port}"].says
    assert "clinic-b dials this member" in found["link with clinic-b"].says
    again = {one.what: one for one in examine(plan, listener.folder)}
    assert again[f"port {port}"].fine
    early = datetime.now(UTC) - timedelta(days=30)
    late = examine(plan, listener.folder, now=early)
    assert sum("the clock of this computer shows" in one.says for one in late) == 2
    stranger = create_identity("clinic-z", None, tmp_path / "z")
    last = examine(plan, stranger.folder)[-1]
    assert (last.what, last.fine) == ("identity", False) and "no member of the plan" in last.says


@pytest.mark.parametrize(("ahead", "fine"), [(2.5, True), (-4000.0, False)])
def test_the_clock_is_compared_with_those_of_neighbours(
    tmp_path: Path, ahead: float, fine: bool
) -> None:
    own, other = (create_identity(name, None, tmp_path / name) for name in ("own", "other"))
    plan = plan_of(own, other.card, 1)
    told = Status("own", plan.digest.hex(), 1, 0.0, 3, 9, "stopped", clocks={"other": ahead})
    write_status(own.folder, told)
    (found,) = (one for one in examine(plan, own.folder, timeout=0.1) if one.what == "clock")
    assert found.fine is fine
    assert f"other was {abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} it" in found.says


def test_a_clock_without_a_run_is_shown(tmp_path: Path) -> None:
    own, other = (create_identity(name, None, tmp_path / name) for name in ("own", "other"))
    (found,) = (
        one
        for one in examine(
            plan_of(own, other.card, 1),
            own.folder,
            now=datetime(2026, 11, 20, 8, 5, tzinfo=UTC),
            timeout=0.1,
        )
        if one.what == "clock"
    )
    assert found.fine
    assert found.says.startswith("2026-11-20 08:05 UTC")
