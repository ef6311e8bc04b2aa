"""Agents in the actors of a Ray cluster, for a company's own machines: inside, all are trusted.

An agent is made in its actor and stays there. The driver submits one slot at a time and collects
the reports; the bytes of messages go from actor to actor as object references. Calls of one
caller reach an actor in the order of submission as long as none is retried, so none is: an actor
that dies ends the run.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np

from grassvine.engines.base import TIMETABLE_OVER, AgentMaker, Outcome, attributed
from grassvine.engines.ray_cluster import ray_cluster
from grassvine.foundations.blas import one_blas_thread
from grassvine.foundations.errors import AgentError, PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.gossip.agent import Agent, State
from grassvine.gossip.message import decode, encode
from grassvine.gossip.report import Observer, StepReport
from grassvine.network.timetable import Timetable

Inbox = tuple[int, tuple[int, ...]]  # receiver, senders

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Runs agents in Ray actors.

    Parameters
    ----------
    address : str, optional
        The cluster to connect to. Without it the run takes place where this process is connected
        already, and else in a new local cluster that ends with the run.
    agents_per_actor : int
        How many agents share an actor. A call takes milliseconds: where updates are shorter than
        100 ms, let several agents share one.
    timeout : float
        How many seconds to wait for an actor's part of a slot before the run is given up.
    """

    address: str | None = None
    agents_per_actor: int = 1
    timeout: float = 600.0

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("agents_per_actor", self.agents_per_actor, least=1)
        real_number("timeout", self.timeout, least=1.0)

    def run(self, makers: Sequence[AgentMaker], timetable: Timetable, observe: Observer) -> Outcome:
        """Run until the timetable is over or the observer gives a reason to stop."""
        with ray_cluster(self.address) as ray:
            crew = _Crew(ray, len(makers), self.agents_per_actor, self.timeout)
            try:
                crew.make(makers)
                return _run_slots(crew, timetable, observe)
            finally:
                crew.dismiss()


def _run_slots(crew: "_Crew", timetable: Timetable, observe: Observer) -> Outcome:
    def tell(reports: Iterable[StepReport]) -> str | None:
        reasons = [observe(report) for report in reports]
        return next((reason for reason in reasons if reason), None)

    slot, reason = 0, None
    while slot < timetable.n_slots and not reason:
        reason = tell(crew.meet(slot, timetable.inboxes(slot)))
        slot += 1
    tell(crew.conclude(slot))
    return Outcome(tuple(crew.states(slot)), slot, reason or TIMETABLE_OVER)


class _Crew:
    """The actors as the driver sees them: actor k hosts the k-th block of agents."""

    def __init__(self, ray: ModuleType, n_agents: int, agents_per_actor: int, timeout: float):
        self._ray = ray
        self._each = agents_per_actor
        self._timeout = timeout
        actor = ray.remote(_Host).options(
            max_restarts=0, max_task_retries=0, runtime_env={"env_vars": ONE_THREAD}
        )
        self._hosts = [actor.remote() for _ in range(0, n_agents, agents_per_actor)]

    def make(self, makers: Sequence[AgentMaker]) -> None:
        """Make every agent in its actor."""
        calls = []
        for host, numbers in self._hosts_of(range(len(makers))):
            theirs = [makers[number] for number in numbers]
            try:
                calls.append((numbers[0], host.make.remote(numbers, theirs)))
            except TypeError as cause:
                raise PlanError(
                    f"a problem cannot be sent to its actor ({cause}); give one that Ray can "
                    "serialise, or choose another engine."
                ) from cause
        list(self._collect(0, calls))

    def meet(self, slot: int, inboxes: Sequence[Inbox]) -> Iterator[StepReport]:
        """Have all messages of a slot made, then let the receivers move; report in order."""
        mail: dict[int, Any] = {}
        for host, writers in self._hosts_of(sorted({s for _, senders in inboxes for s in senders})):
            sent = host.outgoing.options(num_returns=len(writers)).remote(slot, writers)
            mail.update(zip(writers, sent if len(writers) > 1 else [sent], strict=True))
        heard = dict(inboxes)
        calls = []
        for host, receivers in self._hosts_of(heard):
            theirs = [(receiver, heard[receiver]) for receiver in receivers]
            senders = sorted({sender for _, senders in theirs for sender in senders})
            letters = [mail[sender] for sender in senders]
            calls.append((receivers[0], host.meet.remote(slot, theirs, senders, *letters)))
        return self._collect(slot, calls)

    def conclude(self, slot: int) -> Iterator[StepReport]:
        """Let every agent report its final state."""
        return self._collect(slot, self._first_agents("conclude", slot))

    def states(self, slot: int) -> Iterator[State]:
        """Fetch what the agents have learned."""
        for state in self._collect(slot, self._first_agents("states")):
            yield {name: np.array(array) for name, array in state.items()}

    def dismiss(self) -> None:
        """End the actors."""
        for host in self._hosts:
            self._ray.kill(host)

    def _first_agents(self, method: str, *arguments: Any) -> list[tuple[int, Any]]:
        return [
            (place * self._each, getattr(host, method).remote(*arguments))
            for place, host in enumerate(self._hosts)
        ]

    def _hosts_of(self, numbers: Iterable[int]) -> Iterator[tuple[Any, list[int]]]:
        """Each actor that hosts some of the agents, which are sorted, with those."""
        for place, group in groupby(numbers, key=lambda number: number // self._each):
            yield self._hosts[place], list(group)

    def _collect(self, slot: int, calls: Iterable[tuple[int, Any]]) -> Iterator[Any]:
        """Wait for calls, each known by the first agent it concerns; yield their results."""
        errors = self._ray.exceptions
        for agent, call in calls:
            try:
                results = self._ray.get(call, timeout=self._timeout)
            except errors.RayTaskError as failure:
                if isinstance(failure.cause, errors.RayError):
                    raise AgentError(agent, slot, _first_line(failure.cause)) from failure
                raise failure.cause from failure
            except errors.GetTimeoutError:
                raise AgentError(
                    agent,
                    slot,
                    f"its actor gave no answer within {self._timeout:g} s; look at the cluster, or "
                    "give RayEngine a longer timeout.",
                ) from None
            except errors.RayError as failure:
                raise AgentError(agent, slot, _first_line(failure)) from failure
            yield from results


def _first_line(failure: Exception) -> str:
    return f"{type(failure).__name__}: {str(failure).splitlines()[0]}"


class _Host:
    """The actor: some agents, by number."""

    def __init__(self) -> None:
        self._limit = one_blas_thread()  # holds from here on, as nobody leaves it
        self._agents: dict[int, Agent] = {}

    def make(self, numbers: list[int], makers: list[AgentMaker]) -> list[int]:
        """Make agents; a copy, as arrays that Ray hands over are read-only views of its store."""
        own = copy.deepcopy(makers)
        self._agents = {n: make() for n, make in zip(numbers, own, strict=True)}
        return numbers

    def outgoing(self, slot: int, writers: list[int]) -> bytes | list[bytes]:
        """Return the messages of agents, each an object of its own."""
        sent = [encode(self._agents[writer].outgoing(slot)) for writer in writers]
        return sent if len(sent) > 1 else sent[0]

    def meet(
        self, slot: int, inboxes: list[Inbox], senders: list[int], *letters: bytes
    ) -> list[StepReport]:
        """Let agents take their messages and move."""
        mail = dict(zip(senders, letters, strict=True))
        return [self._meeting(slot, receiver, [mail[s] for s in own]) for receiver, own in inboxes]

    def conclude(self, slot: int) -> list[StepReport]:
        """Report the final states."""
        return [
            attributed(agent, slot, lambda agent=agent: agent.conclude(slot))  # type: ignore[misc]
            for agent in self._agents.values()
        ]

    def states(self) -> list[State]:
        """Return what the agents have learned."""
        return [agent.state() for agent in self._agents.values()]

    def _meeting(self, slot: int, receiver: int, letters: list[bytes]) -> StepReport:
        agent = self._agents[receiver]

        def meet() -> StepReport:
            return agent.meet(slot, [decode(data, agent.expected(slot)) for data in letters])

        return attributed(agent, slot, meet)
