"""The plan: all that agents must agree on before slot 0, and nothing about anyone's data."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.options import rank_within, whole_number
from grassvine.foundations.seeds import stream
from grassvine.geometry import Geometry, Grassmann
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Problem
from grassvine.protocol.agent import Agent
from grassvine.protocol.method import Method
from grassvine.runs import plan_file
from grassvine.sums.exact import Exact


@dataclass(frozen=True)
class Plan:
    """A frozen description of a run.

    Parameters
    ----------
    n_items, rank : int
        The size of a basis.
    network : Network
        Who may meet whom.
    method : Method
        How agents learn; by default so that each ends with what one owner of all data would find.
    geometry : Geometry
        Where they move.
    seed : int
        Random seed. All random numbers are drawn before slot 0, in streams of different names.
    first : array, optional
        Where all agents start, such as an earlier result; at random unless given. A plan with it
        cannot be written down.
    """

    n_items: int
    rank: int
    network: Network
    method: Method = field(default_factory=Exact)
    geometry: Geometry = field(default_factory=Grassmann)
    seed: int = 0
    first: Array | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the options."""
        whole_number("n_items", self.n_items, least=1)
        rank_within(self.rank, self.n_items)
        whole_number("seed", self.seed, least=0)
        if self.network.n_agents < 2 and not getattr(self.method, "works_alone", False):
            raise PlanError(
                "one agent has nobody to gossip with; give a network of two or more, or a method "
                "that works alone too, such as Exact()."
            )

    @cached_property
    def timetable(self) -> Timetable:
        """Who meets whom at every slot."""
        return self.method.timetable(self.network, stream(self.seed, "timetable"))

    def start(self, agent: int) -> Array:
        """Return the starting point of an agent."""
        if self.first is not None:
            return self.geometry.as_point(
                self.first, n_items=self.n_items, rank=self.rank, name="first"
            )
        rng = stream(self.seed, "start", agent)
        return self.geometry.random_point(self.n_items, self.rank, rng)

    def agent(self, number: int, problem: Problem) -> Agent:
        """Return the agent that holds a problem."""
        if problem.n_items != self.n_items:
            raise PlanError(
                f"the problem of agent {number} has {problem.n_items} items and the plan "
                f"{self.n_items}; all agents share one list of items."
            )
        return self.method.agent(self, number, problem)

    def fingerprint(self) -> str:
        """Return a name for exactly this plan.

        It covers the *drawn* timetable: agents whose random streams differ get other names.
        """
        text = self.to_toml() + self.timetable.digest()
        return hashlib.sha256(text.encode()).hexdigest()

    def to_toml(self) -> str:
        """Write the plan as TOML."""
        if self.first is not None:
            raise PlanError("a plan that starts from a given basis has no TOML; leave first out.")
        return plan_file.write(self)

    @classmethod
    def from_toml(cls, text: str) -> "Plan":
        """Read a plan from TOML; an unknown or missing key is an error."""
        return cls(**plan_file.read(text))
