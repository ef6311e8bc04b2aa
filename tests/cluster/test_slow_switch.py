"""Hosts that are far from each other, behind firewalls, and behind a gateway."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cluster.hosts import AgentActor, host_behind, simulated_hosts, why_no_hosts

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_no_hosts() is not None, reason=str(why_no_hosts())),
]

DELAY = 0.02  # seconds
SOON = 20.0  # seconds for what is immediate where the machine is idle

# Answers each byte that comes alone, and at the end says what came in all.
SERVER = """
import hashlib, socket
server = socket.create_server(("0.0.0.0", 7000))
print("listening", flush=True)
while True:
    connection, digest = server.accept()[0], hashlib.sha256()
    while data := connection.recv(2**20):
        digest.update(data)
        if len(data) == 1:
            connection.sendall(data)
    connection.sendall(digest.hexdigest().encode())
    connection.close()
"""

ROUND_TRIPS = """
import socket, sys, time
peer = socket.create_connection((sys.argv[1], 7000))
for _ in range(20):
    began = time.monotonic()
    peer.sendall(b"x")
    peer.recv(1)
    print(time.monotonic() - began)
"""

MEGABYTES = """
import hashlib, random, socket, sys
content = random.Random(0).randbytes(10**7)
peer = socket.create_connection((sys.argv[1], 7000))
peer.sendall(content)
peer.shutdown(socket.SHUT_WR)
print(peer.recv(64).decode() == hashlib.sha256(content).hexdigest())
"""

KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 7000), timeout=1)
    print("open")
except OSError as error:
    print(type(error).__name__)
"""


def asked(host: AgentActor, code: str, place: str) -> str:
    done = host.run([sys.executable, "-c", code, place], timeout=SOON)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def listening(host: AgentActor) -> Iterator[None]:
    with host.running([sys.executable, "-c", SERVER], stdout=-1) as server:
        assert server.stdout
        assert server.stdout.readline() == "listening\n"
        yield


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AgentActor, ...]]:
    folder = tmp_path_factory.mktemp("hosts")
    with simulated_hosts(3, folder, delay=DELAY, firewalled=["h2"]) as three:
        yield three


def test_nothing_arrives_before_its_time(hosts: tuple[AgentActor, ...]) -> None:
    with listening(hosts[0]):
        seconds = [float(line) for line in asked(hosts[1], ROUND_TRIPS, "h0").split()]
    assert len(seconds) == 20
    assert min(seconds) >= 2 * DELAY


def test_large_frames_arrive_whole(hosts: tuple[AgentActor, ...]) -> None:
    with listening(hosts[0]):
        assert asked(hosts[1], MEGABYTES, "h0") == "True"


def test_a_firewall_lets_connections_out_and_none_in(hosts: tuple[AgentActor, ...]) -> None:
    _, near, walled = hosts
    with listening(near), listening(walled):
        assert asked(walled, KNOCK, near.name) == "open"
        assert asked(near, KNOCK, walled.name) == "TimeoutError"
        assert asked(walled, KNOCK, "localhost") == "open"


def test_a_host_behind_a_gateway_reaches_nothing_else(hosts: tuple[AgentActor, ...]) -> None:
    gateway, other, _ = hosts
    with host_behind(gateway, "inside") as inside, listening(gateway), listening(other):
        assert asked(inside, KNOCK, "gateway") == "open"
        assert asked(inside, KNOCK, gateway.address) == "OSError"  # there is no route
        assert asked(inside, KNOCK, other.address) == "OSError"
        assert asked(inside, KNOCK, other.name) == "gaierror"
        assert asked(gateway, KNOCK, other.name) == "open"


def test_a_cut_holds_between_far_hosts(hosts: tuple[AgentActor, ...]) -> None:
    far, near, _ = hosts
    with listening(far):
        far.cut()
        assert asked(near, KNOCK, far.name) == "TimeoutError"
        far.heal()
        assert asked(near, KNOCK, far.name) == "open"
