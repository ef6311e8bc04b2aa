"""The hosts of a run as its driver sees them: it calls them and waits, and never without an end."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np

from grassvine.engines.base import AgentMaker
from grassvine.engines.checkpoints import Mark
from grassvine.engines.ray.actor import Host, Inbox
from grassvine.engines.ray.placement import Place
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
Calls = Sequence[tuple["Berth", Any]]


class Lost(Exception):
    """A host died, or what it held was lost."""

    def __init__(self, agent: int, slot: int, cause: Exception):
        first = str(cause).partition("\n")[0]
        super().__init__(f"{type(cause).__name__}: {first.partition('. ')[0].rstrip('.')}")
        self.agent, self.slot = agent, slot


@dataclass
class Berth:
    """A place for some agents, and the host that is there now."""

    agents: Sequence[int]
    place: Place
    host: Any = field(default=None, repr=False)


def berths(places: Sequence[Place], agents_per_actor: int) -> list[Berth]:
    """Let neighbours in number that need the same place share a host, so many at the most."""
    found = []
    for place, group in groupby(range(len(places)), key=places.__getitem__):
        agents = list(group)
        found += [
            Berth(agents[first : first + agents_per_actor], place)
            for first in range(0, len(agents), agents_per_actor)
        ]
    return found


class Crew:
    """The hosts that agents live in."""

    def __init__(
        self,
        ray: ModuleType,
        makers: Sequence[AgentMaker],
        places: Sequence[Place],
        agents_per_actor: int,
        timeout: float,
    ):
        self._ray = ray
        self._makers = makers
        self._timeout = timeout
        self._berths = berths(places, agents_per_actor)
        self._berth_of = {agent: berth for berth in self._berths for agent in berth.agents}

    def __len__(self) -> int:
        """Return the number of hosts."""
        return len(self._berths)

    def fill(self, slot: int) -> list[Sequence[int]]:
        """Put a new host wherever none answers; return whose agents they are for."""
        empty = [berth for berth in self._berths if berth.host is None]
        asked = [(berth, berth.host.answer.remote()) for berth in self._berths if berth.host]
        patience = time.monotonic() + PATIENCE
        for berth, call in asked:
            # Who is busy for longer is replaced too: all go back to a checkpoint anyway, and one
            # that waits for what was lost with a node can be stuck for a minute.
            done, _ = self._ray.wait([call], timeout=max(0.0, patience - time.monotonic()))
            try:
                if not done:
                    raise Lost(berth.agents[0], slot, TimeoutError("no answer"))
                self._wait(berth, slot, call)
            except Lost:
                empty.append(berth)
        for berth in empty:
            self._replace(berth, slot)
        settled = []
        for berth in empty:
            makers = {agent: self._makers[agent] for agent in berth.agents}
            try:
                settled.append((berth, berth.host.settle.remote(makers)))
            except TypeError as cause:
                raise PlanError(
                    f"a problem cannot be sent to its actor ({cause}); give one that Ray can "
                    "serialise, or choose another engine."
                ) from cause
        self.wait(slot, settled)
        return [berth.agents for berth in empty]

    def begin(self, folder: str | None, mark: Mark) -> None:
        """Have all agents made, and brought to a checkpoint."""
        self.wait(mark.slot, self._call_all("begin", folder, mark))

    def meet(self, slot: int, inboxes: Sequence[Inbox]) -> Calls:
        """Have all messages of a slot made, and then the receivers move; do not wait.

        A host makes those between its own agents by itself.
        """
        heard = dict(inboxes)
        home = self._berth_of
        abroad = {s for agent, senders in inboxes for s in senders if home[s] is not home[agent]}
        sent = {
            id(berth): berth.host.outgoing.remote(slot, writers)
            for berth, writers in self._by_berth(sorted(abroad))
        }
        calls = []
        for berth, receivers in self._by_berth(sorted(heard)):
            theirs = [(receiver, heard[receiver]) for receiver in receivers]
            senders = sorted({sender for _, senders in theirs for sender in senders})
            others = [other for other, _ in self._by_berth(senders) if other is not berth]
            parcels = [sent[id(other)] for other in others]
            calls.append((berth, berth.host.meet.remote(slot, theirs, *parcels)))
        return calls

    def keep(self, epoch: int, slot: int, kept: Mark) -> Calls:
        """Have all agents written down; do not wait."""
        return self._call_all("keep", epoch, slot, kept)

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
        return [self._wait(berth, slot, call) for berth, call in calls]

    def dismiss(self) -> None:
        """End the hosts."""
        for berth in self._berths:
            self._dismiss(berth)

    def _replace(self, berth: Berth, slot: int) -> None:
        """Put a new host into a berth, once a node offers what its place needs."""
        lost = berth.host is not None
        self._dismiss(berth)
        patience = time.monotonic() + self._timeout
        while not any(map(berth.place.is_offered_by, self._ray.nodes())):
            if not lost:
                raise PlanError(berth.place.lack(berth.agents[0]))
            if time.monotonic() > patience:  # for a node that went away to return
                raise AgentError(berth.agents[0], slot, berth.place.lack(berth.agents[0]))
            time.sleep(1.0)
        actor = self._ray.remote(Host).options(
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": ONE_THREAD},
            **{**SOME_PROCESSOR, **berth.place.actor_options()},
        )
        berth.host = actor.remote(self._timeout)

    def _dismiss(self, berth: Berth) -> None:
        if berth.host is not None:
            self._ray.kill(berth.host)
            berth.host = None

    def _call_all(self, method: str, *arguments: Any) -> Calls:
        return [(berth, getattr(berth.host, method).remote(*arguments)) for berth in self._berths]

    def _by_berth(self, agents: Iterable[int]) -> Iterator[tuple[Berth, list[int]]]:
        """Yield each berth of some agents, which are sorted, with those."""
        for _, group in groupby(agents, key=lambda agent: id(self._berth_of[agent])):
            theirs = list(group)
            yield self._berth_of[theirs[0]], theirs

    def _wait(self, berth: Berth, slot: int, call: Any) -> Any:
        errors, agent = self._ray.exceptions, berth.agents[0]
        try:
            return self._ray.get(call, timeout=self._timeout)
        except errors.RayTaskError as failure:
            if isinstance(failure.cause, errors.RayError):
                raise Lost(agent, slot, failure.cause) from failure
            raise failure.cause from failure
        except errors.GetTimeoutError:
            raise AgentError(
                agent,
                slot,
                f"its actor gave no answer within {self._timeout:g} s; look at the cluster, or "
                "give RayEngine a longer timeout.",
            ) from None
        except errors.RayError as failure:
            raise Lost(agent, slot, failure) from failure
