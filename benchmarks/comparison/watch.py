"""Runs whose error is watched: how far the worst agent is from a subspace, byte by byte."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from benchmarks.timing import timed

import grassvine as gv
from grassvine.engines.base import AgentFactory, EngineResult, create_agents
from grassvine.engines.in_process import run_slots
from grassvine.foundations.arrays import Array
from grassvine.networks import Timetable
from grassvine.problems import LocalProblem
from grassvine.protocol import Agent, Observer, StepReport

SPACE = gv.geometry.Grassmann()
THERE = 1e-10  # no need to go on


@dataclass
class Watch:
    """An engine that notes after every slot what was sent so far, and the worst agent's error."""

    target: Array
    bytes: list[int] = field(default_factory=lambda: [0])
    errors: list[float] = field(default_factory=lambda: [math.inf])

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        def error_of(agent: Agent) -> float:
            return SPACE.distance(SPACE.as_point(agent.state()["basis"]), self.target)

        agents = create_agents(factories)
        errors = [error_of(agent) for agent in agents]
        slot = 0

        def watch(report: StepReport) -> str | None:
            nonlocal slot
            if report.slot > slot:
                self.errors.append(max(errors))
                self.bytes.append(self.bytes[-1])
                slot = report.slot
            self.bytes[-1] += report.bytes
            errors[report.agent] = error_of(agents[report.agent])
            self.errors[-1] = max(errors)
            there = "all agents are there" if self.errors[-1] <= THERE else None
            return observe(report) or there

        return run_slots(agents, timetable, watch, lambda actions: (act() for act in actions))


@dataclass(frozen=True, eq=False)
class Trace:
    """Megabytes sent and the worst agent's error, slot by slot, and what the run took."""

    megabytes: Array
    errors: Array
    slots: int
    cpu_seconds: float

    def megabytes_to(self, goal: float) -> float:
        """After how many megabytes the error stays at or below a goal; NaN if it never does."""
        above = np.flatnonzero(self.errors > goal)
        first = above[-1] + 1 if len(above) else 0
        return float(self.megabytes[first]) if first < len(self.errors) else math.nan


def trace(plan: gv.Plan, problems: Sequence[LocalProblem], target: Array) -> Trace:
    watch = Watch(target)
    result, took = timed(lambda: gv.run(plan, problems, engine=watch))
    return Trace(np.array(watch.bytes) / 1e6, np.array(watch.errors), result.n_slots, took.cpu)


def in_megabytes(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}"
