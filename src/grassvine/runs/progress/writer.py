"""An observer that writes the progress of a run on an engine to its folder."""

import math
import os
import platform
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from grassvine.protocol.observers import RunStart
from grassvine.protocol.report import StepReport
from grassvine.runs.progress.events import (
    FINISHED,
    MAX_AGENTS,
    MAX_LINKS,
    NONE,
    WAITING,
    WORKING,
    Begin,
    End,
    Incident,
    Members,
    Point,
    shortened,
)
from grassvine.runs.progress.log import ProgressLog

FLUSH_SECONDS = 0.25
MEMBERS_SECONDS = 1.0
MOST_OF_TIME = 0.01  # of the time of the run may be spent on writing
MOST_SLOTS_AHEAD = 400


class ProgressWriter:
    """Writes the progress of a run to a folder, for ``grassvine watch`` and ``runs show``.

    It is an observer of runs and fits: ``run(plan, problems, observers=[ProgressWriter("run")])``
    or ``MatrixCompleter().set_observers(ProgressWriter("run"))``. What it writes is bounded, and so
    is the time that it takes: when writing is slow, it writes less often.

    Parameters
    ----------
    folder : path
        The run folder; a progress that it contains is replaced when the run begins.
    clock : callable, optional
        Returns the time in seconds since 1970.
    """

    only_watches = True

    def __init__(self, folder: str | os.PathLike[str], *, clock: Callable[[], float] = time.time):
        self.log = ProgressLog(folder)
        self._clock = clock
        self._run, self._started = uuid.uuid4().hex, math.nan
        self._bytes = self._messages = 0
        self._updates_before = 0  # of earlier runs of the same fit
        self._begin: RunStart | None = None

    def begin(self, start: RunStart) -> None:
        """Note that a run begins."""
        if self._begin is not None:
            self._updates_before += self._update()
        self._begin = start
        now, network = self._clock(), start.network
        self._started = now if math.isnan(self._started) else self._started
        n_agents, n_links = network.n_agents, len(network.edges)
        self._detailed = n_agents <= MAX_AGENTS
        links = network.edges if self._detailed and n_links <= MAX_LINKS else ()
        self._latest: dict[int, StepReport] = {}
        self._finals: dict[int, StepReport] = {}
        self._traffic: dict[tuple[int, int], int] = defaultdict(int)
        self._slot, self._n_reported = -1, 0
        self._next_point = self._next_flush = self._next_members = now
        self._add_links = bool(links)
        self.log.add(
            Begin(
                run=self._run,
                time=now,
                started=self._started,
                pid=os.getpid(),
                host=shortened(platform.node()),
                method=shortened(start.method),
                n_agents=n_agents,
                n_slots=start.timetable.n_slots,
                one_cost=start.one_cost,
                links=links,
            )
        )
        self._links = links
        self._write(now)

    def __call__(self, report: StepReport) -> None:
        """Take a report."""
        if report.neighbour == -1:
            self._finals[report.agent] = report
            return
        if report.slot != self._slot:
            if self._slot >= 0:
                self._slot_over()
            self._slot = report.slot
        self._latest[report.agent] = report
        if report.messages:
            self._bytes += report.bytes
            self._messages += report.messages
            if self._add_links:
                self._count(report)

    def incident(self, text: str) -> None:
        """Note an incident, at once."""
        now = self._clock()
        self.log.add(Incident(now, max(self._slot, 0), shortened(text)))
        self._write(now)

    def end(self, state: str, reason: str, report: Mapping[str, Any] | None = None) -> None:
        """Note the end, with the figures that the command reports."""
        now = self._clock()
        if self._begin is not None:
            if self._slot >= 0:
                self.log.add(self._point(now, ended=state == "finished"))
            self.log.add(self._members(now, ended=state == "finished"))
        self.log.add(End(now, state, shortened(reason), report or {}))
        self._write(now, members=False)

    def _slot_over(self) -> None:
        now = self._clock()
        if now >= self._next_point:
            spent = time.thread_time()
            self.log.add(self._point(now))
            spent = time.thread_time() - spent
            self._next_point = now + max(self.log.spacing, 2 * spent / MOST_OF_TIME)
        if now >= self._next_flush:
            self._write(now)

    def _write(self, now: float, *, members: bool = True) -> None:
        """Write what was added, and say when to write again."""
        spent = time.perf_counter()
        if members and now >= self._next_members:
            self.log.add(self._members(now))
            cost = time.perf_counter() - spent
            self._next_members = now + max(MEMBERS_SECONDS, 2 * cost / MOST_OF_TIME)
        self.log.flush()
        spent = time.perf_counter() - spent
        self._next_flush = now + max(FLUSH_SECONDS, 2 * spent / MOST_OF_TIME)

    def _update(self) -> int:
        """Return the sums, or the updates per agent, so far."""
        assert self._begin is not None
        return sum(one.update for one in self._latest.values()) // self._begin.network.n_agents

    def _point(self, now: float, *, ended: bool = False) -> Point:
        assert self._begin is not None
        last = [*self._latest.values()]
        n_agents = self._begin.network.n_agents
        shares = [one.share for one in last if not math.isnan(one.share)]
        held_out = [one.held_out for one in last if not math.isnan(one.held_out)]
        shown = [*self._finals.values()] if len(self._finals) == n_agents else last
        costs = [one.cost for one in (last if self._begin.one_cost else shown)]
        errors = [one.mse for one in shown if not math.isnan(one.mse)]
        distances = [one.distance for one in last if not math.isnan(one.distance)]
        if self._begin.one_cost:
            cost, distances = self._latest_cost(), []
        else:
            cost = sum(costs) if len(costs) == n_agents else NONE
        return Point(
            time=now,
            slot=self._slot + 1,
            share=1.0 if ended else min(shares, default=NONE),
            update=self._updates_before + self._update(),
            cost=cost,
            rmse=math.sqrt(sum(errors) / len(errors)) if errors else NONE,
            held_out=held_out[-1] if held_out else NONE,
            bytes=self._bytes,
            messages=self._messages,
            largest=math.degrees(max(distances)) if distances else NONE,
            median=math.degrees(median(distances)) if distances else NONE,
        )

    def _latest_cost(self) -> float:
        """Return the cost at the last point that the first agent to report one has reached."""
        newest = max(self._latest.values(), key=lambda one: (one.update, not math.isnan(one.cost)))
        return newest.cost

    def _members(self, now: float, *, ended: bool = False) -> Members:
        assert self._begin is not None
        n_agents = self._begin.network.n_agents
        if not self._detailed:
            return Members(now, self._slot + 1)
        waits = {} if ended else self._next_meetings()
        latest, slot = self._latest, self._slot
        states = [WORKING if slot < 0 else WAITING] * n_agents
        for agent, one in latest.items():
            if one.finished or ended:
                states[agent] = FINISHED
            elif one.slot == slot:
                states[agent] = WORKING
        waiting = [agent for agent in range(n_agents) if states[agent] == WAITING]
        shown = {**latest, **self._finals}
        return Members(
            time=now,
            slot=slot + 1,
            states="".join(states),
            waits=tuple((agent, waits[agent]) for agent in waiting if agent in waits),
            updates=tuple(shown[k].update if k in shown else 0 for k in range(n_agents)),
            costs=tuple(shown[k].cost if k in shown else NONE for k in range(n_agents)),
            link_bytes=tuple(self._traffic[link] for link in self._links),
        )

    def _next_meetings(self) -> dict[int, int]:
        """Return from whom each agent expects its next message, by the timetable."""
        assert self._begin is not None
        timetable, found = self._begin.timetable, {}
        ahead = min(timetable.n_slots, self._slot + 1 + MOST_SLOTS_AHEAD)
        n_agents, n_seen = timetable.n_agents, 0
        for slot in range(self._slot + 1, ahead):
            for receiver, senders in timetable.inboxes(slot):
                others = [one for one in senders if one != receiver]
                n_seen += len(senders)
                if others and receiver not in found:
                    found[receiver] = others[0]
            if len(found) == n_agents or n_seen > 20 * n_agents + 1000:
                break
        return found

    def _count(self, report: StepReport) -> None:
        """Count bytes by link; the messages to an agent at one slot have the same size."""
        agent = report.agent
        if report.messages == 1 and report.neighbour != agent:
            senders: tuple[int, ...] = (report.neighbour,)
        else:
            senders = self._senders(agent, report.slot)
        for sender in senders:
            link = (sender, agent) if sender < agent else (agent, sender)
            self._traffic[link] += report.bytes // len(senders)

    def _senders(self, agent: int, slot: int) -> tuple[int, ...]:
        assert self._begin is not None
        table = self._begin.timetable
        here = slice(table.offsets[slot], table.offsets[slot + 1])
        mine = table.senders[here][table.receivers[here] == agent]
        return tuple(one for one in mine.tolist() if one != agent)
