"""How the decisions of a program reach all agents: the root's, in the message with the total."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError, PlanError
from grassvine.protocol.message import SAME_PLAN

# Bound on the decisions between two sums, so that the size of a message is known beforehand.
MAX_DECISIONS = 12


@dataclass(slots=True)
class Decisions:
    """What a program decides between two sums: its own values at the root, else the given ones.

    Attributes
    ----------
    agent : int
        The agent that runs the program.
    update : int
        The number of sums before.
    given : sequence of float, optional
        The decisions of the root.
    taken : list of float
        The decisions so far.
    """

    agent: int
    update: int
    given: Sequence[float] | None = None
    taken: list[float] = field(default_factory=list)

    def decide(self, value: float) -> float:
        """Return the root's value; ``value`` is the agent's own."""
        place = len(self.taken)
        if self.given is None:
            if place == MAX_DECISIONS:
                raise PlanError(
                    f"the program takes more than {MAX_DECISIONS} decisions after sum "
                    f"{self.update}; decide fewer numbers between two sums."
                )
        elif place == len(self.given):
            raise MessageError(
                f"agent {self.agent} takes more decisions after sum {self.update} than the "
                f"{place} of the root; {SAME_PLAN}"
            )
        else:
            value = self.given[place]
        self.taken.append(value)
        return value

    def require_all(self) -> None:
        """Check that the program has used all decisions of the root."""
        if self.given is not None and len(self.taken) < len(self.given):
            raise MessageError(
                f"agent {self.agent} takes {len(self.taken)} decisions after sum {self.update}, "
                f"and the root takes {len(self.given)}; {SAME_PLAN}"
            )


def packed(taken: Sequence[float]) -> Array:
    """Return decisions as an array of fixed size: their number, themselves, zeros."""
    return np.array([len(taken), *taken, *[0.0] * (MAX_DECISIONS - len(taken))], dtype=np.float64)


def unpacked(numbers: Array, sender: int) -> list[float]:
    """Return the decisions in an array from another agent, or raise :class:`MessageError`."""
    count, taken = float(numbers[0]), numbers[1:].tolist()
    if count not in range(MAX_DECISIONS + 1):
        raise MessageError(
            f"agent {sender} sent {count:g} decisions, not 0 to {MAX_DECISIONS}; {SAME_PLAN}"
        )
    return taken[: int(count)]
