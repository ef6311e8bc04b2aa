"""Run a member: between the state machine, its neighbours, its journal and the clock."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Protocol

from numpy.random import Generator

from grassvine.engines.peers.member.events import (
    Compute,
    Disconnect,
    Effect,
    Event,
    Fail,
    Leave,
    Persist,
    Report,
    Send,
    Tick,
)
from grassvine.engines.peers.transport.allocator import keep_freed_memory
from grassvine.engines.peers.transport.backoff import delays
from grassvine.engines.peers.transport.channel import dialled, listening
from grassvine.engines.peers.transport.credentials import Identity, Neighbour, check_certificates
from grassvine.engines.peers.transport.extra import load_grpc, load_peers_extra
from grassvine.engines.peers.transport.links import Links, Traffic, connection_errors
from grassvine.engines.peers.transport.probe import explain_refusal
from grassvine.engines.peers.transport.workers import Journal, Worker, compute, write_to
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import PeerError
from grassvine.foundations.seeds import stream
from grassvine.protocol.report import StepReport

TICK_SECONDS = 1.0
STOP_SECONDS = 5.0  # for a computation whose result nobody needs

log = logging.getLogger("grassvine.peers")


class StateMachine(Protocol):
    """A member: takes events, and says what to do."""

    def start(self) -> Sequence[Effect]:
        """Begin."""
        ...

    def handle(self, event: Event) -> Sequence[Effect]:
        """Take an event."""
        ...


async def run_member(
    member: StateMachine,
    own: int,
    identity: Identity | None,
    neighbours: Sequence[Neighbour],
    journal: Journal,
    *,
    listen: str | None = None,
    observe: Callable[[StepReport], object] = lambda report: None,
    opened: Callable[[int], object] = lambda port: None,
    seed: int = 0,
    traffic: dict[int, Traffic] | None = None,
) -> None:
    """Run a member until it leaves; its process is its own.

    It dials the neighbours that have an address, again and again, and accepts the others. If the
    task is cancelled, the links are closed and what was to be written is written.

    Parameters
    ----------
    member : StateMachine
        The member.
    own : int
        Its number.
    identity : Identity or None
        Its certificate and key. Without them links are in plain text, on this machine only.
    neighbours : sequence of Neighbour
        Its neighbours.
    journal : Journal
        Where its records are written.
    listen : str, optional
        The address ``host:port`` at which to accept neighbours.
    observe : callable, optional
        Called with every report.
    opened : callable, optional
        Called with the port at which the member listens.
    seed : int, default=0
        Seed of the delays between attempts to connect.
    traffic : dict, optional
        Filled with the traffic with each neighbour.
    """
    if identity is not None:
        check_certificates(identity, neighbours)
    keep_freed_memory()
    names = {one.number: one.name for one in neighbours}
    run = _Run(member, journal, observe, names, {} if traffic is None else traffic)
    dialling = [one for one in neighbours if one.address is not None]
    tasks: list[asyncio.Task[None]] = []
    async with AsyncExitStack() as stack:
        run.begin()
        stack.push_async_callback(run.end)
        if listen is not None:
            context = listening(identity, neighbours, listen, run.links.run)
            opened(await stack.enter_async_context(context))
        stack.push_async_callback(_cancel, tasks)
        tasks.append(asyncio.create_task(run.tick()))
        for one in dialling:
            random = stream(seed, "delays", own, one.number)
            tasks.append(asyncio.create_task(_keep_dialling(run, own, identity, one, random)))
        for task in tasks:
            task.add_done_callback(run.watch)
        try:
            await run.over
        finally:
            if not run.over.cancelled():  # the last word may be why it failed
                await run.links.close_all()


class _Run:
    """Carries events to a member and its effects to where they belong."""

    def __init__(
        self,
        member: StateMachine,
        journal: Journal,
        observe: Callable[[StepReport], object],
        names: Mapping[int, str],
        traffic: dict[int, Traffic],
    ):
        self.links = Links(self.deliver, self._fail, traffic)
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._member = member
        self._observe = observe
        self._names = names
        self._computer = Worker("compute", compute, self.take, within=one_blas_thread)
        self._writer = Worker("journal", write_to(journal), self.take, together=True)

    def begin(self) -> None:
        self._perform(self._member.start)
        self.deliver(Tick(time.monotonic()))

    async def tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.deliver(Tick(time.monotonic()))

    async def end(self) -> None:
        await self._computer.stop(STOP_SECONDS)
        await self._writer.stop()

    def take(self, result: Sequence[Event] | BaseException) -> None:
        """Take what a worker returned."""
        if isinstance(result, BaseException):
            self._fail(result)
        else:
            for event in result:
                self.deliver(event)

    def deliver(self, event: Event) -> None:
        self._perform(lambda: self._member.handle(event))

    def watch(self, task: asyncio.Task[None]) -> None:
        """End the run with the error of a task that should have gone on."""
        if not task.cancelled() and (error := task.exception()):
            self._fail(error)

    def _perform(self, effects: Callable[[], Sequence[Effect]]) -> None:
        if self.over.done():
            return
        try:
            for effect in effects():
                self._do(effect)
        except Exception as error:
            self._fail(error)

    def _do(self, effect: Effect) -> None:
        match effect:
            case Send(neighbour, frame):
                self.links.send(neighbour, frame)
            case Disconnect(neighbour, reason, passing):
                name = self._names.get(neighbour, str(neighbour))
                level = logging.INFO if passing else logging.WARNING
                log.log(level, "closed the link to %s: %s", name, PeerError(reason))
                self.links.close(neighbour)
            case Persist():
                self._writer.put(effect)
            case Compute():
                self._computer.put(effect)
            case Report(report):
                self._observe(report)
            case Leave():
                if not self.over.done():
                    self.over.set_result(None)
            case Fail(error):
                self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self.over.done():
            self.over.set_exception(error)


async def _keep_dialling(
    run: _Run, own: int, identity: Identity | None, neighbour: Neighbour, random: Generator
) -> None:
    """Open a link to a neighbour, and again whenever it ends."""
    waits, told = delays(random), ""
    while True:
        try:
            async with dialled(identity, own, neighbour) as opened:
                told = ""
                if await run.links.run(neighbour.number, opened):
                    waits = delays(random)
        except connection_errors() as error:
            log.debug("%r", error)
            sentence = _said(error, neighbour) or await asyncio.to_thread(
                explain_refusal, identity, neighbour
            )
            if sentence and sentence != told:
                log.warning("%s", PeerError(sentence))  # which escapes what a terminal obeys
                told = sentence
        await asyncio.sleep(next(waits))


def _said(error: Exception, neighbour: Neighbour) -> str:
    """Return why a neighbour refuses the link, if it said so."""
    denied = load_peers_extra("grpc").StatusCode.PERMISSION_DENIED
    if not isinstance(error, load_grpc().AioRpcError) or error.code() is not denied:
        return ""
    return f"{neighbour.name} refuses the link: {error.details()}"


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
