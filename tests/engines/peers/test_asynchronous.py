"""Members without a timetable meet under every kind of failure; their record replays the run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from numpy.random import Generator
from tests.engines.peers.agents import MixingAgent
from tests.engines.peers.simulator import KINDS, STREAM_KINDS, Node, Simulation

from grassvine.engines.in_process import run_slots
from grassvine.engines.peers.walk import OwnClock
from grassvine.foundations.seeds import stream
from grassvine.networks import Timetable, merge_meetings
from grassvine.protocol import StepReport

NO_SLOTS = Timetable.from_meetings(1, [])


def draw_clocks(rng: Generator, seed: int) -> list[OwnClock]:
    """A connected network of two to five members, who make a few updates each."""
    n_agents = int(rng.integers(2, 6))
    links = {(int(rng.integers(other)), other) for other in range(1, n_agents)}
    links |= {
        (one, other) for other in range(n_agents) for one in range(other) if rng.random() < 0.4
    }
    return clocks_of(n_agents, links, int(rng.integers(1, 13)), seed)


def clocks_of(
    n_agents: int, links: set[tuple[int, int]], updates: int, seed: int
) -> list[OwnClock]:
    return [
        OwnClock(
            tuple(sorted({one + other - agent for one, other in links if agent in (one, other)})),
            updates,
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
        expected = [replace(one, slot=place) for place, one in enumerate(expected)]
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
    assert n_meetings >= clocks[0].updates / 2
    for node, clock in zip(nodes, clocks, strict=True):
        assert node.member is not None
        assert len(node.member.meetings) <= clock.updates
    # Two linked members who both could have gone on would have met.
    short = {n.number for n in nodes if n.member and len(n.member.meetings) < clocks[0].updates}
    assert not any(short.intersection(clocks[one].neighbours) for one in short)
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


@pytest.mark.slow
def test_two_thousand_seeds_strike_every_way() -> None:
    struck = run_seeds(range(10_000, 12_000))
    assert set(struck) == {*KINDS, *STREAM_KINDS}
    assert min(struck.values()) >= 400, struck
