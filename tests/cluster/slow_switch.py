"""A switch whose cables are long: ``python -m tests.cluster.slow_switch SECONDS CABLE…``.

It forwards Ethernet frames between the cables of its network namespace, each frame the given time
after it came, for kernels without netem. A cable written ``NAME!`` ends at a firewall, which lets
TCP connections out and none in. It says ``ready``, and ends with its standard input.

Frames pass as the kernel has them, with the header that says what offloading is still to be done;
so a frame of up to 64 kB passes as one, and checksums need no attention.
"""

import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

ALL_PROTOCOLS = 3
SOL_PACKET = 263
PACKET_VNET_HDR = 15
PACKET_IGNORE_OUTGOING = 23
OFFLOADING = 10  # bytes of the header before the frame
LONGEST = 2**17
BUFFERED = 2**25  # bytes of frames that wait while this process does not run
TCP, SYN, ACK = 6, 0x02, 0x10


def cable(name: str) -> socket.socket:
    """Open an end of a cable."""
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    end.setsockopt(socket.SOL_SOCKET, 33, BUFFERED)  # SO_RCVBUFFORCE
    end.setblocking(False)
    end.bind((name, ALL_PROTOCOLS))
    return end


def opens_connection(data: bytes) -> bool:
    """Whether a frame, after its header of offloading, asks for a TCP connection over IPv4."""
    packet = data[OFFLOADING + 14 :]
    if data[OFFLOADING + 12 : OFFLOADING + 14] != b"\x08\x00" or packet[9] != TCP:
        return False
    flags = packet[4 * (packet[0] & 15) + 13]
    return flags & (SYN | ACK) == SYN


class Switch:
    """Forwards frames after a delay, to the cable where their receiver was seen, or to all."""

    def __init__(self, delay: float, names: Sequence[str]) -> None:
        self._delay = delay
        self._cables = {cable(name.rstrip("!")): name.endswith("!") for name in names}
        self._seen: dict[bytes, socket.socket] = {}  # the cable by hardware address
        self._waiting: deque[tuple[float, bytes, socket.socket]] = deque()

    def run(self, until: int) -> None:
        """Forward until a file descriptor can be read."""
        ends: list[socket.socket | int] = [*self._cables, until]
        while True:
            # The time-out of select has microseconds; those of poll and epoll have milliseconds.
            left = self._waiting[0][0] - time.monotonic() if self._waiting else None
            timeout = None if left is None else max(left, 0.0)
            for end in select.select(ends, [], [], timeout)[0]:
                if isinstance(end, int):
                    return
                self._take(end)
            self._send()

    def _take(self, end: socket.socket) -> None:
        with suppress(BlockingIOError):
            while data := end.recv(LONGEST):
                self._seen[data[OFFLOADING + 6 : OFFLOADING + 12]] = end
                self._waiting.append((time.monotonic() + self._delay, data, end))
                self._send()

    def _send(self) -> None:
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            _, data, origin = self._waiting.popleft()
            known = self._seen.get(data[OFFLOADING : OFFLOADING + 6])
            for end in [known] if known else self._cables:
                if end is not origin and not (self._cables[end] and opens_connection(data)):
                    with suppress(OSError):  # a cable that was cut takes nothing
                        end.send(data)


def main() -> None:
    delay, *names = sys.argv[1:]
    os.setpriority(os.PRIO_PROCESS, 0, -20)  # it does little, but must do it in time
    switch = Switch(float(delay), names)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    switch.run(sys.stdin.fileno())


if __name__ == "__main__":
    main()
