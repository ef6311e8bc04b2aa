"""Options of the gossip method, and its four named variants."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

from numpy.random import Generator

from grassvine.foundations.errors import PlanError, unknown
from grassvine.foundations.options import real_number, whole_number
from grassvine.gossip.agent import GossipAgent
from grassvine.networks.graph import Network
from grassvine.networks.schedule import Matchings, OneEdge, Schedule
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Problem, as_local_problem
from grassvine.protocol.method import Setup

Preconditioner = Literal["none", "gram", "curvature"]
Clock = Literal["common", "own"]


@dataclass(frozen=True, slots=True)
class StepSize:
    """Step size γ_k = a / (1 + b·k), where k is the slot or the agent's own update count.

    ``StepSize()`` is the unit step, which needs no tuning with the curvature preconditioner.
    With ``a=None``, each meeting uses the a that minimises the local quadratic model of the cost
    along the step direction; its Hessian approximation is that of the curvature preconditioner.
    """

    a: float | None = 1.0
    b: float = 0.0

    def __post_init__(self) -> None:
        """Check the options."""
        if self.a is not None and real_number("step.a", self.a, least=0.0) == 0.0:
            raise PlanError("step.a is 0, so no basis would move; choose a positive number.")
        real_number("step.b", self.b, least=0.0)

    def at(self, slot: int, linearised: Callable[[], float]) -> float:
        """Return γ at a slot or update."""
        return (linearised() if self.a is None else self.a) / (1.0 + self.b * slot)


@dataclass(frozen=True, slots=True)
class Gossip:
    """The paper's method: agents descend on their own tasks and towards the neighbours they meet.

    Parameters
    ----------
    rho : float, default=1000
        Consensus weight ρ: weight of the agreement between neighbours relative to the tasks.
    max_iter : int, default=1000
        Number of iterations; each is one slot of the timetable.
    schedule : Schedule, default=OneEdge()
        Which agents meet at each slot.
    preconditioner : {"curvature", "gram", "none"}, default="curvature"
        Preconditioner of the step direction. ``"gram"`` is the paper's WᵀW + ρI; ``"curvature"``
        is α·diag(s)·K + 2ρ, where K and the item scales s have the scale of the data, so that
        the unit step is appropriate.
    step : StepSize, default=StepSize()
        Step size.
    clock : {"common", "own"}, default="common"
        Index k of the step size: the slot, as in the paper, or the agent's own update count,
        which needs no common clock.
    """

    rho: float = 1e3
    max_iter: int = 1000
    schedule: Schedule = field(default_factory=OneEdge)
    preconditioner: Preconditioner = "curvature"
    step: StepSize = field(default_factory=StepSize)
    clock: Clock = "common"

    def __post_init__(self) -> None:
        """Check the options."""
        real_number("rho", self.rho, least=0.0)
        whole_number("max_iter", self.max_iter, least=0)
        if self.preconditioner not in get_args(Preconditioner):
            known = get_args(Preconditioner)
            raise PlanError(unknown("preconditioner", self.preconditioner, known))
        if self.clock not in get_args(Clock):
            raise PlanError(unknown("clock", self.clock, get_args(Clock)))
        if self.preconditioner == "none" and self.step == StepSize():
            raise PlanError(
                "the unit step needs a preconditioner; with preconditioner='none', choose "
                "StepSize(a, b), or StepSize(None, b) for automatic steps."
            )

    def check_network(self, network: Network) -> None:
        """Check that the meetings can be drawn."""
        self.schedule.check(network, self.max_iter)

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Draw the meetings of all slots."""
        return self.schedule.draw(network, self.max_iter, rng)

    def agent(self, plan: Setup, number: int, problem: Problem) -> GossipAgent:
        """Return the agent for a problem."""
        start, degree = plan.start(number), plan.network.degree(number)
        return GossipAgent(number, as_local_problem(problem), start, degree, self, plan.geometry)


def stochastic(rho: float = 1e3, max_iter: int = 1000, step: StepSize | None = None) -> Gossip:
    """Return Stochastic Gossip: one link per slot, plain gradients."""
    return Gossip(rho, max_iter, OneEdge(), "none", step or StepSize(None))


def precon_stochastic(
    rho: float = 1e3, max_iter: int = 1000, step: StepSize | None = None
) -> Gossip:
    """Return Precon Stochastic Gossip: one link per slot, preconditioned gradients."""
    return Gossip(rho, max_iter, OneEdge(), "curvature", step or StepSize())


def parallel(rho: float = 1e3, max_iter: int = 400, step: StepSize | None = None) -> Gossip:
    """Return Parallel Gossip: several disjoint links per slot, plain gradients."""
    return Gossip(rho, max_iter, Matchings(), "none", step or StepSize(None))


def precon_parallel(rho: float = 1e3, max_iter: int = 400, step: StepSize | None = None) -> Gossip:
    """Return Precon Parallel Gossip: several disjoint links per slot, preconditioned gradients."""
    return Gossip(rho, max_iter, Matchings(), "curvature", step or StepSize())
