"""Methods made of averages: all agents run one program, and hear their neighbours only.

A program is a generator that yields what it sends to all neighbours and is sent what they send. All
agents run it in step. :func:`mix` averages arrays over the network in several rounds.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.geometry import Grassmann
from grassvine.networks.mixing import Mixing
from grassvine.problems.base import Evaluation
from grassvine.protocol.method import Setup

# The array of a message whose columns span the sender's subspace; by it neighbours are compared.
FRAME = "frame"

Arrays: TypeAlias = Mapping[str, Array]
Inbox: TypeAlias = Mapping[int, Arrays]


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Where a program stands, what the agent's task says there, and how it came there."""

    basis: Array
    evaluation: Evaluation
    gradient_norm: float
    step: float = 0.0
    updates: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """What a program sends to all neighbours, and where it stands.

    In the later rounds of a mixing the frames are half mixed and say nothing of how far agents
    are apart: then ``fresh`` is False.
    """

    arrays: Arrays
    iterate: Iterate
    fresh: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ProgramOutcome:
    """Where a program ended, and why."""

    iterate: Iterate
    reason: str


# Yields what it sends to all neighbours; is sent what they send, by sender.
Program: TypeAlias = Generator[Exchange, Inbox, ProgramOutcome]


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """What came of a mixing: averages, and whether all were content when it began.

    ``distance`` is how far the farthest neighbour's frame was from one's own, relative to that.
    """

    arrays: Arrays
    distance: float
    all_content: bool


MixingRounds: TypeAlias = Generator[Exchange, Inbox, Mixed]


def mix(
    mixing: Mixing, number: int, arrays: Arrays, iterate: Iterate, content: bool = False
) -> MixingRounds:
    """Average arrays with all others, nearly; for use with ``yield from``."""
    now = before = arrays
    least, distance = float(content), 0.0
    for turn in range(mixing.n_rounds):
        sent = {**now, "content": np.array([least])}
        arrived = yield Exchange(sent, iterate, fresh=turn == 0)
        if turn == 0 and FRAME in arrays:
            gaps = [np.linalg.norm(other[FRAME] - now[FRAME]) for other in arrived.values()]
            distance = float(max(gaps) / np.linalg.norm(now[FRAME]))
        least = min(least, *(float(other["content"][0]) for other in arrived.values()))
        mixed = {}
        for name, own in now.items():
            others = {sender: other[name] for sender, other in arrived.items()}
            mixed[name] = mixing.round(number, own, before[name], others)
        now, before = mixed, now
    return Mixed(now, distance, least > 0.0)


def polar(matrix: Array) -> Array:
    """Return Z(ZᵀZ)^{−½}, the orthonormal matrix nearest to Z."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.ascontiguousarray(left @ right)


def require_subspaces(plan: Setup, name: str) -> None:
    """Refuse a plan whose points are no subspaces."""
    if not isinstance(plan.geometry, Grassmann):
        raise PlanError(
            f"{name} averages orthonormal bases; use the plan's default geometry, Grassmann()."
        )
