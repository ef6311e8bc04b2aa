"""The method protocol: a method draws the timetable of a run and creates its agents."""

from typing import Protocol, runtime_checkable

from numpy.random import Generator

from grassvine.foundations.arrays import Array
from grassvine.geometry import Geometry
from grassvine.networks.graph import Network
from grassvine.networks.timetable import Timetable
from grassvine.problems.base import Problem
from grassvine.protocol.agent import Agent


class Setup(Protocol):
    """The part of a plan that methods can access.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.protocol import Setup
    >>> setup: Setup = gv.Plan(n_items=30, rank=2, network=gv.networks.ring(4))
    >>> setup.start(agent=0).shape
    (30, 2)
    """

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
        """The geometry of the bases."""
        ...

    @property
    def seed(self) -> int:
        """The random seed."""
        ...

    def start(self, agent: int) -> Array:
        """Return the starting point of an agent."""
        ...


@runtime_checkable
class ChecksNetwork(Protocol):
    """A method that can check, without drawing a timetable, whether it can be drawn."""

    def check_network(self, network: Network) -> None:
        """Raise :class:`NetworkError` if there is no timetable for a network."""
        ...


class Method(Protocol):
    """A decentralised learning method.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.protocol import Method
    >>> method: Method = gv.Gossip(max_iter=10)
    >>> method.timetable(gv.networks.ring(4), np.random.default_rng(0)).n_slots
    10
    """

    def timetable(self, network: Network, rng: Generator) -> Timetable:
        """Draw the timetable of a run."""
        ...

    def agent(self, plan: Setup, number: int, problem: Problem) -> Agent:
        """Create the agent for a problem."""
        ...
