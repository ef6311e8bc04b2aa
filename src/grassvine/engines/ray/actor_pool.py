"""The driver's view of the Ray actors of a run; every wait has a timeout."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np

from grassvine.engines.base import AgentFactory
from grassvine.engines.checkpoints import Checkpoint
from grassvine.engines.ray.actor import AgentActor, Inbox
from grassvine.engines.ray.placement import Placement
from grassvine.foundations.errors import AgentError, PlanError
from grassvine.protocol.agent import State
from grassvine.protocol.report import StepReport

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

PING_TIMEOUT = 10.0  # seconds, for the other actors to answer after a loss
# Ray spreads actors evenly only if they require some CPU.
MINIMAL_CPU = {"num_cpus": 0.01}

# Pending calls, each with the slot of the actor that was called.
Calls = Sequence[tuple["ActorSlot", Any]]


class ActorLost(Exception):
    """An actor died, or an object that it held was lost."""

    def __init__(self, agent: int, slot: int, cause: Exception):
        first = str(cause).partition("\n")[0]
        super().__init__(f"{type(cause).__name__}: {first.partition('. ')[0].rstrip('.')}")
        self.agent, self.slot = agent, slot


@dataclass
class ActorSlot:
    """A group of agents, their placement and the actor that runs them now."""

    agents: Sequence[int]
    placement: Placement
    actor: Any = field(default=None, repr=False)


def actor_slots(placements: Sequence[Placement], agents_per_actor: int) -> list[ActorSlot]:
    """Group consecutive agents that have the same placement, up to ``agents_per_actor`` each."""
    found = []
    for placement, group in groupby(range(len(placements)), key=placements.__getitem__):
        agents = list(group)
        found += [
            ActorSlot(agents[first : first + agents_per_actor], placement)
            for first in range(0, len(agents), agents_per_actor)
        ]
    return found


class ActorPool:
    """The actors that run the agents."""

    def __init__(
        self,
        ray: ModuleType,
        factories: Sequence[AgentFactory],
        placements: Sequence[Placement],
        agents_per_actor: int,
        timeout: float,
    ):
        self._ray = ray
        self._factories = factories
        self._timeout = timeout
        self._actor_slots = actor_slots(placements, agents_per_actor)
        self._slot_of_agent = {
            agent: actor_slot for actor_slot in self._actor_slots for agent in actor_slot.agents
        }

    def __len__(self) -> int:
        """Return the number of actors."""
        return len(self._actor_slots)

    def fill(self, slot: int) -> list[Sequence[int]]:
        """Start a new actor wherever none answers and return the agents of each."""
        empty = [actor_slot for actor_slot in self._actor_slots if actor_slot.actor is None]
        pings = [
            (actor_slot, actor_slot.actor.ping.remote())
            for actor_slot in self._actor_slots
            if actor_slot.actor
        ]
        deadline = time.monotonic() + PING_TIMEOUT
        for actor_slot, call in pings:
            # Replace busy actors too: all agents are restored from a checkpoint anyway, and an
            # actor that waits for an object lost with its node can hang for a minute.
            done, _ = self._ray.wait([call], timeout=max(0.0, deadline - time.monotonic()))
            try:
                if not done:
                    raise ActorLost(actor_slot.agents[0], slot, TimeoutError("no answer"))
                self._wait(actor_slot, slot, call)
            except ActorLost:
                empty.append(actor_slot)
        for actor_slot in empty:
            self._replace(actor_slot, slot)
        calls = []
        for actor_slot in empty:
            factories = {agent: self._factories[agent] for agent in actor_slot.agents}
            try:
                calls.append((actor_slot, actor_slot.actor.set_factories.remote(factories)))
            except TypeError as cause:
                raise PlanError(
                    f"cannot send a problem to its actor ({cause}); pass one that Ray can "
                    "serialise, or choose another engine."
                ) from cause
        self.wait(slot, calls)
        return [actor_slot.agents for actor_slot in empty]

    def begin(self, folder: str | None, mark: Checkpoint) -> None:
        """Create all agents and restore them from a checkpoint, if there is one."""
        self.wait(mark.slot, self._call_all("begin", folder, mark))

    def meet(self, slot: int, inboxes: Sequence[Inbox]) -> Calls:
        """Submit a slot without waiting: create all messages, then update the receivers.

        Messages between agents of one actor stay in that actor.
        """
        senders_of = dict(inboxes)
        slot_of = self._slot_of_agent
        remote = {
            s for agent, senders in inboxes for s in senders if slot_of[s] is not slot_of[agent]
        }
        sent = {
            id(actor_slot): actor_slot.actor.outgoing.remote(slot, senders)
            for actor_slot, senders in self._by_actor(sorted(remote))
        }
        calls = []
        for actor_slot, receivers in self._by_actor(sorted(senders_of)):
            own = [(receiver, senders_of[receiver]) for receiver in receivers]
            senders = sorted({sender for _, senders in own for sender in senders})
            others = [other for other, _ in self._by_actor(senders) if other is not actor_slot]
            references = [sent[id(other)] for other in others]
            calls.append((actor_slot, actor_slot.actor.meet.remote(slot, own, *references)))
        return calls

    def write_checkpoint(self, epoch: int, slot: int, previous: Checkpoint) -> Calls:
        """Submit the writing of all agents' files without waiting."""
        return self._call_all("write_checkpoint", epoch, slot, previous)

    def conclude(self, slot: int) -> list[StepReport]:
        """Return the reports on the final states of all agents."""
        return self.reports(slot, self._call_all("conclude", slot))

    def states(self, slot: int) -> list[State]:
        """Return the states of all agents."""
        return [
            {name: np.array(array) for name, array in state.items()}
            for states in self.wait(slot, self._call_all("states"))
            for state in states
        ]

    def reports(self, slot: int, calls: Calls) -> list[StepReport]:
        """Wait for the reports of a slot and return them ordered by agent."""
        return [report for reports in self.wait(slot, calls) for report in reports]

    def wait(self, slot: int, calls: Calls) -> list[Any]:
        """Wait for calls and return their results."""
        return [self._wait(actor_slot, slot, call) for actor_slot, call in calls]

    def shutdown(self) -> None:
        """Kill all actors."""
        for actor_slot in self._actor_slots:
            self._kill(actor_slot)

    def _replace(self, actor_slot: ActorSlot, slot: int) -> None:
        """Start a new actor, after waiting for a node that meets its placement."""
        lost = actor_slot.actor is not None
        self._kill(actor_slot)
        deadline = time.monotonic() + self._timeout
        missing = actor_slot.placement.unavailable_message(actor_slot.agents[0])
        while not any(map(actor_slot.placement.is_offered_by, self._ray.nodes())):
            if not lost:
                raise PlanError(missing)
            if time.monotonic() > deadline:
                raise AgentError(actor_slot.agents[0], slot, missing)
            time.sleep(1.0)
        actor_class = self._ray.remote(AgentActor).options(
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": ONE_THREAD},
            **{**MINIMAL_CPU, **actor_slot.placement.actor_options()},
        )
        actor_slot.actor = actor_class.remote(self._timeout)

    def _kill(self, actor_slot: ActorSlot) -> None:
        if actor_slot.actor is not None:
            self._ray.kill(actor_slot.actor)
            actor_slot.actor = None

    def _call_all(self, method: str, *arguments: Any) -> Calls:
        return [
            (actor_slot, getattr(actor_slot.actor, method).remote(*arguments))
            for actor_slot in self._actor_slots
        ]

    def _by_actor(self, agents: Iterable[int]) -> Iterator[tuple[ActorSlot, list[int]]]:
        """Group sorted agents by the slot of their actor."""
        for _, group in groupby(agents, key=lambda agent: id(self._slot_of_agent[agent])):
            members = list(group)
            yield self._slot_of_agent[members[0]], members

    def _wait(self, actor_slot: ActorSlot, slot: int, call: Any) -> Any:
        errors, agent = self._ray.exceptions, actor_slot.agents[0]
        try:
            return self._ray.get(call, timeout=self._timeout)
        except errors.RayTaskError as failure:
            if isinstance(failure.cause, errors.RayError):
                raise ActorLost(agent, slot, failure.cause) from failure
            raise failure.cause from failure
        except errors.GetTimeoutError:
            raise AgentError(
                agent,
                slot,
                f"its actor did not answer within {self._timeout:g} s; check the cluster or pass "
                "a longer timeout to RayEngine.",
            ) from None
        except errors.RayError as failure:
            raise ActorLost(agent, slot, failure) from failure
