"""An engine that runs agents in the actors of a Ray cluster, which is one trust domain.

Agents are created in their actors and stay there; messages go from actor to actor. The driver
submits slots in advance and receives the reports. Ray executes the calls of one caller in the order
of submission only without retries, so retries are disabled. When an actor dies, all agents are
restored from the last checkpoint. Nothing is random after slot 0, so the repeated slots give
bitwise identical results; observers receive every report once.
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
from grassvine.protocol.observers import only_watches, tell_incident
from grassvine.protocol.report import Observer, StepReport

MIN_SLOTS_AHEAD = 8
MAX_LOSSES = 6  # in a row, without a completed slot in between


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Engine that runs agents in Ray actors.

    Parameters
    ----------
    address : str, optional
        Address of the cluster. If omitted, the run uses the cluster that this process is connected
        to, or else a new local cluster that is shut down after the run.
    agents_per_actor : int, default=1
        Number of agents that share an actor. A call takes milliseconds: if updates take less than
        100 ms, let several agents share one.
    placements : sequence of Placement, optional
        Requirements on the nodes, one per agent; by default agents run on any node.
    checkpoint_dir : path, optional
        Folder that every node sees at this path. With it, a run survives the loss of actors and
        nodes; without it, a loss ends the run.
    checkpoint_seconds : float, default=30
        Time between two checkpoints; a loss repeats about this much work.
    resume : bool, default=False
        Resume from the newest checkpoint in the folder, if there is one.
    timeout : float, default=600
        Seconds to wait for an actor's part of a slot before the run fails.

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(2, 1, gv.networks.path(2))
    >>> problem = gv.PCAProblem([[1.0, 0.1], [-1.0, 0.0]])
    >>> with gv.engines.ray_cluster(cpus=2):  # or RayEngine(address="auto") on a running cluster
    ...     result = gv.run(plan, [problem, problem], engine=gv.RayEngine(agents_per_actor=2))
    >>> result.incidents
    ()
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
            raise PlanError("resume needs checkpoints; pass the checkpoint_dir of that run.")

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        """Run until the timetable ends or the observer returns a reason to stop."""
        placements = [ANYWHERE] * len(factories) if self.placements is None else self.placements
        if len(placements) != len(factories):
            raise PlanError(
                f"got {len(placements)} placements for {len(factories)} agents; pass one per agent."
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
    """The state of a run: reported slots, incidents and the last checkpoint."""

    def __init__(
        self,
        pool: ActorPool,
        timetable: Timetable,
        observe: Observer,
        checkpoints: Checkpoints | None,
        seconds: float,
    ):
        self._pool = pool
        self._timetable = timetable
        self._observe = observe
        self._checkpoints = checkpoints
        self._seconds = seconds
        self._ahead = max(MIN_SLOTS_AHEAD, 2 * len(pool)) if only_watches(observe) else 1
        self._last_checkpoint = START
        self._epoch = 0
        self._n_reported = 0  # slots
        self._reason = ""
        self._incidents: list[str] = []

    def run(self) -> EngineResult:
        """Run to the end, recovering from losses."""
        self._replay_reports()
        loss: ActorLost | None = None
        losses, n_reported = 0, self._n_reported
        while True:
            try:
                self._restore(loss)
                self._advance()
                return self._finish()
            except ActorLost as another:
                if self._checkpoints is None:
                    advice = "pass a checkpoint_dir to RayEngine to survive such losses."
                    raise AgentError(another.agent, another.slot, f"{another}; {advice}") from None
                losses = 1 if self._n_reported > n_reported else losses + 1
                loss, n_reported = another, self._n_reported
                if losses > MAX_LOSSES:
                    advice = f"this was loss {losses} in a row without a completed slot."
                    raise AgentError(loss.agent, loss.slot, f"{loss}; {advice}") from None
                # Ray may take some seconds to notice that a node is gone, and use it until then.
                time.sleep(2.0 ** (losses - 2) if losses > 1 else 0.0)

    def _replay_reports(self) -> None:
        """Pass all reports up to the newest checkpoint to the observer."""
        if self._checkpoints is None:
            return
        mark = self._checkpoints.newest()
        reports = self._checkpoints.reports(mark)
        for slot, of_slot in groupby(reports, key=lambda report: report.slot):
            self._observe_slot(slot, of_slot)
        if self._reason and self._n_reported < mark.slot:
            return  # the observer stops before the checkpoint: start again and run up to there
        self._last_checkpoint, self._n_reported = mark, mark.slot
        if mark.slot:
            self._note(f"the run was resumed at slot {mark.slot}")

    def _restore(self, loss: ActorLost | None) -> None:
        """Replace lost actors and restore all agents from the last checkpoint."""
        replaced = self._pool.fill(self._last_checkpoint.slot)
        if loss:
            self._note(
                f"{_listed(replaced)} lost at slot {loss.slot} ({loss}); all agents were restored "
                f"to slot {self._last_checkpoint.slot}"
            )
        folder = None
        if self._checkpoints:
            self._epoch = self._checkpoints.new_epoch()
            folder = str(self._checkpoints.folder)
        self._pool.begin(folder, self._last_checkpoint)

    def _advance(self) -> None:
        """Submit slots in advance, process their reports in order and write checkpoints."""
        pending: deque[tuple[Callable[[int, Calls], None], int, Calls]] = deque()
        slot, since, writing = self._last_checkpoint.slot, time.monotonic(), False
        while True:
            while len(pending) < self._ahead and slot < self._end():
                inboxes = self._timetable.inboxes(slot)
                pending.append((self._receive, slot, self._pool.meet(slot, inboxes)))
                slot += 1
                if self._checkpoints and not writing and time.monotonic() - since >= self._seconds:
                    calls = self._pool.write_checkpoint(self._epoch, slot, self._last_checkpoint)
                    pending.append((self._complete, slot, calls))
                    writing = True  # one at a time, because each starts where the last one ended
            if not pending:
                return
            finish, number, calls = pending.popleft()
            finish(number, calls)
            if finish == self._complete:
                writing, since = False, time.monotonic()

    def _end(self) -> int:
        """Return the slot to run up to, as known so far."""
        return self._n_reported if self._reason else self._timetable.n_slots

    def _receive(self, slot: int, calls: Calls) -> None:
        self._observe_slot(slot, self._pool.reports(slot, calls))

    def _observe_slot(self, slot: int, reports: Iterable[StepReport]) -> None:
        """Pass the reports of a slot to the observer, once and only until it stops the run."""
        if slot < self._n_reported or self._reason:
            return
        reasons = [self._observe(report) for report in reports]
        self._reason = next((reason for reason in reasons if reason), "")
        self._n_reported = slot + 1

    def _complete(self, slot: int, calls: Calls) -> None:
        """Mark a checkpoint as complete; the run continues if it cannot be written."""
        assert self._checkpoints is not None
        try:
            self._pool.wait(slot, calls)
            if not self._reason:  # else the agents have run past the end
                self._last_checkpoint = self._checkpoints.complete(
                    self._epoch, slot, self._last_checkpoint
                )
        except OutputError as cause:
            self._note(f"no checkpoint was written at slot {slot}: {cause}")

    def _note(self, incident: str) -> None:
        self._incidents.append(incident)
        tell_incident(self._observe, incident)

    def _finish(self) -> EngineResult:
        """Collect the final reports and the states of the agents."""
        n_slots = self._n_reported
        reports, states = self._pool.conclude(n_slots), self._pool.states(n_slots)
        for report in reports:
            self._observe(report)
        reason = self._reason or TIMETABLE_OVER
        return EngineResult(tuple(states), n_slots, reason, tuple(self._incidents))


def _listed(groups: Iterable[Iterable[int]]) -> str:
    agents = [str(agent) for group in groups for agent in group]
    if not agents:
        return "a message was"
    return f"agent {agents[0]} was" if len(agents) == 1 else f"agents {', '.join(agents)} were"
