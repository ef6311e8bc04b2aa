"""Options of the gossip method, its four named variants, and gossip with a growing ρ."""

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
Start = Literal["own", "common"]
FIRST_SHARE = 0.05  # first ρ of ``with_growing_rho``, as a share of an agent's squares


@dataclass(frozen=True, slots=True)
class StepSize:
    """Step size γ_k = a / (1 + b·k), where k is the slot or the agent's own update count.

    ``StepSize()`` is the unit step, which needs no tuning with the curvature preconditioner.

    Parameters
    ----------
    a : float or None, default=1.0
        Initial step size. With None, each meeting uses the a that minimises the local quadratic
        model of the cost along the step direction; its Hessian approximation is that of the
        curvature preconditioner.
    b : float, default=0.0
        Rate of decay.

    Examples
    --------
    >>> import grassvine as gv
    >>> decaying = gv.Gossip(preconditioner="none", step=gv.StepSize(a=0.5, b=0.01))
    >>> linearised = gv.Gossip(step=gv.StepSize(a=None))
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
class GrowingRho:
    """Consensus weight that grows geometrically, as in ``numpy.geomspace(start, stop, num)``.

    ρ_k = start·(stop/start)^(k/(num − 1)) for k < num, where k is the slot or the agent's own
    update count, and ρ_k = stop afterwards. Small weights let the agents descend on their problems
    first; large ones then remove the bias of a finite ρ, which a constant weight would keep.

    Parameters
    ----------
    start, stop : float
        First and last weight, both positive.
    num : int
        Number of slots or updates over which the weight grows.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.gossip import GrowingRho
    >>> rho = GrowingRho(start=1.0, stop=100.0, num=3)
    >>> [float(rho.at(slot)) for slot in range(4)]
    [1.0, 10.0, 100.0, 100.0]
    >>> method = gv.Gossip(rho=rho, start="common")
    """

    start: float
    stop: float
    num: int

    def __post_init__(self) -> None:
        """Check the options."""
        for name in ("start", "stop"):
            if real_number(f"rho.{name}", getattr(self, name), least=0.0) == 0.0:
                raise PlanError(f"rho.{name} is 0, which cannot grow; choose a positive number.")
        whole_number("rho.num", self.num, least=1)

    def at(self, slot: int) -> float:
        """Return ρ at a slot or update."""
        if slot >= self.num - 1:
            return self.stop
        return float(self.start * (self.stop / self.start) ** (slot / (self.num - 1)))


@dataclass(frozen=True, slots=True)
class Gossip:
    """The paper's gossip: agents descend on their own problems and towards their neighbours.

    Parameters
    ----------
    rho : float or GrowingRho, default=1000
        Consensus weight ρ: weight of the agreement between neighbours relative to the costs. With
        a constant weight, as in the paper, the agents converge to different subspaces, which are
        closer for larger ρ; with a growing one they reach consensus.
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
        Index k of the step size and of a growing ρ: the slot, as in the paper, or the agent's own
        update count, which needs no common clock.
    start : {"own", "common"}, default="own"
        Whether each agent starts at its own random point, as in the paper, or all start at the same
        one. With their own, agents on a ring can converge to a twist (docs/gossip.md), which no ρ
        removes.

    Examples
    --------
    >>> import grassvine as gv
    >>> data = gv.datasets.low_rank_ratings(30, 300, rank=2, oversampling=5.0)
    >>> parts = gv.datasets.split_users(data.ratings, 4)
    >>> plan = gv.Plan(30, 2, gv.networks.ring(4), gv.Gossip(rho=1e3, max_iter=300))
    >>> result = gv.run(plan, [gv.CompletionProblem(part) for part in parts])
    >>> bool(result.history.final()["mse"].max() < 1e-6)
    True
    """

    rho: float | GrowingRho = 1e3
    max_iter: int = 1000
    schedule: Schedule = field(default_factory=OneEdge)
    preconditioner: Preconditioner = "curvature"
    step: StepSize = field(default_factory=StepSize)
    clock: Clock = "common"
    start: Start = "own"

    def __post_init__(self) -> None:
        """Check the options."""
        if not isinstance(self.rho, GrowingRho):
            real_number("rho", self.rho, least=0.0)
        whole_number("max_iter", self.max_iter, least=0)
        if self.preconditioner not in get_args(Preconditioner):
            known = get_args(Preconditioner)
            raise PlanError(unknown("preconditioner", self.preconditioner, known))
        if self.clock not in get_args(Clock):
            raise PlanError(unknown("clock", self.clock, get_args(Clock)))
        if self.start not in get_args(Start):
            raise PlanError(unknown("start", self.start, get_args(Start)))
        if self.preconditioner == "none" and self.step == StepSize():
            raise PlanError(
                "the unit step needs a preconditioner; with preconditioner='none', choose "
                "StepSize(a, b), or StepSize(None, b) for automatic steps."
            )

    def check_network(self, network: Network) -> None:
        """Check that the meetings can be drawn."""
        self.schedule.check(network, self.max_iter)

    def rho_at(self, slot: int) -> float:
        """Return ρ at a slot or update."""
        return self.rho.at(slot) if isinstance(self.rho, GrowingRho) else self.rho

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Draw the meetings of all slots."""
        return self.schedule.draw(network, self.max_iter, rng)

    def agent(self, plan: Setup, number: int, problem: Problem) -> GossipAgent:
        """Return the agent for a problem."""
        start = plan.start(0 if self.start == "common" else number)
        degree = plan.network.degree(number)
        return GossipAgent(number, as_local_problem(problem), start, degree, self, plan.geometry)


def stochastic(rho: float = 1e3, max_iter: int = 1000, step: StepSize | None = None) -> Gossip:
    """Return Stochastic Gossip: one link per slot, plain gradients.

    Examples
    --------
    >>> from grassvine.gossip import stochastic
    >>> method = stochastic(rho=1e3, max_iter=200)
    >>> method.schedule, method.preconditioner
    (OneEdge(), 'none')
    """
    return Gossip(rho, max_iter, OneEdge(), "none", step or StepSize(None))


def precon_stochastic(
    rho: float = 1e3, max_iter: int = 1000, step: StepSize | None = None
) -> Gossip:
    """Return Precon Stochastic Gossip: one link per slot, preconditioned gradients.

    Examples
    --------
    >>> from grassvine.gossip import precon_stochastic
    >>> method = precon_stochastic(rho=1e3, max_iter=200)
    >>> method.schedule, method.preconditioner
    (OneEdge(), 'curvature')
    """
    return Gossip(rho, max_iter, OneEdge(), "curvature", step or StepSize())


def parallel(rho: float = 1e3, max_iter: int = 400, step: StepSize | None = None) -> Gossip:
    """Return Parallel Gossip: several disjoint links per slot, plain gradients.

    Examples
    --------
    >>> from grassvine.gossip import parallel
    >>> method = parallel(rho=1e3, max_iter=200)
    >>> method.schedule, method.preconditioner
    (Matchings(), 'none')
    """
    return Gossip(rho, max_iter, Matchings(), "none", step or StepSize(None))


def precon_parallel(rho: float = 1e3, max_iter: int = 400, step: StepSize | None = None) -> Gossip:
    """Return Precon Parallel Gossip: several disjoint links per slot, preconditioned gradients.

    Examples
    --------
    >>> from grassvine.gossip import precon_parallel
    >>> method = precon_parallel(rho=1e3, max_iter=200)
    >>> method.schedule, method.preconditioner
    (Matchings(), 'curvature')
    """
    return Gossip(rho, max_iter, Matchings(), "curvature", step or StepSize())


def with_growing_rho(squares: float, n_agents: int, max_iter: int = 400) -> Gossip:
    """Return gossip whose agents reach consensus, whatever the scale of the data.

    All agents start at one point, and ρ grows from S/(20N) to S, where S is ``squares``. A slot has
    one link. There are about ``max_iter`` updates per agent, times N/8 with more than eight agents,
    because differences need more meetings to spread over a larger network.

    Parameters
    ----------
    squares : float
        Sum of the squared values of all agents, centred if the problem centres them.
    n_agents : int
        Number of agents N.
    max_iter : int, default=400
        Approximate number of updates per agent, for up to eight agents: there are
        ``max_iter``·max(N − 1, N²/8) slots.

    Examples
    --------
    >>> from grassvine.gossip import with_growing_rho
    >>> method = with_growing_rho(squares=2000.0, n_agents=4, max_iter=100)
    >>> method.rho, method.max_iter
    (GrowingRho(start=25.0, stop=2000.0, num=300), 300)
    """
    n_slots = max(max_iter * (n_agents - 1), max_iter * n_agents**2 // 8)
    last = squares or 1.0  # without any variation, every weight gives the same result
    rho = GrowingRho(FIRST_SHARE * last / n_agents, last, max(n_slots, 1))
    return Gossip(rho, n_slots, start="common")
