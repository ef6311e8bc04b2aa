from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import CheckFailed, MessageError
from grassvine.gossip import GossipAgent
from grassvine.protocol import Message, StepReport
from grassvine.protocol.agent import State

METHODS = [
    gv.gossip.stochastic(),
    gv.gossip.precon_stochastic(),
    gv.gossip.parallel(),
    gv.gossip.precon_parallel(),
]


def agents(method: gv.Gossip | None = None, count: int = 2) -> list[GossipAgent]:
    method = method or gv.Gossip()
    plan = gv.Plan(N_ITEMS, 3, gv.networks.path(count), method)
    parts = gv.datasets.split_users(ratings(), count)
    return [method.agent(plan, i, gv.CompletionProblem(part)) for i, part in enumerate(parts)]


@pytest.mark.parametrize("method", METHODS)
def test_an_agent_keeps_to_what_engines_rely_on(method: gv.Gossip) -> None:
    gv.checks.check_agent(lambda: agents(method)[0], agents(method)[1])


def test_an_agent_counts_its_updates_from_zero() -> None:
    one, other = agents()
    updates = [one.meet(slot, [other.outgoing(slot)]).update for slot in (4, 5, 9)]
    assert updates == [0, 1, 2]
    assert one.conclude(10).update == 3
    assert one.state()["updates"] == [3]


def test_a_report_names_the_farthest_neighbour() -> None:
    space = gv.geometry.Grassmann()
    one, _, far = agents(gv.Gossip(schedule=gv.networks.AllEdges()), 3)
    here, there = one.outgoing(0).arrays["basis"], far.outgoing(0).arrays["basis"]
    close = Message(1, 0, {"basis": space.exp(here, 0.1 * space.log(here, there))})
    report = one.meet(0, [close, far.outgoing(0)])
    assert (report.neighbour, report.messages) == (2, 2)
    assert report.distance == space.distance(here, there)


@pytest.mark.parametrize(
    ("basis", "complaint"),
    [
        (np.full((N_ITEMS, 3), np.nan), "agent 1 sent at slot 8 contains nan"),
        (np.zeros((N_ITEMS, 3)), "agent 1 sent at slot 8 is all zeros"),
        (np.ones((N_ITEMS, 3)), "agent 1 sent at slot 8 are not orthonormal"),
        (np.eye(N_ITEMS)[:, :2], "agent 1 sent at slot 8 has shape 20×2, not 20×3"),
    ],
)
def test_a_bad_basis_from_a_neighbour_is_refused_and_moves_nothing(
    basis: Array,
    complaint: str,
) -> None:
    one = agents()[0]
    before = one.state()["basis"].tobytes()
    with pytest.raises(MessageError, match=complaint):
        one.meet(8, [Message(1, 8, {"basis": basis})])
    assert one.state()["basis"].tobytes() == before
    assert one.state()["updates"] == [0]


class Restless(GossipAgent):
    """Moves when it is asked what it sends."""

    def outgoing(self, slot: int) -> Message:
        self._basis = -self._basis
        return super().outgoing(slot)


class Nervous(GossipAgent):
    """Moves when it is asked what it remembers."""

    def snapshot(self) -> State:
        self._basis = -self._basis
        return super().snapshot()


class Secretive(GossipAgent):
    """Turns its basis at every other meeting, and does not tell how many there were."""

    _meetings = 0

    def meet(self, slot: int, inbox: Sequence[Message]) -> StepReport:
        report = super().meet(slot, inbox)
        self._meetings += 1
        self._basis = self._basis * (-1.0) ** self._meetings
        return report


class Careless(GossipAgent):
    """Does not take what it is told."""

    def restore(self, log_entries: Iterable[State], snapshot: State) -> None:
        pass


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (Restless, "outgoing must have no side effects: a second message differed"),
        (Nervous, "reading the state must have no side effects: basis differs"),
        (Secretive, "a restored agent must equal the original: basis differs"),
        (Careless, "a restored agent must equal the original: it sends different bytes"),
    ],
)
def test_the_shipped_check_finds_an_agent_that_breaks_a_law(
    kind: type[GossipAgent], broken: str
) -> None:
    def make() -> GossipAgent:
        agent = agents()[0]
        agent.__class__ = kind
        return agent

    with pytest.raises(CheckFailed, match=broken):
        gv.checks.check_agent(make, agents()[1])
