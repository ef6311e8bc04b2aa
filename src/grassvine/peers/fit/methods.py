"""The methods of runs between members: the fit with the sums before and after it."""

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
from numpy.random import Generator

from grassvine.estimators.pca import TOLERANCE
from grassvine.fits.options import gossip_by_name
from grassvine.fits.rating_formulations import bayesian, biased
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.gossip import Gossip, GrowingRho
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.peers.fit.averages import MEAN_STEPS, mean_by_sums
from grassvine.peers.fit.learning import BAYES, MAP, Learning
from grassvine.peers.fit.stages import Create, StagedAgent, one_after_another
from grassvine.peers.fit.totals import (
    JoinedIterate,
    MemberProblem,
    ProgramMethod,
    joined,
    learn_by_sums,
)
from grassvine.problems.base import Problem
from grassvine.protocol.agent import Agent, State
from grassvine.protocol.method import Method, Setup
from grassvine.sums import (
    EmpiricalBayes,
    Exact,
    ImplicitFactorization,
    SumAgent,
    Validated,
)
from grassvine.sums.program import Iterate, Program, ProgramOutcome, map_iterates

TASKS_TOLERANCE = 1e-10


def method_of(learning: Learning) -> Method:
    """Return the method of a run between members."""
    if learning.method.own_clock:
        return LearnByMeetings(learning)
    return LearnByGossip(learning) if learning.method.gossips else LearnBySums(learning)


def fit_by_sums(learning: Learning) -> ProgramMethod:
    """Return the method of the estimators that fits by sums."""
    method: Method
    choice = learning.method
    if learning.kind == "pca":
        method = Exact(tol=TOLERANCE)
    elif learning.kind == "tasks":
        method = EmpiricalBayes() if choice.name == BAYES else Exact(tol=TASKS_TOLERANCE)
    elif learning.kind == "events":
        method = ImplicitFactorization()
    elif choice.name == BAYES:
        method = bayesian((learning.rank,)).method
    elif choice.name == MAP:
        assert choice.regularization is not None
        method = biased((learning.rank,), choice.regularization).method
    else:
        method = Validated() if choice.regularization == "auto" else Exact()
    return cast(ProgramMethod, method)


def gossip_of(
    learning: Learning, n_agents: int, squares: float = 1.0, share: float = 1.0
) -> Gossip:
    """Return the variant of gossip; its meetings do not depend on the scale of the data.

    Parameters
    ----------
    squares : float
        Sum of the squared values of all members.
    share : float
        The constant weight with ``"auto"``, as a multiple of the mean of ``squares`` per member.
    """
    choice = learning.method
    assert choice.rho is not None and choice.max_iter is not None
    rho = choice.rho
    if rho != "auto" and learning.kind != "ratings":
        rho = rho * squares / n_agents
    method = gossip_by_name(
        choice.name, rho, choice.max_iter, n_agents, squares=squares, share=share
    )
    assert isinstance(method, Gossip)
    return method


def sums_before(learning: Learning) -> int:
    """Return the number of sums before the fit; gossip needs the scale of the data as well."""
    of_kind = {"ratings": 1, "events": 1, "tasks": 2, "pca": 1}[learning.kind]
    of_support = {"ratings": 0, "events": 0, "tasks": 1, "pca": 2}[learning.kind]
    with_support = of_support if learning.min_support > 1 else 0
    return of_kind + with_support + int(learning.method.gossips)


def sums_after(learning: Learning) -> int:
    """Return the number of sums after there is a common fit."""
    return 2 if learning.kind == "pca" else int(learning.holdout > 0.0)


@dataclass(frozen=True, slots=True)
class LearnBySums:
    """A fit by sums along a tree, with sums before and after it."""

    learning: Learning

    def check_network(self, network: Network) -> None:
        """Check that there is a timetable for the network."""
        fit_by_sums(self.learning).timetable(network, np.random.default_rng(0))

    def most_sums(self, network: Network) -> int:
        """Return the largest number of sums of the fit."""
        timetable = fit_by_sums(self.learning).timetable(network, np.random.default_rng(0))
        return timetable.n_slots // (2 * network.tree.height)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Return rounds up and down the spanning tree; nothing is random."""
        around = sums_before(self.learning) + sums_after(self.learning)
        return network.tree.rounds(around + self.most_sums(network))

    def agent(self, plan: Setup, number: int, problem: Problem) -> SumAgent:
        """Create the agent of a member."""
        method, most = fit_by_sums(self.learning), self.most_sums(plan.network)
        data = cast(MemberProblem, problem)
        program = learn_by_sums(data, number, method, plan.start(0), plan.seed, most)
        return SumAgent(number, problem, program, plan.network.tree, alone=True)


@dataclass(frozen=True, slots=True)
class LearnByGossip:
    """Gossip, with sums before it, and after it the mean of all bases and sums.

    After the mean all members have the same basis.
    """

    learning: Learning

    def check_network(self, network: Network) -> None:
        """Check that the meetings can be drawn."""
        gossip_of(self.learning, network.n_agents).check_network(network)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Draw the meetings, between rounds along the tree."""
        return one_after_another(self._timetables(network, rng))

    def agent(self, plan: Setup, number: int, problem: Problem) -> Agent:
        """Create the agent of a member."""
        tables = self._timetables(plan.network, np.random.default_rng(0))
        starts = [0, *np.cumsum([table.n_slots for table in tables[:-1]]).tolist()]
        return StagedAgent(number, starts, self.stages(plan, number, problem))

    def stages(self, plan: Setup, number: int, problem: Problem) -> tuple[Create, Create, Create]:
        """Return what creates the agents of a member before, during and after gossip."""
        data, tree = cast(MemberProblem, problem), plan.network.tree
        n_agents = plan.network.n_agents

        def before(_: State) -> Agent:
            program = _program_before(data, number, plan.start(0))
            return SumAgent(number, problem, program, tree, alone=True)

        def between(state: State) -> Agent:
            totals = as_totals(state)
            method = self._gossip(data.gossip(totals, n_agents), plan.network, number)
            return method.agent(plan, number, data.problem(totals))

        def after(state: State) -> Agent:
            program = _program_after(data, number, n_agents, as_totals(state))
            return SumAgent(number, problem, program, tree, alone=True)

        return before, between, after

    def _gossip(self, method: Gossip, network: Network, number: int) -> Gossip:
        """Return the variant of gossip of one member."""
        return method

    def _timetables(self, network: Network, rng: Generator) -> list[Timetable]:
        after = 1 + MEAN_STEPS + sums_after(self.learning)
        return [
            network.tree.rounds(sums_before(self.learning)),
            self._meetings(network, rng),
            network.tree.rounds(after),
        ]

    def _meetings(self, network: Network, rng: Generator) -> Timetable:
        return gossip_of(self.learning, network.n_agents).timetable(network, rng)


@dataclass(frozen=True, slots=True)
class LearnByMeetings(LearnByGossip):
    """Gossip with whoever has time, in place of that with a timetable.

    Parameters
    ----------
    record : Timetable, optional
        The meetings of an earlier run, to replay it. Without it, nobody knows them beforehand, and
        the timetable has only the sums before and after.
    """

    record: Timetable | None = None

    def agent(self, plan: Setup, number: int, problem: Problem) -> Agent:
        """Create the agent of a member that replays the record."""
        if self.record is None:
            raise PlanError(
                "with clock 'own' the meetings are not known before the run; pass the record of "
                "one to replay it."
            )
        return LearnByGossip.agent(self, plan, number, problem)

    def n_meetings(self, network: Network) -> int:
        """Return how often each link is used: as a common timetable has it on average."""
        n_meetings = gossip_of(self.learning, network.n_agents).max_iter
        return max(1, round(n_meetings / max(len(network.edges), 1)))

    def updates(self, network: Network, number: int) -> int:
        """Return how many updates a member makes."""
        return network.degree(number) * self.n_meetings(network)

    def around(self, network: Network) -> tuple[Timetable, Timetable]:
        """Return the timetables of the sums before and after."""
        before, _, after = self._timetables(network, np.random.default_rng(0))
        return before, after

    def _gossip(self, method: Gossip, network: Network, number: int) -> Gossip:
        updates = self.updates(network, number)
        rho = replace(method.rho, num=updates) if isinstance(method.rho, GrowingRho) else method.rho
        return replace(method, rho=rho, max_iter=updates, clock="own")

    def _meetings(self, network: Network, rng: Generator) -> Timetable:
        return self.record or Timetable.from_meetings(network.n_agents, [])


def as_totals(state: State) -> dict[str, Array]:
    """Return the arrays of a state as numbers."""
    return {name: np.asarray(array, dtype=np.float64) for name, array in state.items()}


def _program_before(data: MemberProblem, number: int, start: Array) -> Program:
    totals = yield from data.sums_before(number, JoinedIterate(start))
    return ProgramOutcome(JoinedIterate(start, totals=totals), "all members are counted")


def _program_after(
    data: MemberProblem, number: int, n_agents: int, before: dict[str, Array]
) -> Program:
    problem, own = data.problem(before), before.pop("basis")
    before.pop("updates")
    add = partial(joined, totals=before, of=problem)
    mean = yield from map_iterates(mean_by_sums(own, number, n_agents), add)
    fitted = add(Iterate(mean))
    after = yield from data.sums_after(number, before, fitted.arrays(), fitted)
    outcome = joined(Iterate(mean), {**before, **after}, problem)
    return ProgramOutcome(outcome, "the mean of all members' subspaces was computed")
