"""The progress of a member in its private folder: its own view of the run."""

import math
import os
import platform
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from grassvine.engines.peers.transport.links import Traffic
from grassvine.peers.joining.parts import Part
from grassvine.peers.plan.group_plan import GroupPlan
from grassvine.peers.status import Status
from grassvine.protocol.report import StepReport
from grassvine.runs.progress import (
    FILE,
    Begin,
    End,
    Incident,
    Members,
    Point,
    ProgressLog,
    ProgressReader,
)
from grassvine.runs.progress.events import (
    ABSENT,
    ENDED,
    FINISHED,
    MAX_AGENTS,
    MAX_LINKS,
    UNKNOWN,
    WAITING,
    WORKING,
    shortened,
)

POINT_SECONDS = 0.25


class MemberProgress:
    """Writes the progress of a member, and goes on with what an earlier process has written.

    Parameters
    ----------
    folder : Path
        The folder of the run within the private folder.
    plan : GroupPlan
    number : int
        The number of the member.
    part : Part
        Which part of the run begins.
    """

    def __init__(self, folder: Path, plan: GroupPlan, number: int, part: Part):
        reader = ProgressReader(folder / FILE)
        reader.poll()
        before = reader.progress.begin
        self._number, self._part, self._network = number, part, plan.network
        self._own_links = {
            link: sum(link) - number for link in plan.network.edges if number in link
        }
        self._log = ProgressLog(folder, reader.progress)
        self._report: StepReport | None = None
        last, members = reader.progress.points[-1:], reader.progress.members
        self._bytes_before = last[0].bytes if last else 0  # of earlier processes and parts
        self._messages_before = last[0].messages if last else 0
        self._link_bytes_before = () if members is None else members.link_bytes
        self._next_point = 0.0
        now, detailed = time.time(), plan.network.n_agents <= MAX_AGENTS
        n_links = len(plan.network.edges)
        self._links = plan.network.edges if detailed and n_links <= MAX_LINKS else ()
        self._begin = Begin(
            run=plan.digest.hex(),
            time=now,
            started=now if before is None else before.started,
            pid=os.getpid(),
            host=shortened(platform.node()),
            method=plan.learning.method.name,
            n_agents=plan.network.n_agents,
            n_slots=part.n_slots,
            one_cost=not plan.learning.method.gossips,
            names=tuple(card.name for card in plan.members) if detailed else (),
            own=number,
            links=self._links,
        )
        self._log.add(self._begin)
        if before is not None and (before.pid, before.host) != (os.getpid(), self._begin.host):
            self.incident("the run was started again, and goes on where it was", part.before)
        self._log.flush()

    def report(self, report: StepReport, traffic: Mapping[int, Traffic]) -> None:
        """Take a report of the own agent; slots count those of earlier parts."""
        self._report = report
        now = time.time()
        if now >= self._next_point:
            self._next_point = now + max(POINT_SECONDS, self._log.spacing)
            self._log.add(self._point(now, report.slot + 1, traffic))

    def incident(self, text: str, slot: int) -> None:
        """Note an incident."""
        self._log.add(Incident(time.time(), slot, shortened(text)))
        self._log.flush()

    def write(self, status: Status, traffic: Mapping[int, Traffic]) -> None:
        """Write what the status file says, too."""
        now = status.updated
        self._log.add(self._point(now, status.slot, traffic, status))
        self._log.add(self._members(status, traffic))
        if status.state in ENDED:
            error = status.held_out_error
            report = {} if error is None else {"held_out_error": error}
            self._log.add(End(now, status.state, shortened(status.reason), report))
        self._log.flush()

    def _point(
        self, now: float, slot: int, traffic: Mapping[int, Traffic], status: Status | None = None
    ) -> Point:
        last, error = self._report, None if status is None else status.held_out_error
        done = status is not None and status.state == "finished"
        links = traffic.values()
        sent = self._bytes_before + sum(one.bytes_sent + one.bytes_received for one in links)
        frames = self._messages_before
        frames += sum(one.frames_sent + one.frames_received for one in links)
        share = slot / self._part.n_slots if self._part.n_slots else math.nan
        known = math.nan if error is None else error
        if last is None:
            share = 1.0 if done else share
            return Point(now, slot, share, held_out=known, bytes=sent, messages=frames)
        own = last.share if not math.isnan(last.share) and self._part.n_parts == 1 else share
        distance = math.degrees(last.distance) if not self._begin.one_cost else math.nan
        return Point(
            time=now,
            slot=slot,
            share=1.0 if done else own,
            update=last.update,
            cost=last.cost,
            rmse=math.sqrt(last.mse) if last.mse >= 0.0 else math.nan,
            held_out=last.held_out if error is None else known,
            bytes=sent,
            messages=frames,
            largest=distance,
            median=distance,
        )

    def _members(self, status: Status, traffic: Mapping[int, Traffic]) -> Members:
        names = self._begin.names
        if not names:
            return Members(status.updated, status.slot)
        connected, awaited = set(status.connected), set(status.waiting_for)
        states, n_agents = [UNKNOWN] * len(names), len(names)
        for other in self._network.neighbours(self._number):
            states[other] = WORKING if names[other] in connected else ABSENT
        doing = {"finished": FINISHED, "running": WORKING}
        states[self._number] = doing.get(status.state, WAITING)
        if status.state == "finished":
            states = [FINISHED if one == WORKING else one for one in states]
        updates = [0] * n_agents
        costs = [math.nan] * n_agents
        if self._report is not None:
            updates[self._number] = self._report.update
            costs[self._number] = self._report.cost
        return Members(
            time=status.updated,
            slot=status.slot,
            states="".join(states),
            waits=tuple((self._number, k) for k in range(n_agents) if names[k] in awaited),
            updates=tuple(updates),
            costs=tuple(costs),
            link_bytes=tuple(self._link_bytes(traffic)),
        )

    def _link_bytes(self, traffic: Mapping[int, Traffic]) -> Iterator[int]:
        before = self._link_bytes_before or (0,) * len(self._links)
        for link, earlier in zip(self._links, before, strict=True):
            one = traffic.get(self._own_links.get(link, -1))
            yield earlier + (0 if one is None else one.bytes_sent + one.bytes_received)
