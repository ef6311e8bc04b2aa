"""What lies between members: a proxy that connects, an ear that listens, a line that breaks."""

import asyncio
import base64
from collections.abc import Sequence

import numpy as np
import pytest
from tests.engines.peers.certificate_cases import card, numbered, signed
from tests.engines.peers.doubles import MemoryJournal, PingPong
from tests.engines.peers.relay import Relay

from grassvine.engines.peers.member.events import Compute, Connected, Disconnected, Effect, Event
from grassvine.engines.peers.transport import channel, driver
from grassvine.engines.peers.transport.credentials import Identity, Neighbour
from grassvine.engines.peers.transport.driver import run_member
from grassvine.engines.peers.transport.probe import explain_refusal, proxy_for
from grassvine.protocol import Message
from grassvine.protocol import encode as encode_message

A, B = (numbered(signed(name), number) for number, name in enumerate("ab"))
TIMEOUT = 60.0
# What must not be readable: an id, a rating as text, a basis in both orders of bytes.
BASIS = np.random.default_rng(0).standard_normal((20, 2))
SECRETS = (
    b"patient-4711",
    b"4.5 stars",
    *(BASIS.astype(kind).tobytes()[:64] for kind in ("<f8", ">f8")),
)
CONTENT = encode_message(Message(0, 0, {"basis": BASIS})) + b"".join(SECRETS)


class Carrier(PingPong):
    """Sends the secrets instead of nothing in particular."""

    def _next_round(self) -> list[Effect]:
        effects = super()._next_round()
        return [
            Compute(one.ticket, lambda: CONTENT) if isinstance(one, Compute) else one
            for one in effects
        ]


class Waiting(PingPong):
    """Exchanges its last message only after a connection was lost."""

    def __init__(self, number: int) -> None:
        super().__init__(number, neighbours=(1 - number,))
        self.first, self.lost = asyncio.Event(), asyncio.Event()

    def react(self, event: Event) -> Sequence[Effect]:
        if isinstance(event, Disconnected):
            self.lost.set()
        if self.round == 2 and not self.first.is_set():
            self.first.set()
        return super().react(event)

    def _message(self, other: int) -> list[Effect]:
        return super()._message(other) if self.round < 2 or self.lost.is_set() else []


async def exchange(relay: Relay, address: str | None = None, encrypted: bool = True) -> PingPong:
    """Let b reach a through a relay, and exchange three messages; return b."""
    opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    a, b = Carrier(0, neighbours=(1,)), Carrier(1, neighbours=(0,))

    def known(identity: Identity, address: str | None = None) -> Neighbour:
        return card(identity, address)

    listening = run_member(
        a,
        0,
        A if encrypted else None,
        [known(B)],
        MemoryJournal(),
        listen="127.0.0.1:0",
        opened=opened.set_result,
    )
    task = asyncio.create_task(listening)
    port = await opened
    relay.port_of = lambda place: port if place in ("", "clinic-a.invalid:443") else 0
    async with relay.serving():
        neighbour = known(A, address or f"127.0.0.1:{relay.port}")
        await run_member(b, 1, B if encrypted else None, [neighbour], MemoryJournal())
        await task
    return b


def run(relay: Relay, **options: object) -> PingPong:
    return asyncio.run(asyncio.wait_for(exchange(relay, **options), TIMEOUT))  # type: ignore[arg-type]


def test_nothing_can_be_read_on_the_way() -> None:
    relay = Relay(lambda place: 0)
    assert run(relay).round == 3
    assert len(relay.recorded) > 2 * 3 * len(CONTENT)
    found = [secret for secret in SECRETS if secret in relay.recorded]
    assert found == []


def test_without_encryption_everything_could_be_read() -> None:
    """The test above would notice."""
    relay = Relay(lambda place: 0)
    assert run(relay, encrypted=False).round == 3
    assert all(relay.recorded.count(secret) >= 6 for secret in SECRETS)


@pytest.mark.parametrize("variable", ["https_proxy", "grpc_proxy"])
def test_members_are_reached_through_a_proxy(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is known to the proxy alone, which learns nothing else."""
    for name in ("grpc_proxy", "https_proxy", "http_proxy", "no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    secret = base64.b64encode(b"user:pass word").decode()
    relay = Relay(lambda place: 0, proxy=True, authorization=secret)

    async def scene() -> PingPong:
        exchanged = asyncio.create_task(exchange(relay, "clinic-a.invalid:443"))
        while not relay.port:
            await asyncio.sleep(0)
        address = f"http://user:pass%20word@127.0.0.1:{relay.port}"
        monkeypatch.setenv(variable, address)
        assert proxy_for("clinic-a.invalid:443") == address
        return await exchanged

    assert asyncio.run(asyncio.wait_for(scene(), TIMEOUT)).round == 3
    assert {request.split("\r\n")[0] for request in relay.requests} == {
        "CONNECT clinic-a.invalid:443 HTTP/1.1"
    }
    assert [secret for secret in SECRETS if secret in relay.recorded] == []


def test_this_machine_is_reached_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # where nobody listens
    assert run(Relay(lambda place: 0)).round == 3
    assert proxy_for("127.0.0.1:443") == proxy_for("localhost:443") == proxy_for("[::1]:443") == ""
    assert proxy_for("clinic-a.example:443") == "http://127.0.0.1:9"
    monkeypatch.setenv("no_proxy", "other.org, .example")
    assert proxy_for("clinic-a.example:443") == ""


def test_the_probe_goes_through_the_proxy_and_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("grpc_proxy", raising=False)

    async def scene() -> list[str]:
        relay = Relay(lambda place: 0, proxy=True, authorization="x")
        async with relay.serving():
            told = []
            for user in ("", "user:wrong@"):
                monkeypatch.setenv("https_proxy", f"http://{user}127.0.0.1:{relay.port}")
                neighbour = card(A, "clinic-a.invalid:443")
                told.append(await asyncio.to_thread(explain_refusal, B, neighbour))
            relay.authorization = ""
            told.append(await asyncio.to_thread(explain_refusal, B, neighbour))
            return told

    told = asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
    assert all(sentence.startswith("the proxy 127.0.0.1 ") for sentence in told)
    assert ["407" in sentence for sentence in told] == [True, True, False]
    assert "403" in told[2]


def test_a_line_that_breaks_is_opened_again_and_nothing_is_lost() -> None:
    """The relay drops all connections now and then; each message arrives once."""

    class Broken(Relay):
        async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(2**12):
                self.recorded += data
                if len(self.recorded) > self.limit:
                    self.limit += 30_000
                    self.drop()
                    return
                writer.write(data)

        limit = 20_000

    relay = Broken(lambda place: 0)

    async def scene() -> tuple[PingPong, list[object]]:
        opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        a = PingPong(0, neighbours=(1,), rounds=12, size=8000)
        b = PingPong(1, neighbours=(0,), rounds=12, size=8000)
        journal = MemoryJournal()
        listening = run_member(
            a, 0, A, [card(B)], journal, listen="127.0.0.1:0", opened=opened.set_result
        )
        task = asyncio.create_task(listening)
        port = await opened
        relay.port_of = lambda place: port
        async with relay.serving():
            dialling = run_member(b, 1, B, [card(A, f"127.0.0.1:{relay.port}")], MemoryJournal())
            dialler = asyncio.create_task(dialling)
            await asyncio.wait({task, dialler}, return_when=asyncio.FIRST_COMPLETED)
            for one in (task, dialler):
                one.cancel()
            await asyncio.gather(task, dialler, return_exceptions=True)
        return b, [record for part in journal.appended for record in part]

    b, records = asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
    assert len(b.of(Connected)) > 3
    slots = [record.slot for record in records]  # type: ignore[attr-defined]
    assert slots == list(range(len(slots))) and len(slots) >= 11


def test_a_partition_without_a_word_is_noticed_and_heals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relay keeps its connections and loses what is sent; pings find out on both sides."""
    for name in ("CHANNEL_OPTIONS", "SERVER_OPTIONS"):
        options = tuple(
            (key, value // 50 if "keepalive" in key or "ping_timeout" in key else value)
            for key, value in getattr(channel, name)
        )
        monkeypatch.setattr(channel, name, options)
    monkeypatch.setattr(channel, "CONNECT_SECONDS", 1.0)
    monkeypatch.setattr(driver, "explain_refusal", lambda *arguments: "")

    class Hole(Relay):
        lost = False

        async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(2**16):
                if not self.lost:
                    writer.write(data)

    relay = Hole(lambda place: 0)

    async def scene() -> tuple[PingPong, PingPong]:
        opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        a, b = (Waiting(number) for number in range(2))
        listening = run_member(
            a, 0, A, [card(B)], MemoryJournal(), listen="127.0.0.1:0", opened=opened.set_result
        )
        task = asyncio.create_task(listening)
        port = await opened
        relay.port_of = lambda place: port
        async with relay.serving():
            neighbour = card(A, f"127.0.0.1:{relay.port}")
            dialler = asyncio.create_task(run_member(b, 1, B, [neighbour], MemoryJournal()))
            await asyncio.gather(a.first.wait(), b.first.wait())
            relay.lost = True
            await asyncio.gather(a.lost.wait(), b.lost.wait())
            relay.lost = False
            await asyncio.gather(task, dialler)
        return a, b

    a, b = asyncio.run(asyncio.wait_for(scene(), TIMEOUT))
    assert a.round == b.round == 3
