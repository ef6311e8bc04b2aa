"""Members that are driven over gRPC on loopback: order, repetition, loss, the end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.engines.peers.certificate_cases import Authority, card, key_of, numbered, signed
from tests.engines.peers.doubles import MemoryJournal, PingPong, Recorder, hello

from grassvine.engines.peers.member.events import (
    Compute,
    Computed,
    Connected,
    Disconnect,
    Disconnected,
    Effect,
    Event,
    Fail,
    Leave,
    Persist,
    Persisted,
    Received,
    Send,
    Tick,
)
from grassvine.engines.peers.member.frames import Ack, Data, Refusal
from grassvine.engines.peers.member.records import Incoming, NeighbourFinished, Record
from grassvine.engines.peers.transport import driver, links
from grassvine.engines.peers.transport.channel import dialled
from grassvine.engines.peers.transport.credentials import Identity
from grassvine.engines.peers.transport.driver import StateMachine, run_member
from grassvine.engines.peers.transport.links import Traffic
from grassvine.engines.peers.transport.wire import decode, encode
from grassvine.engines.peers.transport.workers import Journal
from grassvine.foundations.errors import OutputError, PlanError

IDENTITIES = tuple(numbered(signed(name), number) for number, name in enumerate("abc"))
A, B, C = IDENTITIES
TIMEOUT = 60.0  # of what takes milliseconds


def run(scene: Awaitable[Any]) -> Any:
    return asyncio.run(asyncio.wait_for(scene, TIMEOUT))


@asynccontextmanager
async def running(
    member: StateMachine, journal: Journal | None = None, known: Sequence[Identity] = (B, C)
) -> AsyncIterator[tuple[str, "asyncio.Task[Any]"]]:
    """Let member 0 listen; yields its address and its task."""
    opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    cards = [card(identity) for identity in known]
    coroutine = run_member(
        member,
        0,
        A,
        cards,
        journal or MemoryJournal(),
        listen="127.0.0.1:0",
        opened=opened.set_result,
    )
    task = asyncio.create_task(coroutine)
    task.add_done_callback(lambda _: opened.cancel())
    try:
        yield f"127.0.0.1:{await opened}", task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def dial(identity: Identity, address: str) -> Any:
    return dialled(identity, identity.number, card(A, address))


@dataclass
class Scripted(Recorder):
    """Answers events by a function, and wakes up whoever waits for an event."""

    script: Callable[[Event], Sequence[Effect]] = lambda event: []
    first: Sequence[Effect] = ()
    waiting: list[tuple[Callable[[Event], bool], "asyncio.Future[Event]"]] = field(
        default_factory=list
    )

    def start(self) -> Sequence[Effect]:
        return self.first

    def react(self, event: Event) -> Sequence[Effect]:
        for wanted, future in self.waiting:
            if wanted(event) and not future.done():
                future.set_result(event)
        return self.script(event)

    async def seen(self, wanted: Callable[[Event], bool]) -> Event:
        """Wait for an event."""
        for event in self.events:
            if wanted(event):
                return event
        future: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self.waiting.append((wanted, future))
        return await future

    def links(self) -> list[Event]:
        return [event for event in self.events if not isinstance(event, Tick)]


@pytest.mark.parametrize("size", [1, 100_000, 1_700_000])
@pytest.mark.parametrize("encrypted", [True, False])
def test_three_members_exchange_messages_until_they_leave(size: int, encrypted: bool) -> None:
    """Member 0 listens; 1 and 2 dial it: who has dialled makes no difference afterwards."""

    async def scene() -> list[int]:
        members = [
            PingPong(0, neighbours=(1, 2), rounds=4, size=size),
            PingPong(1, neighbours=(0,), rounds=4, size=size),
            PingPong(2, neighbours=(0,), rounds=4, size=size),
        ]
        journals = [MemoryJournal() for _ in members]
        opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        traffic: dict[int, Traffic] = {}

        async def dialling(number: int) -> None:
            neighbour = card(A, f"127.0.0.1:{await opened}")
            identity = IDENTITIES[number] if encrypted else None
            await run_member(
                members[number], number, identity, [neighbour], journals[number], traffic=traffic
            )

        listening = run_member(
            members[0],
            0,
            A if encrypted else None,
            [card(B), card(C)],
            journals[0],
            listen="127.0.0.1:0",
            opened=opened.set_result,
        )
        await asyncio.gather(listening, dialling(1), dialling(2))
        payloads = [
            [(r.sender, r.slot, r.payload) for part in one.appended for r in part]  # type: ignore[union-attr]
            for one in journals
        ]
        for number in (1, 2):
            expected = [(0, slot, (bytes([0, slot]) * size)[:size]) for slot in range(4)]
            assert payloads[number] == expected
        assert sorted(payloads[0]) == [
            (sender, slot, (bytes([sender, slot]) * size)[:size])
            for sender in (1, 2)
            for slot in range(4)
        ]
        assert min(traffic[0].bytes_sent, traffic[0].bytes_received) >= 2 * 4 * size
        return [member.round for member in members]

    assert run(scene()) == [4, 4, 4]


def test_events_of_a_link_come_in_order_and_queued_frames_are_dropped() -> None:
    """A second stream of a neighbour replaces the first, whose end is told before."""
    member = Scripted()

    async def scene() -> None:
        async with running(member) as (address, _), dial(B, address) as first:
            await first.write(encode(Ack(1)))
            await member.seen(lambda event: event == Received(1, Ack(1)))
            async with dial(B, address) as second:
                await second.write(encode(Ack(2)))
                await member.seen(lambda event: event == Received(1, Ack(2)))
                assert not isinstance(await first.read(), bytes)
                async with dial(C, address) as other:
                    await other.write(encode(Ack(3)))
                    await member.seen(lambda event: event == Received(2, Ack(3)))
            await member.seen(lambda event: event == Disconnected(1) and len(member.links()) > 7)

    run(scene())
    of_b = [event for event in member.links() if getattr(event, "neighbour", 1) == 1]
    assert of_b[:6] == [
        Connected(1),
        Received(1, Ack(1)),
        Disconnected(1),
        Connected(1),
        Received(1, Ack(2)),
        Disconnected(1),
    ]


def test_a_disconnect_comes_after_what_was_sent() -> None:
    refusal = Refusal("the plans differ.")

    def script(event: Event) -> Sequence[Effect]:
        if isinstance(event, Received):
            return [Send(1, hello(0)), Send(1, refusal), Disconnect(1, "they differ")]
        return []

    member = Scripted(script=script)

    async def scene() -> None:
        async with running(member) as (address, _), dial(B, address) as stream:
            await stream.write(encode(Ack(1)))
            assert decode(await stream.read()) == hello(0)
            assert decode(await stream.read()) == refusal
            assert not isinstance(await stream.read(), bytes)
            await member.seen(lambda event: event == Disconnected(1))

    run(scene())


def test_a_dialling_member_that_refuses_tells_it_before_it_closes() -> None:
    refusal = Refusal("the plans differ.")
    listening = Scripted()

    def script(event: Event) -> Sequence[Effect]:
        if isinstance(event, Connected):
            return [Send(0, hello(1)), Send(0, refusal), Disconnect(0, "they differ")]
        return [Leave()] if isinstance(event, Disconnected) else []

    async def scene() -> None:
        async with running(listening) as (address, _):
            await run_member(Scripted(script=script), 1, B, [card(A, address)], MemoryJournal())
            await listening.seen(lambda event: event == Disconnected(1))

    run(scene())
    assert listening.links() == [
        Connected(1),
        Received(1, hello(1)),
        Received(1, refusal),
        Disconnected(1),
    ]


def test_what_was_sent_before_leaving_arrives() -> None:
    last: list[Effect] = [Send(1, Data(0, 500_000, 0, bytes(500_000))), Send(1, Ack(5)), Leave()]

    def script(event: Event) -> Sequence[Effect]:
        return last if isinstance(event, Received) else []

    member = Scripted(script=script)

    async def scene() -> None:
        async with running(member) as (address, task), dial(B, address) as stream:
            await stream.write(encode(Ack(1)))
            assert isinstance(decode(await stream.read()), Data)
            assert decode(await stream.read()) == Ack(5)
            assert not isinstance(await stream.read(), bytes)
            await task

    run(scene())


def test_the_last_word_of_a_member_that_fails_arrives() -> None:
    last: list[Effect] = [Send(1, Refusal("it stopped.")), Fail(PlanError("no."))]

    def script(event: Event) -> Sequence[Effect]:
        return last if isinstance(event, Received) else []

    async def scene() -> None:
        async with running(Scripted(script=script)) as (address, task), dial(B, address) as stream:
            await stream.write(encode(Ack(1)))
            assert decode(await stream.read()) == Refusal("it stopped.")
            with pytest.raises(PlanError):
                await task

    run(scene())


def test_both_may_leave_at_once() -> None:
    """Twenty times, as it depends on which end is first."""
    last = Refusal("good night.")

    def script(event: Event) -> Sequence[Effect]:
        match event:
            case Connected(other):
                return [Send(other, Ack(1))]
            case Received(other, Ack()):
                return [Send(other, Data(0, 10**9, 0, bytes(300_000))), Send(other, last), Leave()]
        return []

    async def scene() -> None:
        for _ in range(20):
            listening, dialling = Scripted(script=script), Scripted(script=script)
            async with running(listening) as (address, task):
                await run_member(dialling, 1, B, [card(A, address)], MemoryJournal())
                await task

    run(scene())


def test_why_a_neighbour_refuses_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate passes the handshake: it has the name of b, and c has signed it."""
    reissued = signed("b", by=Authority("c", key_of(C)))
    monkeypatch.setattr(driver, "check_certificates", lambda *arguments: None)
    monkeypatch.setattr("grassvine.engines.peers.transport.backoff.MAX_DELAY", 0.01)
    dialling = Scripted()

    async def scene() -> None:
        async with running(Scripted(), known=(B, C)) as (address, _):
            coroutine = run_member(dialling, 1, reissued, [card(A, address)], MemoryJournal())
            task = asyncio.create_task(coroutine)
            while caplog.text.count("PERMISSION_DENIED") < 4:
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    with caplog.at_level("DEBUG", "grassvine.peers"):
        run(scene())
    told = [r.getMessage() for r in caplog.records if r.getMessage().startswith("a refuses")]
    assert len(told) == 1
    assert "is not that of a neighbour in the plan" in told[0]
    assert not dialling.links()


def test_what_a_neighbour_says_cannot_reach_the_terminal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    member = Scripted(
        script=lambda event: [Disconnect(1, "\x1b[2Jno")] if isinstance(event, Received) else []
    )

    async def scene() -> None:
        async with running(member) as (address, _), dial(B, address) as stream:
            await stream.write(encode(Ack(1)))
            await member.seen(lambda event: event == Disconnected(1))

    run(scene())
    assert "closed the link to b: \\x1b[2Jno" in caplog.text


def test_an_undecodable_frame_is_answered_with_the_reason() -> None:
    member = Scripted()

    async def scene() -> None:
        async with running(member) as (address, _), dial(B, address) as stream:
            await stream.write(b"\xff\xff")
            answer = decode(await stream.read())
            assert answer == Refusal("a frame is not a valid protocol buffer.")
            assert not isinstance(await stream.read(), bytes)
            await member.seen(lambda event: event == Disconnected(1))

    run(scene())
    assert member.links() == [Connected(1), Disconnected(1)]


def test_a_lost_neighbour_is_dialled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The listening member is ended and started again at the same port, three times."""
    monkeypatch.setattr("grassvine.engines.peers.transport.backoff.FIRST_DELAY", 0.01)
    dialling = Scripted()

    async def scene() -> None:
        async with running(Scripted(first=())) as (address, _):
            task = asyncio.create_task(
                run_member(dialling, 1, B, [card(A, address)], MemoryJournal())
            )
            await dialling.seen(lambda event: isinstance(event, Connected))
        for count in (2, 3):
            listening = run_member(
                member := Scripted(), 0, A, [card(B)], MemoryJournal(), listen=address
            )
            again = asyncio.create_task(listening)
            await member.seen(lambda event: isinstance(event, Connected))
            await dialling.seen(lambda _, n=count: len(dialling.of(Connected)) == n)  # type: ignore[misc]
            again.cancel()
            await asyncio.gather(again, return_exceptions=True)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(scene())
    kinds = [type(event) for event in dialling.links()]
    assert kinds[:5] == [Connected, Disconnected, Connected, Disconnected, Connected]


class SlowJournal(MemoryJournal):
    """Lets the test decide when the disk is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.ready = threading.Event(), threading.Event()

    def append(self, records: Iterable[Record]) -> None:
        self.begun.set()
        assert self.ready.wait(TIMEOUT)
        super().append(records)


def test_records_that_gather_are_flushed_together_in_order() -> None:
    journal = SlowJournal()

    def script(event: Event) -> Sequence[Effect]:
        if isinstance(event, Computed) and event.ticket == 10:
            return [
                *(Persist(n, (NeighbourFinished(n), Incoming(n, 0, b""))) for n in range(1, 5)),
                Compute(11, journal.ready.set),
            ]
        return [Leave()] if event == Persisted(4) else []

    member = Scripted(
        script=script,
        first=[Persist(0, (NeighbourFinished(0),)), Compute(10, lambda: journal.begun.wait(60))],
    )
    run(run_member(member, 0, None, [], journal))
    assert [len(part) for part in journal.appended] == [1, 8]
    assert [r.neighbour for r in journal.appended[1][::2]] == [1, 2, 3, 4]  # type: ignore[union-attr]
    assert member.of(Persisted) == [Persisted(n) for n in range(5)]


def test_computations_run_one_at_a_time_in_order_in_one_thread() -> None:
    log: list[tuple[int, int]] = []

    def job(number: int) -> Callable[[], int]:
        def call() -> int:
            log.append((number, threading.get_ident()))
            return number

        return call

    def wrong() -> None:
        raise ZeroDivisionError

    member = Scripted(
        script=lambda event: [Leave()] if getattr(event, "ticket", 0) == 9 else [],
        first=[*(Compute(n, job(n)) for n in range(9)), Compute(9, wrong)],
    )
    run(run_member(member, 0, None, [], MemoryJournal()))
    assert [number for number, _ in log] == list(range(9))
    assert {ident for _, ident in log} - {threading.get_ident()} == {log[0][1]}
    computed = member.of(Computed)
    assert computed[:9] == [Computed(n, n) for n in range(9)]
    assert isinstance(computed[9].error, ZeroDivisionError)  # type: ignore[union-attr]


class FullDisk(MemoryJournal):
    def append(self, records: Iterable[Record]) -> None:
        raise OutputError("the journal cannot be written; free disk space.")


@pytest.mark.parametrize(
    ("first", "error"),
    [
        ([Persist(0, ()), Persist(1, ())], OutputError),
        ([Fail(PlanError("no."))], PlanError),
        ([Send(1, Ack(0)), object()], None),
    ],
)
def test_a_run_ends_with_the_error_of_its_journal_or_member(
    first: Sequence[Effect], error: type[Exception] | None
) -> None:
    member = Scripted(first=first, script=lambda event: [Leave()])
    if error is None:
        run(run_member(member, 0, None, [], FullDisk()))
    else:
        member.script = lambda event: []
        with pytest.raises(error):
            run(run_member(member, 0, None, [], FullDisk()))
        assert not member.of(Persisted)


def test_an_error_of_the_program_does_not_pass_for_a_lost_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(data: bytes) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(links, "decode", wrong)

    async def scene() -> None:
        async with running(Scripted()) as (address, task), dial(B, address) as stream:
            await stream.write(encode(Ack(1)))
            with pytest.raises(ZeroDivisionError):
                await task

    run(scene())


def test_an_error_in_the_member_ends_the_run() -> None:
    def script(event: Event) -> Sequence[Effect]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(run_member(Scripted(script=script), 0, None, [], MemoryJournal()))


def test_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "TICK_SECONDS", 0.001)
    member = Scripted()
    member.script = lambda event: [Leave()] if len(member.of(Tick)) == 5 else []
    run(run_member(member, 0, None, [], MemoryJournal()))
    times = [event.now for event in member.of(Tick)]  # type: ignore[union-attr]
    assert times == sorted(set(times))


def test_a_cancelled_run_writes_what_it_was_given() -> None:
    """As at SIGTERM: nothing new begins, and the journal is complete."""
    journal = SlowJournal()
    member = Scripted(first=[Persist(n, (NeighbourFinished(n),)) for n in range(5)])

    async def scene() -> None:
        async with running(member, journal) as (_, task):
            await asyncio.to_thread(journal.begun.wait)
            task.cancel()
            journal.ready.set()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(scene())
    assert sum(len(part) for part in journal.appended) == 5
    assert member.of(Persisted) == []


def test_a_neighbour_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for it is bounded in number, and so is the time for each frame."""
    monkeypatch.setattr(links, "MAX_QUEUED", 8)
    part = Send(1, Data(0, 10**9, 0, bytes(2**19)))
    for kind in (Received, Connected):
        member = Scripted(script=lambda event, k=kind: [part] * 12 if isinstance(event, k) else [])  # type: ignore[misc]

        async def scene(member: Scripted = member) -> None:
            async with running(member) as (address, _), AsyncExitStack() as stack:
                with suppress(*links.connection_errors()):  # it may be dropped before
                    stream = await stack.enter_async_context(dial(B, address))
                    await stream.write(encode(Ack(1)))
                await member.seen(lambda event: event == Disconnected(1))

        run(scene())


def test_a_neighbour_that_reads_too_slowly_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "WRITE_SECONDS", 0.2)
    part = Send(1, Data(0, 10**9, 0, bytes(2**19)))
    member = Scripted(script=lambda event: [part] * 100 if isinstance(event, Received) else [])

    async def scene() -> None:
        async with running(member) as (address, _), dial(B, address) as stream:
            await stream.write(encode(Ack(1)))
            await member.seen(lambda event: event == Disconnected(1))

    run(scene())


def test_links_between_machines_are_never_in_plain_text() -> None:
    for address in ("10.0.0.1:50", "clinic.example:443", "[2001:db8::1]:50", "0.0.0.0:0", ":0"):
        with pytest.raises(PlanError, match="links between machines are encrypted"):
            run(run_member(Scripted(), 0, None, [card(B)], MemoryJournal(), listen=address))
        with pytest.raises(PlanError, match="links between machines are encrypted"):
            run(run_member(Scripted(), 0, None, [card(B, address)], MemoryJournal()))


def test_a_port_that_is_taken_is_told_in_words() -> None:
    async def scene() -> None:
        async with running(Scripted()) as (address, _):
            second = run_member(Scripted(), 0, A, [card(B)], MemoryJournal(), listen=address)
            with pytest.raises(OutputError, match=f"cannot listen at {address}"):
                await second

    run(scene())
