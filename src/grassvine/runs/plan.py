"""Plans: everything that agents must agree on before slot 0; a plan contains no data."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import one_of, rank_within, whole_number
from grassvine.foundations.seeds import stream
from grassvine.geometry import Geometry, Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.networks.tree import check_rounds
from grassvine.problems.base import Problem
from grassvine.protocol.agent import Agent
from grassvine.protocol.method import ChecksNetwork, Method
from grassvine.runs import plan_file
from grassvine.sums.agent import SumAgent
from grassvine.sums.course import SharedPrograms
from grassvine.sums.exact import Exact
from grassvine.sums.fixed_point import FixedPointSummation, most_rounds
from grassvine.sums.summation import FIXED, PLAIN


@dataclass(frozen=True)
class Plan:
    """A frozen description of a run.

    Parameters
    ----------
    n_items, rank : int
        Shape of a basis.
    network : Network
        Communication graph of the agents.
    method : Method, default=Exact()
        Learning method. With the default, each agent ends with the solution of the pooled problem.
    geometry : Geometry, default=Grassmann()
        Geometry of the bases.
    seed : int, default=0
        Random seed. All random numbers are drawn before slot 0, from independent named streams.
    initial_basis : array of shape (n_items, rank), optional
        Starting point of all agents, such as an earlier result; random by default. A plan with a
        given starting point cannot be written as TOML.
    sums : {"plain", "fixed"}, default="plain"
        How methods by sums add up: floats in the order of the tree, or integers, so that the bits
        of a total depend neither on the order nor on the tree, and masks can hide the parts.

    Examples
    --------
    >>> import grassvine as gv
    >>> plan = gv.Plan(n_items=30, rank=2, network=gv.networks.ring(4), method=gv.Gossip())
    >>> plan.timetable.n_slots
    1000
    >>> plan.fingerprint() == gv.Plan(30, 2, gv.networks.ring(4), gv.Gossip()).fingerprint()
    True
    """

    n_items: int
    rank: int
    network: Network
    method: Method = field(default_factory=Exact)
    geometry: Geometry = field(default_factory=Grassmann)
    seed: int = 0
    initial_basis: Array | None = field(default=None, repr=False, compare=False)
    sums: str = PLAIN

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("n_items", self.n_items, least=1)
        rank_within(self.rank, self.n_items)
        whole_number("seed", self.seed, least=0)
        if one_of("sums", self.sums, (PLAIN, FIXED)) == FIXED:
            self._require_sums()
        if self.network.n_agents < 2 and not getattr(self.method, "works_alone", False):
            raise PlanError(
                "a single agent has no neighbours to exchange messages with; pass a network of two "
                "or more agents, or a method that supports a single agent, such as Exact()."
            )
        if isinstance(self.method, ChecksNetwork):
            self.method.check_network(self.network)

    @cached_property
    def timetable(self) -> Timetable:
        """The timetable of the run, drawn by the method."""
        drawn = self.method.timetable(self.network, stream(self.seed, "timetable"))
        if self.sums == PLAIN:
            return drawn
        tree = self.network.tree
        n_sums = drawn.n_slots // tree.routes[0].n_slots
        check_rounds(self.network.n_agents, most_rounds(n_sums))
        return tree.rounds(most_rounds(n_sums))

    def start(self, agent: int) -> Array:
        """Return the starting point of an agent."""
        if self.initial_basis is not None:
            return self.geometry.as_point(
                self.initial_basis, n_items=self.n_items, rank=self.rank, name="initial_basis"
            )
        return self._random_start(agent) if agent else self._common_start

    def agent(self, number: int, problem: Problem, programs: SharedPrograms | None = None) -> Agent:
        """Create the agent for a problem; with ``programs``, it shares those of its process."""
        if not isinstance(problem, Problem):
            raise PlanError(
                f"agent {number} has no problem: got a {type(problem).__name__}; pass a problem "
                "such as CompletionProblem(ratings), or a function that returns one."
            )
        if problem.n_items != self.n_items:
            raise PlanError(
                f"the problem of agent {number} has {problem.n_items} items but the plan has "
                f"{self.n_items}; pass problems over the same items."
            )
        agent = self.method.agent(self, number, problem)
        if self.sums == FIXED:
            assert isinstance(agent, SumAgent)
            agent.add_up_by(FixedPointSummation(number, self.network.n_agents))
        if isinstance(agent, SumAgent):
            agent.begin(programs)
        return agent

    def fingerprint(self) -> str:
        """Return a digest of the plan.

        It covers the *drawn* timetable, so it differs between machines whose random streams differ.
        """
        text = self.to_toml() + self.timetable.digest()
        return hashlib.sha256(text.encode()).hexdigest()

    def _require_sums(self) -> None:
        """Check that fixed-point sums are for a method by sums."""
        if isinstance(self.method, plan_file.WITHOUT_SUMS):
            raise PlanError(
                f"{type(self.method).__name__} adds nothing up along a tree, so sums cannot be "
                "'fixed'; omit sums, or choose a method by sums such as Exact()."
            )

    @cached_property
    def _common_start(self) -> Array:
        """The starting point of agent 0, which exact methods give to every agent."""
        return self._random_start(0)

    def _random_start(self, agent: int) -> Array:
        rng = stream(self.seed, "start", agent)
        return self.geometry.random_point(self.n_items, self.rank, rng)

    def to_toml(self) -> str:
        """Return the plan as TOML."""
        if self.initial_basis is not None:
            raise PlanError(
                "a plan with a starting point cannot be written as TOML; omit initial_basis."
            )
        return plan_file.write(self)

    @classmethod
    def from_toml(cls, text: str) -> "Plan":
        """Read a plan from TOML; unknown and missing keys are errors."""
        return cls(**plan_file.read(text))
