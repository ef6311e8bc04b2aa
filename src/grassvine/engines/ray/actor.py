"""The actor in which agents live: it makes them, lets them meet, and writes them down."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import isclose, isnan
from pathlib import Path
from typing import Any

from grassvine.engines.base import AgentMaker, attributed
from grassvine.engines.checkpoints import AgentFiles, Mark, Page
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import CheckpointError
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.message import decode, encode
from grassvine.protocol.report import StepReport

Inbox = tuple[int, tuple[int, ...]]  # receiver, senders

# Machines differ in the last bits of a cost; other data differ by more.
SAME_ORIGIN = 1e-9


@dataclass(frozen=True)
class Parcel:
    """The reference of a message in the object store; Ray opens references that lie open."""

    reference: Any


class Host:
    """Some agents, by number."""

    def __init__(self, timeout: float) -> None:
        import ray

        self._ray = ray
        self._timeout = timeout
        self._limit = one_blas_thread()  # holds from here on, as nobody leaves it
        self._makers: Mapping[int, AgentMaker] = {}
        self._agents: dict[int, Agent] = {}
        self._keeper: _Keeper | None = None
        self._written: tuple[int, dict[int, bytes]] = (-1, {})  # the messages of one slot
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="grassvine-prepare")
        self._preparing: dict[int, Future[None]] = {}

    def settle(self, makers: Mapping[int, AgentMaker]) -> None:
        """Take the makers; a copy, as arrays that Ray hands over are views of its store."""
        self._makers = copy.deepcopy(makers)

    def begin(self, folder: str | None, mark: Mark) -> None:
        """Make the agents, and bring them to where they stood at a checkpoint."""
        wait(self._preparing.values())  # for agents that are given up: how they fared is no matter
        self._preparing.clear()
        self._agents = {number: make() for number, make in self._makers.items()}
        self._written = (-1, {})
        self._keeper = _Keeper(Path(folder), self._agents) if folder else None
        if self._keeper and mark.segments:
            self._keeper.bring_back(mark)

    def outgoing(self, slot: int, writers: Sequence[int]) -> dict[int, Parcel]:
        """Put messages for agents in other hosts into the object store."""
        sent = {writer: Parcel(self._ray.put(self._letter(slot, writer))) for writer in writers}
        self._prepare(slot + 1, writers)
        return sent

    def meet(
        self, slot: int, inboxes: Sequence[Inbox], *sent: Mapping[int, Parcel]
    ) -> list[StepReport]:
        """Let agents take their messages, of which some are from other hosts, and move."""
        parcels = {sender: parcel for some in sent for sender, parcel in some.items()}
        wanted = sorted({sender for _, senders in inboxes for sender in senders})
        abroad = [sender for sender in wanted if sender not in self._agents]
        references = [parcels[sender].reference for sender in abroad]
        fetched = self._ray.get(references, timeout=self._timeout)
        letters = dict(zip(abroad, fetched, strict=True))
        # All of them before anyone moves.
        at_home = [sender for sender in wanted if sender in self._agents]
        letters |= {sender: self._letter(slot, sender) for sender in at_home}
        reports = [
            self._meeting(slot, receiver, [letters[sender] for sender in senders])
            for receiver, senders in inboxes
        ]
        self._prepare(slot + 1, {*at_home, *(receiver for receiver, _ in inboxes)})
        return reports

    def keep(self, epoch: int, slot: int, kept: Mark) -> None:
        """Write down all agents; what is kept up to a mark is forgotten."""
        assert self._keeper is not None
        self._settle()
        self._keeper.write(epoch, slot, kept)

    def conclude(self, slot: int) -> list[StepReport]:
        """Report the final states."""
        self._settle()
        return [
            attributed(agent, slot, _concluding(agent, slot)) for agent in self._agents.values()
        ]

    def states(self) -> list[State]:
        """Return what the agents have learned."""
        return [agent.state() for agent in self._agents.values()]

    def answer(self) -> bool:
        """Tell that it lives."""
        return True

    def _prepare(self, slot: int, numbers: Iterable[int]) -> None:
        """Let agents work ahead beside the calls that come in meanwhile, so that others go on."""
        for number in sorted(numbers):
            action = self._agents[number].preparation(slot)
            if action:
                self._preparing[number] = self._aside.submit(
                    attributed, self._agents[number], slot, action
                )

    def _settled(self, number: int) -> Agent:
        """Return an agent that does nothing else at the time."""
        if number in self._preparing:
            self._preparing.pop(number).result()
        return self._agents[number]

    def _settle(self) -> None:
        for number in self._agents:
            self._settled(number)

    def _letter(self, slot: int, writer: int) -> bytes:
        """Return a message as bytes, which several may ask for."""
        if self._written[0] != slot:
            self._written = slot, {}
        letters = self._written[1]
        if writer not in letters:
            agent = self._settled(writer)
            letters[writer] = attributed(agent, slot, lambda: encode(agent.outgoing(slot)))
        return letters[writer]

    def _meeting(self, slot: int, receiver: int, letters: Sequence[bytes]) -> StepReport:
        agent = self._settled(receiver)

        def meet() -> StepReport:
            return agent.meet(slot, [decode(data, agent.expected(slot)) for data in letters])

        report = attributed(agent, slot, meet)
        if self._keeper:
            self._keeper.note(agent, report)
        return report


def _concluding(agent: Agent, slot: int) -> Callable[[], StepReport]:
    return lambda: agent.conclude(slot)


class _Keeper:
    """Notes what agents learn, and writes it down when asked."""

    def __init__(self, folder: Path, agents: Mapping[int, Agent]):
        self._agents = agents
        self._files = {number: AgentFiles(folder, number) for number in agents}
        self._pages: dict[int, list[Page]] = {number: [] for number in agents}
        # What an agent would report before slot 0 tells its data from others.
        self._origins = {number: agent.conclude(0).cost for number, agent in agents.items()}

    def note(self, agent: Agent, report: StepReport) -> None:
        """Note what a meeting taught."""
        self._pages[agent.id].append(Page(report.slot, agent.lesson(), report))

    def write(self, epoch: int, slot: int, kept: Mark) -> None:
        """Write what is not kept yet."""
        for number, agent in self._agents.items():
            pages = [page for page in self._pages[number] if page.slot >= kept.slot]
            self._pages[number] = pages
            self._files[number].write((epoch, slot), pages, agent.memory(), self._origins[number])

    def bring_back(self, mark: Mark) -> None:
        """Tell agents that were just made what they had learned."""
        for number, agent in self._agents.items():
            files = self._files[number]
            then, now = files.origin(mark), self._origins[number]
            if not (isclose(then, now, rel_tol=SAME_ORIGIN) or (isnan(then) and isnan(now))):
                raise CheckpointError(
                    f"agent {number} has other data, or another plan, than when its checkpoint was "
                    f"written: at its start its cost was {then:g} and is {now:g}; give what it "
                    "had, or begin anew in another folder."
                )
            agent.recall(files.lessons(mark), files.memory(mark))
