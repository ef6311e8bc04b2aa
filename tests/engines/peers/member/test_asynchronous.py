"""Members without a timetable meet under every kind of failure; their record replays the run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from numpy.random import Generator
from tests.engines.peers.agents import MixingAgent
from tests.engines.peers.simulator import KINDS, STREAM_KINDS, Node, Simulation

import grassvine as gv
from grassvine.engines.in_process import run_slots
from grassvine.engines.peers.member.walk import OwnClock
from grassvine.foundations.seeds import stream
from grassvine.gossip import GrowingRho
from grassvine.networks import Timetable, merge_meetings
from grassvine.protocol import StepReport

NO_SLOTS = Timetable.from_meetings(1, [])


def draw_clocks(rng: Generator, seed: int) -> list[OwnClock]:
    """A connected network of two to five members, who meet a few times on each link."""
    n_agents = int(rng.integers(2, 6))
    links = {(int(rng.integers(other)), other) for other in range(1, n_agents)}
    links |= {
        (one, other) for other in range(n_agents) for one in range(other) if rng.random() < 0.4
    }
    return clocks_of(n_agents, links, int(rng.integers(1, 8)), seed)


def clocks_of(
    n_agents: int, links: set[tuple[int, int]], meetings: int, seed: int
) -> list[OwnClock]:
    return [
        OwnClock(
            tuple(sorted({one + other - agent for one, other in links if agent in (one, other)})),
            meetings,
            seed,
        )
        for agent in range(n_agents)
    ]


def replayed(nodes: Sequence[Node], logs: bool) -> int:
    """Compare a run with the replay of its record, bit by bit; return the number of meetings."""
    assert all(node.error is None and node.state is not None for node in nodes)
    timetable = merge_meetings([node.member.meetings for node in nodes if node.member])
    reports: list[StepReport] = []
    wanted = run_slots(
        [MixingAgent(number, NO_SLOTS, logs=logs) for number in range(len(nodes))],
        timetable,
        lambda report: reports.append(report),
        lambda actions: [act() for act in actions],
    )
    for number, node in enumerate(nodes):
        assert repr(node.state) == repr(wanted.states[number])
        expected = [one for one in reports if one.agent == number][:-1]  # and its final state
        expected = [one._replace(slot=place) for place, one in enumerate(expected)]
        assert repr(node.reports) == repr(expected)
    return timetable.n_slots


def simulate(seed: int) -> Counter[str]:
    rng = stream(seed, "clocks")
    clocks, logs = draw_clocks(rng, seed), bool(rng.random() < 0.5)
    simulation = Simulation(
        [partial(MixingAgent, number, NO_SLOTS, logs=logs) for number in range(len(clocks))],
        clocks,
        seed,
        checkpoint_bytes=(0, 1, 1500)[int(rng.integers(3))],
    )
    nodes = simulation.run()
    n_meetings = replayed(nodes, logs)
    assert n_meetings == sum(clock.updates for clock in clocks) / 2
    for node, clock in zip(nodes, clocks, strict=True):
        assert node.member is not None
        met = Counter(one.neighbour for one in node.member.meetings)
        assert met == dict.fromkeys(clock.neighbours, clock.meetings)
    return simulation.struck


def run_seeds(seeds: Sequence[int]) -> Counter[str]:
    struck: Counter[str] = Counter()
    for seed in seeds:
        try:
            struck += simulate(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    return struck


def test_every_run_ends_and_its_record_replays() -> None:
    struck = run_seeds(range(150))
    assert set(struck) == {*KINDS, *STREAM_KINDS}


@pytest.mark.parametrize("seed", range(5))
def test_an_absent_neighbour_is_skipped_while_the_others_meet(seed: int) -> None:
    """Member 3, a neighbour of all, comes when they have met each other."""
    links = {(one, other) for other in range(4) for one in range(other)}
    clocks = clocks_of(4, links, 10, seed)
    factories = [partial(MixingAgent, number, NO_SLOTS) for number in range(4)]

    class Late(Simulation):
        met_before: Sequence[int] = ()

        def _start(self, node: Node) -> None:
            if node.number == 3:
                self.met_before = [len(one.member.meetings) for one in self.nodes if one.member]
            super()._start(node)

    simulation = Late(factories, clocks, seed, failures=False, absent={3: 500.0})
    nodes = simulation.run()
    replayed(nodes, logs=False)
    assert simulation.met_before == [20, 20, 20]


@pytest.mark.parametrize("seed", range(3))
def test_gossip_replays_from_its_record(seed: int) -> None:
    """The paper's method with own clocks, steps that decay, and a weight that grows."""
    table = gv.datasets.low_rank_ratings(20, 120, 2, oversampling=4.0, seed=1).ratings
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(table, 4)]
    weight = GrowingRho(1.0, 1e3, 10)
    method = gv.Gossip(weight, 15, step=gv.StepSize(1.0, 0.1), clock="own")
    plan = gv.Plan(20, 2, gv.networks.ring(4), method, seed=seed)
    clocks = clocks_of(4, {(0, 1), (1, 2), (2, 3), (0, 3)}, 15, seed)
    factories = [partial(plan.agent, number, problem) for number, problem in enumerate(problems)]
    nodes = Simulation(factories, clocks, seed, checkpoint_bytes=3000).run()
    timetable = merge_meetings([node.member.meetings for node in nodes if node.member])
    record = replace(
        method, schedule=gv.networks.Recorded.of(timetable), max_iter=timetable.n_slots
    )
    run = gv.run(replace(plan, method=record), problems)
    for node, state in zip(nodes, run.states, strict=True):
        assert node.state is not None
        assert node.state["basis"].tobytes() == state["basis"].tobytes()
        assert node.state["updates"] == state["updates"]


@pytest.mark.slow
def test_two_thousand_seeds_strike_every_way() -> None:
    struck = run_seeds(range(10_000, 12_000))
    assert set(struck) == {*KINDS, *STREAM_KINDS}
    assert min(struck.values()) >= 400, struck
