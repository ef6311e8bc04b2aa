"""Agents in the actors of a Ray cluster, for a company's own machines: inside, all are trusted.

An agent is made in its actor and stays there; messages go from actor to actor. The driver submits
slots, some ahead, and hears the reports. Calls of one caller reach an actor in the order of
submission as long as none is retried, so none is. When an actor dies all agents go back to the last
checkpoint: nothing is random after slot 0, so what is done again has the same bits, and observers
hear of nothing twice.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from grassvine.engines.base import TIMETABLE_OVER, AgentFactory, EngineResult
from grassvine.engines.checkpoints import START, Checkpoints
from grassvine.engines.ray.actor_pool import ActorLost, ActorPool, Calls
from grassvine.engines.ray.cluster import ray_cluster
from grassvine.engines.ray.placement import ANYWHERE, Placement
from grassvine.foundations.errors import AgentError, OutputError, PlanError
from grassvine.foundations.options import real_number, whole_number
from grassvine.networks.timetable import Timetable
from grassvine.protocol.observers import only_watches
from grassvine.protocol.report import Observer, StepReport

LEAST_AHEAD = 8  # slots
MOST_LOSSES = 6  # running, without a slot done in between


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
    places : sequence of Place, optional
        What a node must offer, one for each agent; anywhere unless given.
    checkpoint_dir : path, optional
        A folder that every node reaches by this path. With it a run survives the death of actors
        and nodes; without it a death ends the run.
    checkpoint_seconds : float
        How long to go on between two checkpoints: about so much work is done again after a loss.
    resume : bool
        Go on from the newest checkpoint in the folder, if there is one.
    timeout : float
        How many seconds to wait for an actor's part of a slot before the run is given up.
    """

    address: str | None = None
    agents_per_actor: int = 1
    placements: Sequence[Placement] | None = None
    checkpoint_dir: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = 30.0
    resume: bool = False
    timeout: float = 600.0

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("agents_per_actor", self.agents_per_actor, least=1)
        real_number("checkpoint_seconds", self.checkpoint_seconds, least=0.0)
        real_number("timeout", self.timeout, least=1.0)
        if self.resume and self.checkpoint_dir is None:
            raise PlanError("there is nothing to resume from; give the checkpoint_dir of the run.")

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable is over or the observer gives a reason to stop."""
        placements = [ANYWHERE] * len(factories) if self.placements is None else self.placements
        if len(placements) != len(factories):
            raise PlanError(
                f"there are {len(placements)} places for {len(factories)} agents; give one to each."
            )
        checkpoints = None
        if self.checkpoint_dir is not None:
            checkpoints = Checkpoints.open(self.checkpoint_dir, timetable, resume=self.resume)
        with ray_cluster(self.address) as ray:
            pool = ActorPool(ray, factories, placements, self.agents_per_actor, self.timeout)
            try:
                return _RunState(
                    pool, timetable, observe, checkpoints, self.checkpoint_seconds
                ).run()
            finally:
                pool.shutdown()


class _RunState:
    """A run under way: which slots are told, what was lost, and where to go back to."""

    def __init__(
        self,
        pool: ActorPool,
        timetable: Timetable,
        observe: Observer,
        checkpoints: Checkpoints | None,
        seconds: float,
    ):
        self._crew = pool
        self._timetable = timetable
        self._observe = observe
        self._checkpoints = checkpoints
        self._seconds = seconds
        self._ahead = max(LEAST_AHEAD, 2 * len(pool)) if only_watches(observe) else 1
        self._mark = START
        self._epoch = 0
        self._told = 0  # slots
        self._reason = ""
        self._incidents: list[str] = []

    def run(self) -> EngineResult:
        """Run to the end, whoever dies on the way."""
        self._hear_what_was()
        loss: ActorLost | None = None
        losses, told = 0, self._told
        while True:
            try:
                self._restore(loss)
                self._advance()
                return self._finish()
            except ActorLost as another:
                if self._checkpoints is None:
                    advice = "give RayEngine a checkpoint_dir, and a run survives this."
                    raise AgentError(another.agent, another.slot, f"{another}; {advice}") from None
                losses = 1 if self._told > told else losses + 1
                loss, told = another, self._told
                if losses > MOST_LOSSES:
                    advice = f"it was loss {losses} running, without a slot done in between."
                    raise AgentError(loss.agent, loss.slot, f"{loss}; {advice}") from None
                # Ray may take some seconds to learn that a node is gone, and use it until then.
                time.sleep(2.0 ** (losses - 2) if losses > 1 else 0.0)

    def _hear_what_was(self) -> None:
        """Tell the observer of what happened before the checkpoint that is resumed."""
        if self._checkpoints is None:
            return
        mark = self._checkpoints.newest()
        reports = self._checkpoints.reports(mark)
        for slot, of_slot in groupby(reports, key=lambda report: report.slot):
            self._tell(slot, of_slot)
        if self._reason and self._told < mark.slot:
            return  # this observer stops before the checkpoint: begin anew, and go only so far
        self._mark, self._told = mark, mark.slot
        if mark.slot:
            self._incidents.append(f"the run was resumed at slot {mark.slot}")

    def _restore(self, loss: ActorLost | None) -> None:
        """Fill empty places, and bring all agents to the last checkpoint."""
        filled = self._crew.fill(self._mark.slot)
        if loss:
            self._incidents.append(
                f"{_listed(filled)} lost at slot {loss.slot} ({loss}); all went back to slot "
                f"{self._mark.slot}"
            )
        folder = None
        if self._checkpoints:
            self._epoch = self._checkpoints.new_epoch()
            folder = str(self._checkpoints.folder)
        self._crew.begin(folder, self._mark)

    def _advance(self) -> None:
        """Submit slots ahead, hear their reports in order, and keep checkpoints on the way."""
        under_way: deque[tuple[Callable[[int, Calls], None], int, Calls]] = deque()
        slot, since, keeping = self._mark.slot, time.monotonic(), False
        while True:
            while len(under_way) < self._ahead and slot < self._end():
                inboxes = self._timetable.inboxes(slot)
                under_way.append((self._hear, slot, self._crew.meet(slot, inboxes)))
                slot += 1
                if self._checkpoints and not keeping and time.monotonic() - since >= self._seconds:
                    kept = self._crew.write_checkpoint(self._epoch, slot, self._mark)
                    under_way.append((self._complete, slot, kept))
                    keeping = True  # one at a time: the next begins where it ended
            if not under_way:
                return
            finish, number, calls = under_way.popleft()
            finish(number, calls)
            if finish == self._complete:
                keeping, since = False, time.monotonic()

    def _end(self) -> int:
        """Return the slot to run up to, as far as is known."""
        return self._told if self._reason else self._timetable.n_slots

    def _hear(self, slot: int, calls: Calls) -> None:
        self._tell(slot, self._crew.reports(slot, calls))

    def _tell(self, slot: int, reports: Iterable[StepReport]) -> None:
        """Tell the observer of a slot, unless it has heard of it or has a reason to stop."""
        if slot < self._told or self._reason:
            return
        reasons = [self._observe(report) for report in reports]
        self._reason = next((reason for reason in reasons if reason), "")
        self._told = slot + 1

    def _complete(self, slot: int, calls: Calls) -> None:
        """Declare a checkpoint complete; where it cannot be written the run goes on."""
        assert self._checkpoints is not None
        try:
            self._crew.wait(slot, calls)
            if not self._reason:  # agents that ran past the end are not gone back to
                self._mark = self._checkpoints.complete(self._epoch, slot, self._mark)
        except OutputError as cause:
            self._incidents.append(f"no checkpoint was kept at slot {slot}: {cause}")

    def _finish(self) -> EngineResult:
        """Let the agents conclude, and fetch what they have learned."""
        reports, states = self._crew.conclude(self._told), self._crew.states(self._told)
        for report in reports:
            self._observe(report)
        reason = self._reason or TIMETABLE_OVER
        return EngineResult(tuple(states), self._told, reason, tuple(self._incidents))


def _listed(crews: Iterable[Iterable[int]]) -> str:
    agents = [str(agent) for agents in crews for agent in agents]
    if not agents:
        return "a message was"
    return f"agent {agents[0]} was" if len(agents) == 1 else f"agents {', '.join(agents)} were"
