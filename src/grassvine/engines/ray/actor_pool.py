"""The hosts of a run as its driver sees them: it calls them and waits, and never without an end."""

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

PATIENCE = 10.0  # seconds, for the others to answer after a loss
# Ray spreads actors evenly only if they take some of a processor.
SOME_PROCESSOR = {"num_cpus": 0.01}

# Calls under way, each with the host that was called.
Calls = Sequence[tuple["ActorSlot", Any]]


class ActorLost(Exception):
    """A host died, or what it held was lost."""

    def __init__(self, agent: int, slot: int, cause: Exception):
        first = str(cause).partition("\n")[0]
        super().__init__(f"{type(cause).__name__}: {first.partition('. ')[0].rstrip('.')}")
        self.agent, self.slot = agent, slot


@dataclass
class ActorSlot:
    """A place for some agents, and the host that is there now."""

    agents: Sequence[int]
    placement: Placement
    host: Any = field(default=None, repr=False)


def actor_slots(placements: Sequence[Placement], agents_per_actor: int) -> list[ActorSlot]:
    """Let neighbours in number that need the same place share a host, so many at the most."""
    found = []
    for placement, group in groupby(range(len(placements)), key=placements.__getitem__):
        agents = list(group)
        found += [
            ActorSlot(agents[first : first + agents_per_actor], placement)
            for first in range(0, len(agents), agents_per_actor)
        ]
    return found


class ActorPool:
    """The hosts that agents live in."""

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
        """Return the number of hosts."""
        return len(self._actor_slots)

    def fill(self, slot: int) -> list[Sequence[int]]:
        """Put a new host wherever none answers; return whose agents they are for."""
        empty = [actor_slot for actor_slot in self._actor_slots if actor_slot.host is None]
        asked = [
            (actor_slot, actor_slot.host.answer.remote())
            for actor_slot in self._actor_slots
            if actor_slot.host
        ]
        deadline = time.monotonic() + PATIENCE
        for actor_slot, call in asked:
            # Who is busy for longer is replaced too: all go back to a checkpoint anyway, and one
            # that waits for what was lost with a node can be stuck for a minute.
            done, _ = self._ray.wait([call], timeout=max(0.0, deadline - time.monotonic()))
            try:
                if not done:
                    raise ActorLost(actor_slot.agents[0], slot, TimeoutError("no answer"))
                self._wait(actor_slot, slot, call)
            except ActorLost:
                empty.append(actor_slot)
        for actor_slot in empty:
            self._replace(actor_slot, slot)
        settled = []
        for actor_slot in empty:
            factories = {agent: self._factories[agent] for agent in actor_slot.agents}
            try:
                settled.append((actor_slot, actor_slot.host.set_factories.remote(factories)))
            except TypeError as cause:
                raise PlanError(
                    f"a problem cannot be sent to its actor ({cause}); give one that Ray can "
                    "serialise, or choose another engine."
                ) from cause
        self.wait(slot, settled)
        return [actor_slot.agents for actor_slot in empty]

    def begin(self, folder: str | None, mark: Checkpoint) -> None:
        """Have all agents made, and brought to a checkpoint."""
        self.wait(mark.slot, self._call_all("begin", folder, mark))

    def meet(self, slot: int, inboxes: Sequence[Inbox]) -> Calls:
        """Have all messages of a slot made, and then the receivers move; do not wait.

        A host makes those between its own agents by itself.
        """
        heard = dict(inboxes)
        slot_of = self._slot_of_agent
        remote = {
            s for agent, senders in inboxes for s in senders if slot_of[s] is not slot_of[agent]
        }
        sent = {
            id(actor_slot): actor_slot.host.outgoing.remote(slot, writers)
            for actor_slot, writers in self._by_actor(sorted(remote))
        }
        calls = []
        for actor_slot, receivers in self._by_actor(sorted(heard)):
            theirs = [(receiver, heard[receiver]) for receiver in receivers]
            senders = sorted({sender for _, senders in theirs for sender in senders})
            others = [other for other, _ in self._by_actor(senders) if other is not actor_slot]
            references = [sent[id(other)] for other in others]
            calls.append((actor_slot, actor_slot.host.meet.remote(slot, theirs, *references)))
        return calls

    def write_checkpoint(self, epoch: int, slot: int, kept: Checkpoint) -> Calls:
        """Have all agents written down; do not wait."""
        return self._call_all("write_checkpoint", epoch, slot, kept)

    def conclude(self, slot: int) -> list[StepReport]:
        """Let every agent report its final state."""
        return self.reports(slot, self._call_all("conclude", slot))

    def states(self, slot: int) -> list[State]:
        """Fetch what the agents have learned."""
        return [
            {name: np.array(array) for name, array in state.items()}
            for theirs in self.wait(slot, self._call_all("states"))
            for state in theirs
        ]

    def reports(self, slot: int, calls: Calls) -> list[StepReport]:
        """Wait for the reports of a slot; hosts and their agents are in the order of numbers."""
        return [report for theirs in self.wait(slot, calls) for report in theirs]

    def wait(self, slot: int, calls: Calls) -> list[Any]:
        """Wait for calls and return their results."""
        return [self._wait(actor_slot, slot, call) for actor_slot, call in calls]

    def shutdown(self) -> None:
        """End the hosts."""
        for actor_slot in self._actor_slots:
            self._kill(actor_slot)

    def _replace(self, actor_slot: ActorSlot, slot: int) -> None:
        """Put a new host into a berth, once a node offers what its place needs."""
        lost = actor_slot.host is not None
        self._kill(actor_slot)
        deadline = time.monotonic() + self._timeout
        while not any(map(actor_slot.placement.is_offered_by, self._ray.nodes())):
            if not lost:
                raise PlanError(actor_slot.placement.lack(actor_slot.agents[0]))
            if time.monotonic() > deadline:  # for a node that went away to return
                raise AgentError(
                    actor_slot.agents[0], slot, actor_slot.placement.lack(actor_slot.agents[0])
                )
            time.sleep(1.0)
        actor = self._ray.remote(AgentActor).options(
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": ONE_THREAD},
            **{**SOME_PROCESSOR, **actor_slot.placement.actor_options()},
        )
        actor_slot.host = actor.remote(self._timeout)

    def _kill(self, actor_slot: ActorSlot) -> None:
        if actor_slot.host is not None:
            self._ray.kill(actor_slot.host)
            actor_slot.host = None

    def _call_all(self, method: str, *arguments: Any) -> Calls:
        return [
            (actor_slot, getattr(actor_slot.host, method).remote(*arguments))
            for actor_slot in self._actor_slots
        ]

    def _by_actor(self, agents: Iterable[int]) -> Iterator[tuple[ActorSlot, list[int]]]:
        """Yield each berth of some agents, which are sorted, with those."""
        for _, group in groupby(agents, key=lambda agent: id(self._slot_of_agent[agent])):
            theirs = list(group)
            yield self._slot_of_agent[theirs[0]], theirs

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
                f"its actor gave no answer within {self._timeout:g} s; look at the cluster, or "
                "give RayEngine a longer timeout.",
            ) from None
        except errors.RayError as failure:
            raise ActorLost(agent, slot, failure) from failure
