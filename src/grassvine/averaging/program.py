"""Averaging programs: agents that communicate with their neighbours only.

A program is a generator that yields the arrays for all neighbours and is sent the arrays received
from them. All agents run it in lockstep. :func:`mix` averages arrays over the network in several
rounds.
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

# The array of a message whose columns span the sender's subspace, for comparing neighbours.
FRAME = "frame"

Arrays: TypeAlias = Mapping[str, Array]
Inbox: TypeAlias = Mapping[int, Arrays]


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """The current point of a program, with the evaluation of the agent's problem there."""

    basis: Array
    evaluation: Evaluation
    gradient_norm: float
    step: float = 0.0
    updates: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """The arrays that a program sends to all neighbours, and its current iterate.

    ``fresh`` is False in the later rounds of a mixing, when the frames are partly mixed and do
    not show how much agents differ.
    """

    arrays: Arrays
    iterate: Iterate
    fresh: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class ProgramOutcome:
    """The final iterate of a program, and the reason why it stopped."""

    iterate: Iterate
    reason: str


# Yields the arrays for all neighbours; is sent the arrays received, by sender.
Program: TypeAlias = Generator[Exchange, Inbox, ProgramOutcome]


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """The averages after a mixing, and whether all agents were ready to stop when it began.

    ``distance`` is the largest difference between a neighbour's frame and the agent's own before
    the mixing, relative to the norm of its own.
    """

    arrays: Arrays
    distance: float
    all_content: bool


MixingRounds: TypeAlias = Generator[Exchange, Inbox, Mixed]


def mix(
    mixing: Mixing, number: int, arrays: Arrays, iterate: Iterate, content: bool = False
) -> MixingRounds:
    """Average arrays approximately over all agents; for use with ``yield from``.

    ``content`` states whether this agent is ready to stop.
    """
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
    """Check that the points of a plan are subspaces."""
    if not isinstance(plan.geometry, Grassmann):
        raise PlanError(
            f"{name} averages orthonormal bases; use the plan's default geometry, Grassmann()."
        )
