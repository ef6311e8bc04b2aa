"""What a method is: it draws the timetable of a run and makes its agents."""

from typing import Protocol

from numpy.random import Generator

from grassvine.foundations.arrays import Array
from grassvine.geometry import Geometry
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Problem
from grassvine.protocol.agent import Agent


class Setup(Protocol):
    """What a method may ask of the plan of a run."""

    @property
    def n_items(self) -> int:
        """The number of rows of a basis."""
        ...

    @property
    def rank(self) -> int:
        """The number of columns of a basis."""
        ...

    @property
    def network(self) -> Network:
        """The communication graph."""
        ...

    @property
    def geometry(self) -> Geometry:
        """The manifold on which the agents move."""
        ...

    @property
    def seed(self) -> int:
        """The random seed."""
        ...

    def start(self, agent: int) -> Array:
        """Return the starting point of an agent."""
        ...


class Method(Protocol):
    """A way to learn together: it says who meets when and makes the agents."""

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Draw who meets whom at every slot."""
        ...

    def agent(self, plan: Setup, number: int, problem: Problem) -> Agent:
        """Make the agent that holds a problem."""
        ...
