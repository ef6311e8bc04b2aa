"""How the parts of a sum become messages and the total becomes arrays again.

A sum of a program takes one round along the tree with plain floats, and one or more rounds with
:mod:`grassvine.sums.fixed_point`.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import MessageError
from grassvine.protocol.agent import State

# What is added up along the tree: float64, or integers modulo 2^64.
Addends: TypeAlias = NDArray[Any]
Sizes: TypeAlias = Sequence[tuple[int, ...]]  # the shapes of the arrays of a part

PLAIN, FIXED = "plain", "fixed"  # names in plans


class Summation(Protocol):
    """The encoding of one agent's parts; its state is that of the agent's current sum."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays of a snapshot."""
        ...

    @property
    def n_rounds(self) -> int:
        """The number of rounds that have ended."""
        ...

    @property
    def under_way(self) -> bool:
        """Whether a round of the current sum has ended."""
        ...

    def begin(
        self, number: int, name: str, part: Array, sizes: Sizes, *, wide: bool, bound: float
    ) -> Addends:
        """Return what to add up for a new sum.

        Parameters
        ----------
        number : int
            How many sums there were before.
        name : str
            Names the kind of sum: the same for all agents, and for sums of the same quantities.
        part : array
            The numbers of this agent, of all arrays.
        sizes : sequence of tuples
            The shapes of the arrays.
        wide : bool
            Whether the numbers of one array have different units.
        bound : float
            What no number of any part can exceed; 0 if unknown.
        """
        ...

    def shape(self, addends: Addends) -> tuple[int, ...]:
        """Return the shape that a message with such addends has, as agents expect it."""
        ...

    def total(self, added: Addends) -> Array | None:
        """Return the numbers of the total, or None if the sum needs another round."""
        ...

    def again(self) -> Addends:
        """Return what to add up in the next round of the same sum."""
        ...

    def log_entry(self) -> State:
        """Return what to log of the sum that has just ended, beside its total."""
        ...

    def replay(self, name: str, log_entry: State) -> None:
        """Take what was logged of an earlier sum."""
        ...

    def snapshot(self, partial: Addends, last: Addends) -> State:
        """Return the state of the current sum as float64.

        With what was added up so far, and what the last round has added up.
        """
        ...

    def restore(self, snapshot: State, what: str) -> tuple[Addends, Addends | None]:
        """Take a snapshot of the sum that has begun; ``what`` names it in errors.

        Return what was added up so far, and in the last round unless the log says it.
        """
        ...


class PlainSummation:
    """Sums of floats: the part is what is sent, and the total is what comes back."""

    names = ("partial",)
    under_way = False

    def __init__(self) -> None:
        self.n_rounds = 0
        self._size = 0

    def begin(
        self, number: int, name: str, part: Array, sizes: Sizes, *, wide: bool, bound: float
    ) -> Addends:
        """Return the part."""
        self._size = part.size
        return part

    def shape(self, addends: Addends) -> tuple[int, ...]:
        """Return the shape."""
        return addends.shape

    def total(self, added: Addends) -> Array | None:
        """Return the total."""
        self.n_rounds += 1
        return added

    def again(self) -> Addends:
        """Never happens: there is one round for each sum."""
        raise NotImplementedError

    def log_entry(self) -> State:
        """Return nothing."""
        return {}

    def replay(self, name: str, log_entry: State) -> None:
        """Count the round."""
        self.n_rounds += 1

    def snapshot(self, partial: Addends, last: Addends) -> State:
        """Return the partial sum."""
        return {"partial": partial}

    def restore(self, snapshot: State, what: str) -> tuple[Addends, Addends | None]:
        """Return the partial sum."""
        return require_size(snapshot["partial"], (self._size,), what), None


def require_size(partial: NDArray[np.generic], shape: tuple[int, ...], what: str) -> Addends:
    """Return the partial sum of a snapshot if it belongs to the current sum."""
    if partial.shape != shape:
        raise MessageError(
            f"'partial' in {what} has {partial.size} numbers instead of {math.prod(shape)}; pass "
            "the snapshot of the same agent and plan."
        )
    return np.asarray(partial)
