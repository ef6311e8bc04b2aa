"""What agents cost: ``python -m benchmarks.cluster scaling``.

One table among N = 1 … 64 agents on the processors of one machine, by Ray, as many actors as
processors. The model of the processor time of a sum is

    pass + N·agent

where *pass* is the kernel's over all ratings, as one part, and *agent* what one agent does besides:
its manifold work and its messages. The first is measured without Ray in this process, the second
with an agent that has one user, by the local engine, its messages written and read as on a wire.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from benchmarks.cluster.netflix import RANK, Stopwatch
from benchmarks.cluster.netflix_like import N_ITEMS, NetflixLike
from benchmarks.timing import best

import grassvine as gv
from grassvine.engines.base import AgentFactory, EngineResult, create_agents
from grassvine.engines.in_process import run_slots
from grassvine.foundations.blas import one_blas_thread
from grassvine.networks import Timetable
from grassvine.protocol import Agent, Message, Observer, StepReport, decode, encode

N_USERS = 96_000
NUMBERS = (1, 2, 4, 8, 16, 32, 64)
N_SUMS = 20


def plan(n_agents: int) -> gv.Plan:
    network = gv.networks.exponential(n_agents) if n_agents > 1 else gv.networks.path(1)
    return gv.Plan(N_ITEMS, RANK, network, gv.Exact(by_rank=False, max_iter=N_SUMS))


def measure() -> dict[str, Any]:
    whole = pass_seconds()
    agent = agent_seconds()
    with gv.engines.ray_cluster():
        rows = [{"agents": number, **on_ray(number)} for number in NUMBERS]
    return {**whole, "agent": agent, "rows": rows}


def pass_seconds() -> dict[str, float]:
    """Return the processor seconds of a pass: as many evaluations as products with the Hessian."""
    whole, basis = NetflixLike(0, 1, N_USERS)(), plan(1).start(0)
    direction = np.random.default_rng(0).standard_normal(basis.shape)
    with one_blas_thread():
        evaluation = best(lambda: whole.evaluate(basis), 3).cpu
        product = best(lambda: whole.hessian_product(basis, direction), 3).cpu
    return {"n_ratings": whole.n_values, "pass": (evaluation + product) / 2}


def on_ray(n_agents: int) -> dict[str, float]:
    """Return seconds of the wall and of all processes' processors, a sum."""
    processors = len(os.sched_getaffinity(0))
    engine = gv.RayEngine(agents_per_actor=-(-n_agents // processors))
    parts = [NetflixLike(number, n_agents, N_USERS) for number in range(n_agents)]
    watch = Stopwatch(plan(n_agents).timetable.n_slots)
    gv.run(plan(n_agents), parts, engine=engine, observers=[watch])
    wall, cpu = watch.seconds()
    return {"wall": wall / N_SUMS, "cpu": cpu / N_SUMS}


def agent_seconds(n_agents: int = 8) -> float:
    """Return the processor seconds that an agent without work takes for a sum."""
    parts = [NetflixLike(0, N_USERS, N_USERS)] * n_agents
    one = plan(n_agents)
    timing = best(lambda: gv.run(one, parts, engine=Wired()), 3)
    return timing.cpu / n_agents / N_SUMS


class Wired:
    """The local engine, with messages as bytes between the agents."""

    def run(
        self, factories: Sequence[AgentFactory], timetable: Timetable, observe: Observer
    ) -> EngineResult:
        agents: list[Agent] = [_OnAWire(agent) for agent in create_agents(factories)]
        return run_slots(agents, timetable, observe, lambda actions: (act() for act in actions))


class _OnAWire:
    def __init__(self, agent: Agent):
        self._agent = agent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        shapes = self._agent.expected(slot)
        read = [decode(encode(sent), shapes, sender=sent.sender, slot=slot) for sent in inbox]
        return self._agent.meet(slot, read)


def show(found: dict[str, Any]) -> None:
    print(
        f"{found['n_ratings'] / 1e6:.1f} M ratings, {N_ITEMS} items, rank {RANK}; seconds a sum\n"
        f"measured: pass {found['pass']:.3f} CPU, agent {found['agent']:.4f} CPU\n"
        "agents   wall    CPU  model  CPU / model"
    )
    for row in found["rows"]:
        model = found["pass"] + row["agents"] * found["agent"]
        print(
            f"{row['agents']:6d} {row['wall']:6.3f} {row['cpu']:6.3f} {model:6.3f} "
            f"{row['cpu'] / model:8.2f}"
        )
