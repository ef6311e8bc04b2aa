"""The simulated hosts themselves."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.hosts import REPOSITORY, AgentActor, simulated_hosts, why_no_hosts

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_no_hosts() is not None, reason=str(why_no_hosts())),
]

SOON = 20.0  # seconds for what is immediate where the machine is idle

ECHO = """
import socket
server = socket.create_server(("0.0.0.0", 7000))
print("listening", flush=True)
while True:
    connection = server.accept()[0]
    while data := connection.recv(100):
        connection.sendall(data)
"""

# Sends each line that it reads, and prints what came back within a second.
TALK = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 7000), timeout=1)
for line in open(sys.argv[2]):
    try:
        peer.sendall(line.encode())
        heard = peer.recv(100).decode()
    except TimeoutError:
        heard = "silence\\n"
    print(heard, end="", flush=True)
"""


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[tuple[AgentActor, ...]]:
    with simulated_hosts(2, tmp_path) as two:
        yield two


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def processes(host: AgentActor) -> int:
    """How many processes a host has, besides its first and the one that looks."""
    seen = host.run(["sh", "-c", "set -- /proc/[0-9]*; echo $#"], timeout=SOON)
    return int(seen.stdout) - 2


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_host_has_its_own_name_temporary_folder_and_shared_memory(
    hosts: tuple[AgentActor, ...], tmp_path: Path
) -> None:
    (tmp_path / "note").write_text("for all")
    script = f"hostname; touch /tmp/own /dev/shm/own; cat {tmp_path}/note"
    assert hosts[1].run(["sh", "-c", script], timeout=SOON).stdout == "h1\nfor all"
    looked = hosts[0].run(["sh", "-c", "ls /tmp /dev/shm"], timeout=SOON).stdout
    assert "own" not in looked.split()
    assert not Path("/tmp/own").exists() and not Path("/dev/shm/own").exists()
    assert socket.gethostname() != "h1"


def test_a_cut_is_silent_and_heals(hosts: tuple[AgentActor, ...], tmp_path: Path) -> None:
    near, far = hosts
    pipe = tmp_path / "words"
    subprocess.run(["mkfifo", str(pipe)], check=True)
    with far.running(python(ECHO), stdout=subprocess.PIPE) as server:
        assert heard(server) == "listening"
        talk = python(TALK, far.name, str(pipe))
        with near.running(talk, stdout=subprocess.PIPE) as client, pipe.open("w") as words:

            def say(word: str) -> str:
                print(word, file=words, flush=True)
                return heard(client)

            assert say("before") == "before"
            far.cut()
            assert say("lost") == "silence"
            far.heal()
            # TCP sends the lost word again, in its own time.
            answers = [say("after") for _ in range(10)]
            assert "after" in "".join(answers) and "lost" in "".join(answers)


def test_a_connection_to_a_host_that_was_cut_hangs(hosts: tuple[AgentActor, ...]) -> None:
    near, far = hosts
    near.cut()
    knock = python(f"import socket; socket.create_connection(('{far.address}', 7000))")
    with pytest.raises(subprocess.TimeoutExpired):
        near.run(knock, timeout=2.0)
    near.heal()
    assert "ConnectionRefusedError" in near.run(knock, timeout=SOON).stderr


def test_a_kill_ends_the_processes_of_one_host_only(hosts: tuple[AgentActor, ...]) -> None:
    sleep = ["sh", "-c", "sleep 1000 & echo started; wait"]
    with (
        hosts[0].running(sleep, stdout=subprocess.PIPE) as spared,
        hosts[1].running(sleep, stdout=subprocess.PIPE) as killed,
    ):
        assert heard(spared) == heard(killed) == "started"
        hosts[1].kill()
        assert killed.wait(SOON) == -9
        assert processes(hosts[1]) == 0
        assert processes(hosts[0]) == 2 and spared.poll() is None
    assert hosts[1].run(["echo", "again"], timeout=SOON).stdout == "again\n"


def test_what_runs_over_its_time_is_ended(hosts: tuple[AgentActor, ...]) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        hosts[0].run(["sleep", "1000"], timeout=0.5)
    hosts[0].kill()  # which returns when nothing is left
    assert processes(hosts[0]) == 0


@pytest.mark.parametrize("failing", [False, True])
def test_nothing_is_left(tmp_path: Path, failing: bool) -> None:
    before = namespaces()
    try:
        with simulated_hosts(2, tmp_path) as hosts:
            made = namespaces() - before
            assert len(made) >= 3
            with hosts[0].running(["sh", "-c", "setsid sleep 1000 & echo"], stdout=-1) as process:
                heard(process)
            hosts[1].cut()
            if failing:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert failing
    assert not namespaces() & made


def test_nothing_is_left_when_the_tests_are_killed(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from tests.cluster.hosts import simulated_hosts
with simulated_hosts(1, Path(sys.argv[1])) as (host,), host.running(["sleep", "1000"]):
    print(host.anchor, flush=True)
    time.sleep(1000)
"""
    with subprocess.Popen(
        python(code, str(tmp_path)), cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as tests:
        made = Path(f"/proc/{heard(tests)}/ns/net").readlink()
        tests.kill()
    deadline = time.monotonic() + SOON
    while str(made) in namespaces() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert str(made) not in namespaces()


def test_two_runs_live_side_by_side(hosts: tuple[AgentActor, ...], tmp_path: Path) -> None:
    knock = python("import socket; socket.create_connection(('h1', 7000), 1)")
    with (
        simulated_hosts(2, tmp_path) as others,
        others[1].running(python(ECHO), stdout=subprocess.PIPE) as server,
    ):
        assert heard(server) == "listening"
        assert others[0].run(knock, timeout=SOON).returncode == 0
        assert "refused" in hosts[0].run(knock, timeout=SOON).stderr
    assert hosts[0].run(["true"], timeout=SOON).returncode == 0


def namespaces() -> set[str]:
    """The network namespaces that have processes."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(str(link.readlink()))
        except OSError:  # it has ended meanwhile
            continue
    return found
