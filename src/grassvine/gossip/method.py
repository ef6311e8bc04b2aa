"""The options of the paper's gossip, and its four variants by name."""

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
    """The length of a step: γ_k = a / (1 + b·k), where k is the slot or an agent's own update.

    ``StepSize()`` is the unit step, which needs no tuning with the curvature preconditioner.
    ``a=None`` takes at each meeting the a that minimises the cost linearised there, along the
    direction taken: the same model of the second derivative decides that makes the unit step.
    """

    a: float | None = 1.0
    b: float = 0.0

    def __post_init__(self) -> None:
        """Check the options."""
        if self.a is not None and real_number("step.a", self.a, least=0.0) == 0.0:
            raise PlanError("step.a is 0 and nothing would move; choose a positive number.")
        real_number("step.b", self.b, least=0.0)

    def at(self, slot: int, linearised: Callable[[], float]) -> float:
        """Return γ of a slot, or of an update."""
        return (linearised() if self.a is None else self.a) / (1.0 + self.b * slot)


@dataclass(frozen=True, slots=True)
class Gossip:
    """The paper's method: each agent solves its task and is pulled towards whom it meets.

    Parameters
    ----------
    rho : float
        ρ, the weight of agreement between neighbours against the tasks.
    max_iter : int
        Number of iterations; each is one slot of the timetable.
    schedule : Schedule
        Who meets whom.
    preconditioner : {"curvature", "gram", "none"}
        By what a direction is divided: ``"gram"`` is the paper's WᵀW + ρI; ``"curvature"`` is
        α·diag(s)·K + 2ρ, in which K and s, item by item, have the scale of the data, and the
        unit step is right.
    step : StepSize
        How far to go.
    clock : {"common", "own"}
        What makes γ fall: the slots of all, as in the paper, or each agent's own updates, which
        need no common clock.
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
                "the unit step needs a preconditioner; without one choose StepSize(a, b) or the "
                "automatic StepSize(None, b)."
            )

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Draw who meets whom at every slot."""
        return self.schedule.draw(network, self.max_iter, rng)

    def agent(self, plan: Setup, number: int, problem: Problem) -> GossipAgent:
        """Make the agent that holds a problem."""
        start, degree = plan.start(number), plan.network.degree(number)
        return GossipAgent(number, as_local_problem(problem), start, degree, self, plan.geometry)


def stochastic(rho: float = 1e3, max_iter: int = 1000, step: StepSize | None = None) -> Gossip:
    """Stochastic Gossip: one link a slot, plain gradients."""
    return Gossip(rho, max_iter, OneEdge(), "none", step or StepSize(None))


def precon_stochastic(
    rho: float = 1e3, max_iter: int = 1000, step: StepSize | None = None
) -> Gossip:
    """Precon Stochastic Gossip: one link a slot, preconditioned gradients."""
    return Gossip(rho, max_iter, OneEdge(), "curvature", step or StepSize())


def parallel(rho: float = 1e3, max_iter: int = 400, step: StepSize | None = None) -> Gossip:
    """Parallel Gossip: disjoint links a slot, plain gradients."""
    return Gossip(rho, max_iter, Matchings(), "none", step or StepSize(None))


def precon_parallel(rho: float = 1e3, max_iter: int = 400, step: StepSize | None = None) -> Gossip:
    """Precon Parallel Gossip: disjoint links a slot, preconditioned gradients."""
    return Gossip(rho, max_iter, Matchings(), "curvature", step or StepSize())
