"""Without the extra everything imports, and what needs it says which one to install."""

import subprocess
import sys

CODE = """
import sys
for name in ("grpc", "google", "google.protobuf", "cryptography"):
    sys.modules[name] = None  # as if it were not installed
import asyncio, logging
import grassvine
from grassvine.engines.peers.transport import driver, probe, wire
from grassvine.engines.peers.transport.credentials import Identity
from grassvine.engines.peers.member.frames import Ack
from grassvine.foundations.errors import MissingExtra

identity = Identity(0, "a", b"", b"")
for action in (
    lambda: wire.encode(Ack(0)),
    lambda: wire.decode(b""),
    lambda: asyncio.run(driver.run_member(None, 0, identity, [], None)),
):
    try:
        action()
    except MissingExtra as error:
        print(error)
"""


def test_what_needs_the_extra_says_so() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    sentence = (
        "a run between organisations needs an optional dependency: pip install 'grassvine[peers]'"
    )
    assert run.stdout.splitlines() == [sentence] * 3
