"""Several hosts on one machine, by Linux namespaces: each has its own network, mounts, hostname
and process ids, and its cable leads to a switch in a namespace of its own.

Nothing has a name outside, so runs live side by side; and everything hangs on the standard input
of a host's first process. When that closes, which the kernel sees to if all else fails, the
process ends, and with it every process of the host, its mounts and its network.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
TOOLS = ("ip", "tc", "unshare", "nsenter", "setpriv", "mount")
OWN_NAMESPACES = ("unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc")
PATIENCE = 30.0  # seconds for what takes milliseconds where the machine is idle

PROBE = """
mount -t tmpfs tmpfs /dev/shm
ip link add switch type bridge
ip link add one type veth peer name other
tc qdisc add dev one root blackhole
"""

# Folders below /tmp that must stay visible wait in /mnt while /tmp becomes the host's own. As the
# first process ignores SIGCHLD, the kernel buries the orphans that it inherits.
FIRST_PROCESS = """
name=$1 names=$2
shift 2
echo "$name" > /proc/sys/kernel/hostname
mount -t tmpfs -o size=2g tmpfs /dev/shm
mount -t tmpfs tmpfs /mnt
n=0
for folder; do n=$((n + 1)); mkdir /mnt/$n; mount --rbind "$folder" /mnt/$n; done
mount -t tmpfs -o size=2g,mode=1777 tmpfs /tmp
n=0
for folder; do n=$((n + 1)); mkdir -p "$folder"; mount --move /mnt/$n "$folder"; done
umount /mnt
echo "$names" > /tmp/hosts
mount --bind /tmp/hosts /etc/hosts
ip link set lo up
echo ready
exec env --ignore-signal=CHLD cat
"""

WAITING = "echo ready; exec cat"  # until standard input closes

# The first process of a host is spared by kill; the shell that counts is the second.
KILL_ALL = """
kill -9 -1
until set -- /proc/[0-9]*; [ $# -le 2 ]; do sleep 0.01; done
"""


@cache
def why_no_hosts() -> str | None:
    """Return why this machine lets us make no hosts, or None where it does."""
    if os.geteuid() != 0:
        return "simulated hosts need network namespaces, which take root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"simulated hosts need {', '.join(missing)} (iproute2, util-linux)"
    probe = subprocess.run(
        [*OWN_NAMESPACES, "sh", "-ec", PROBE], capture_output=True, text=True, timeout=PATIENCE
    )
    if probe.returncode:
        return f"simulated hosts are refused here: {probe.stderr.strip()}"
    return None


@dataclass(frozen=True)
class AgentActor:
    """A simulated host; its address is known to the others by its name.

    ``anchor`` and ``switch`` are processes through which its namespaces and those of the switch
    are entered.
    """

    name: str
    address: str
    anchor: int
    switch: int

    def run(
        self, command: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command here to its end, which must come in time; return what it printed."""
        return subprocess.run(
            self._inside(command),
            env=_environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    @contextmanager
    def running(
        self, command: Sequence[str], *, env: Mapping[str, str] | None = None, **streams: Any
    ) -> Iterator[subprocess.Popen[str]]:
        """Have a command run here until the block is left."""
        with subprocess.Popen(
            self._inside(command),
            env=_environment(env),
            stdin=subprocess.DEVNULL,
            text=True,
            **streams,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def cut(self) -> None:
        """Let all packets from and to this host vanish; nobody is told."""
        self._queue_at_both_ends("replace", "blackhole")

    def heal(self) -> None:
        """Undo a cut."""
        self._queue_at_both_ends("del")

    def kill(self) -> None:
        """End every process of this host at once; it can run others afterwards."""
        self.run(["sh", "-c", KILL_ALL], timeout=PATIENCE).check_returncode()

    def congest(self, algorithm: str) -> None:
        """Let TCP from this host use an algorithm of congestion control, as if by default.

        A network namespace may not always choose its default; a route may.
        """
        network = f"{self.address.rpartition('.')[0]}.0/24"
        route = [network, "dev", "eth0", "src", self.address, "congctl", algorithm]
        _do_at(self.anchor, "ip", "route", "change", *route)

    def _queue_at_both_ends(self, action: str, *kind: str) -> None:
        for process, cable in ((self.anchor, "eth0"), (self.switch, self.name)):
            _do_at(process, "tc", "qdisc", action, "dev", cable, "root", *kind)

    def _inside(self, command: Sequence[str]) -> list[str]:
        """A command that enters the host; it dies with the process that waits for it outside."""
        ids = f"--pid=/proc/{self.anchor}/ns/pid_for_children"
        enter = ["nsenter", "-t", str(self.anchor), "--net", "--mount", "--uts", ids]
        return [*enter, "setpriv", "--pdeathsig", "KILL", *command]


@contextmanager
def simulated_hosts(
    n_hosts: int, *shared: Path, delay: float | None = None, firewalled: Container[str] = ()
) -> Iterator[tuple[AgentActor, ...]]:
    """Make hosts h0, h1, … that reach each other and nothing else, until the block is left.

    They have the files of this machine, but each has its own /tmp and /dev/shm; of folders below
    /tmp they see those ``shared``, under the same path, as they would those of a file server.

    With a ``delay`` every packet arrives so many seconds after it was sent, and TCP connections to
    hosts that are ``firewalled`` are not let through.
    """
    addresses = {f"h{k}": f"10.77.0.{k + 1}" for k in range(n_hosts)}  # seen inside only
    with ExitStack() as stack:
        switch = stack.enter_context(_ready(["unshare", "--net", "sh", "-c", WAITING]))
        if delay is None:
            _do_at(switch, "ip", "link", "add", "switch", "type", "bridge")
            _do_at(switch, "ip", "link", "set", "switch", "up")
        hosts = []
        for name, address in addresses.items():
            anchor = stack.enter_context(_ready(_first_process(name, addresses, shared)))
            hosts.append(AgentActor(name, address, anchor, switch))
            _plug_in(hosts[-1], *(["master", "switch"] if delay is None else []))
        if delay is not None:
            cables = [f"{name}{'!' if name in firewalled else ''}" for name in addresses]
            enter = ["nsenter", "-t", str(switch), "--net"]
            slow = [sys.executable, "-m", "tests.cluster.slow_switch", str(delay), *cables]
            stack.enter_context(_ready([*enter, *slow], cwd=REPOSITORY))
        yield tuple(hosts)


@contextmanager
def host_behind(gateway: AgentActor, name: str, *shared: Path) -> Iterator[AgentActor]:
    """Make a host that reaches a gateway, which it knows as ``gateway``, and nothing else."""
    known = {"gateway": "10.78.0.1", name: "10.78.0.2"}
    with _ready(_first_process(name, known, shared)) as anchor:
        host = AgentActor(name, known[name], anchor, gateway.anchor)
        _plug_in(host)
        _do_at(gateway.anchor, "ip", "address", "add", f"{known['gateway']}/24", "dev", name)
        yield host


def _first_process(name: str, known: Mapping[str, str], shared: Sequence[Path]) -> list[str]:
    """Return the command that makes the namespaces of a host which knows some addresses."""
    names = "\n".join(["127.0.0.1 localhost", *(f"{known[one]} {one}" for one in known)])
    needed = {*shared, REPOSITORY, Path(sys.prefix), Path(sys.base_prefix)}
    visible = [str(path) for path in sorted(needed) if path.is_relative_to("/tmp")]
    return [*OWN_NAMESPACES, "sh", "-ec", FIRST_PROCESS, "sh", name, names, *visible]


@contextmanager
def _ready(command: Sequence[str], **options: Any) -> Iterator[int]:
    """Yield the id of a process that has said that it is ready.

    Leaving closes its standard input, and waits until the last process is gone.
    """
    with subprocess.Popen(
        command,
        **options,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as anchor:
        assert anchor.stdout
        said: list[str] = []
        while (line := anchor.stdout.readline()) != "ready\n":
            if not line:
                raise OSError(f"no simulated host: {''.join(said)}")
            said.append(line)
        yield anchor.pid


def _plug_in(host: AgentActor, *more: str) -> None:
    """Lay the cable from a host to the switch."""
    cable = [host.name, "type", "veth", "peer", "name", "eth0", "netns", str(host.anchor)]
    _do_at(host.switch, "ip", "link", "add", *cable)
    _do_at(host.switch, "ip", "link", "set", host.name, *more, "up")
    _do_at(host.anchor, "ip", "address", "add", f"{host.address}/24", "dev", "eth0")
    _do_at(host.anchor, "ip", "link", "set", "eth0", "up")


def _environment(given: Mapping[str, str] | None) -> dict[str, str]:
    return {**(os.environ if given is None else given), "TMPDIR": "/tmp"}


def _do_at(process: int, *command: str) -> None:
    """Run a command of this machine in the network of a process."""
    enter = ["nsenter", "-t", str(process), "--net"]
    done = subprocess.run([*enter, *command], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
