"""Engines of one process: the loop over slots, with agents one after another or in threads."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from grassvine.engines.base import (
    TIMETABLE_OVER,
    AgentFactory,
    EngineResult,
    attributed,
    create_agents,
)
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.options import whole_number
from grassvine.networks.timetable import Timetable
from grassvine.protocol.agent import Agent
from grassvine.protocol.message import Message, checked_message
from grassvine.protocol.report import Observer, StepReport

Result = TypeVar("Result")


class RunAll(Protocol):
    """Function that runs actions, possibly concurrently, and returns their results in order."""

    def __call__(self, actions: Sequence[Callable[[], Result]], /) -> Iterable[Result]:
        """Run the actions."""
        ...


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """The default engine: agents run one after another in the calling thread.

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2))
    >>> problem = gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])
    >>> result = gv.run(plan, [problem, problem], engine=gv.LocalEngine())
    >>> len(result.bases)
    2
    """

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable ends or the observer returns a reason to stop."""
        agents = create_agents(factories)
        return run_slots(agents, timetable, observe, lambda actions: (act() for act in actions))


@dataclass(frozen=True, slots=True)
class ThreadsEngine:
    """Engine that updates the agents of a slot in threads; the kernels and BLAS release the GIL.

    Parameters
    ----------
    workers : int, default=2
        Maximum number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2))
    >>> problems = [gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])] * 2
    >>> threads = gv.run(plan, problems, engine=gv.ThreadsEngine(workers=2))
    >>> np.array_equal(threads.mean, gv.run(plan, problems).mean)  # the same bits as LocalEngine
    True
    """

    workers: int = 2

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("workers", self.workers, least=1)

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable ends or the observer returns a reason to stop."""
        agents = create_agents(factories)
        with ThreadPoolExecutor(self.workers, thread_name_prefix="grassvine-agent") as pool:
            return run_slots(
                agents, timetable, observe, lambda actions: pool.map(lambda act: act(), actions)
            )


def run_slots(
    agents: Sequence[Agent], timetable: Timetable, observe: Observer, run_all: RunAll
) -> EngineResult:
    """Run agents slot by slot: all messages of a slot are created before any receiver updates."""

    def report(actions: Sequence[Callable[[], StepReport]]) -> str | None:
        reasons = [observe(report) for report in run_all(actions)]
        return next((reason for reason in reasons if reason), None)

    slot, n_slots, reason = 0, timetable.n_slots, None
    active: Iterable[int] = range(len(agents))  # agents that may have something to compute
    with one_blas_thread():
        while slot < n_slots and not reason:
            inboxes = timetable.inboxes(slot)
            works = []
            for number in active:
                agent = agents[number]
                if work := attributed(agent, slot, agent.precompute, slot):
                    works.append(partial(attributed, agent, slot, work))
            list(run_all(works))
            senders = {number for _, numbers in inboxes for number in numbers}
            messages = {
                number: attributed(agents[number], slot, agents[number].outgoing, slot)
                for number in senders
            }
            received = [
                (agents[receiver], {number: messages[number] for number in numbers})
                for receiver, numbers in inboxes
            ]
            reason = report(
                [
                    partial(attributed, agent, slot, _meet, agent, slot, inbox)
                    for agent, inbox in received
                ]
            )
            active = senders.union(receiver for receiver, _ in inboxes)
            slot += 1
        report([partial(attributed, agent, slot, agent.conclude, slot) for agent in agents])
    return EngineResult(tuple(agent.state() for agent in agents), slot, reason or TIMETABLE_OVER)


def _meet(agent: Agent, slot: int, inbox: Mapping[int, Message]) -> StepReport:
    """Let an agent receive messages, each checked against its link, slot and expected shapes."""
    shapes = agent.expected(slot)
    return agent.meet(
        slot,
        [
            checked_message(message, shapes, sender=sender, slot=slot)
            for sender, message in inbox.items()
        ],
    )
