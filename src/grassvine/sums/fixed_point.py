r"""Sums of integers: the same bits in any order of addition, and something that masks can hide.

A number x of an agent's part becomes the integer rint(x·2^s) modulo 2^64, where s is common to one
array of the sum. With all parts |x| < 2^e and N agents,

.. math:: s = 62 − ⌈\log_2 N⌉ − e

so that totals are at most 2^62: nothing wraps, and a total beyond proves that some agent did not
follow the plan. The total has an error of at most N/2·2^{−s}.

Numbers that differ much in size within one array, because they have different units, need more
bits: in *wide* sums each number has a second word for rint((x·2^s − rint(x·2^s))·2^{s+e}), and so
have sums of up to four numbers, where a second word is cheaper than another scale. The latter begin
with e = 40 instead of a sizing round, and where totals bound all parts the bound says e.

**Scales.** The exponents e come from nothing but what is summed. In a *sizing round* each agent
votes, for each array and each level 2^b, 2^{b+8}, …, whether it has a number of at least that size.
A vote is a number that is 0 for no; the total of the votes is 0 if all say no. With masks a yes is
a random number, so that the total says only whether anybody said yes. Thus all learn e, which is
the size of the largest part rounded up to one of those levels, and not whose part that is, nor how
many are as large.

An exponent is kept for later sums of the same kind. In each of them agents also vote whether all of
their numbers are below 2^e, and whether some number is at least 2^{e−10}. If somebody's part does
not fit, or if everybody's is smaller, the total is discarded, and the sum begins again with a
sizing round. An agent whose part does not fit sends random words (zeros without masks), so the
discarded total says nothing. So errors are at most N/2·2^{⌈log₂N⌉−52} of the largest part.

The first sum of a kind is often unlike the next, because it is taken at the start of a method. So
the second one has a sizing round too, if it is so long that this costs less than to send it again.
"""

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array, Indices, Words
from grassvine.foundations.errors import DataError, MessageError
from grassvine.protocol.agent import State
from grassvine.protocol.message import WordShape
from grassvine.protocol.restore import as_counts
from grassvine.sums.scales import (
    FIRST_WINDOW,
    N_LEVELS,
    STEP,
    ZERO,
    Scaling,
    top_of,
    windows_around,
)
from grassvine.sums.summation import Addends, Sizes, require_size

TOTAL_BITS = 62  # of the largest total, without its sign
# A scale is refined when all parts are smaller than 2^(e − 10), or in wide sums 2^(e − 60).
SMALL, SMALL_WIDE = 10, 60
# Sums of so few numbers are wide; the first of a kind begins with this e, without a sizing round.
FEW, FIRST_EXPONENT = 4, 40
# The second sum of a kind is sized too if it has at least so many numbers per vote.
LONG = 100
MAX_ROUNDS = 48  # of one sum: the largest and smallest floats take at most 36

STRAYS = (
    "some agent does not do what the plan says, or has another key than its card; compare versions "
    "and cards, and begin a new plan."
)


class Masks(Protocol):
    """What hides an agent's words from all others; the masks of all agents add up to 0."""

    def mask(self, number: int, attempt: int, size: int) -> Words:
        """Return the agent's mask for a round: of a sum, the sum's round, and the size."""
        ...

    def random(self, number: int, attempt: int, size: int) -> Words:
        """Return words that only this agent knows."""
        ...


@dataclass(frozen=True, slots=True)
class NoMasks:
    """Words as they are; a yes is 1, and what does not fit is 0."""

    def mask(self, number: int, attempt: int, size: int) -> Words:
        """Return zeros."""
        return np.zeros(size, dtype=np.uint64)

    def random(self, number: int, attempt: int, size: int) -> Words:
        """Return zeros."""
        return np.zeros(size, dtype=np.uint64)


class FixedPointSummation:
    """One agent's parts as integers, with masks if there are any.

    Parameters
    ----------
    agent : int
    n_agents : int
    masks : Masks, optional
    """

    names = ("partial", "last", "rounds", "scaling")

    def __init__(self, agent: int, n_agents: int, masks: Masks | None = None):
        self._agent = agent
        self.n_rounds = 0
        self._part_bits = TOTAL_BITS - math.ceil(math.log2(n_agents))
        self._masks = masks or NoMasks()
        # By kind of sum: the exponents of the last one, and how many there were.
        self._exponents: dict[tuple[str, int], tuple[tuple[int, ...], int]] = {}
        self._kind = "", 0
        self._number = 0
        self._arrays: list[Array] = []
        self._tops: list[int] = []
        self._wide = False
        self._scaling = Scaling(0, (), ())

    @property
    def under_way(self) -> bool:
        """Whether a round of the current sum has ended."""
        return self._scaling.attempt > 0

    def begin(
        self, number: int, name: str, part: Array, sizes: Sizes, *, wide: bool, bound: float
    ) -> Addends:
        """Return the words of the first round of a sum."""
        if not np.isfinite(part).all():
            raise DataError(
                f"the part of agent {self._agent} in sum {number} contains "
                f"{part[~np.isfinite(part)][0]}; check its data, or choose smaller steps."
            )
        ends = accumulate((math.prod(size) for size in sizes), initial=0)
        self._number, self._kind = number, (name, len(sizes))
        self._arrays = [part[start:end] for start, end in pairwise(ends)]
        self._tops = [top_of(array) for array in self._arrays]
        self._wide = wide or part.size <= FEW
        if not part.size:  # the end of the program, when only totals are forwarded
            self._scaling = Scaling(0, (), ())
        elif (known := self._exponents.get(self._kind)) is not None:
            exponents, n_sums = known
            long = part.size >= LONG * (1 + N_LEVELS) * len(sizes)
            sized = n_sums == 1 and long and not bound
            self._scaling = Scaling(0, exponents, windows_around(exponents) if sized else ())
        elif bound:
            self._scaling = Scaling(0, (math.frexp(bound)[1],) * len(sizes), ())
        elif self._wide and not wide:
            self._scaling = Scaling(0, (FIRST_EXPONENT,) * len(sizes), ())
        else:
            unknown = (ZERO,) * len(sizes)
            self._scaling = Scaling(0, unknown, (FIRST_WINDOW,) * len(sizes))
        return self._words()

    def shape(self, addends: Addends) -> tuple[int, ...]:
        """Return the shape, of uint64."""
        return WordShape(addends.shape)

    def total(self, added: Addends) -> Array | None:
        """Return the total, or None after a sizing round or if the scale was not right."""
        scaling = self._scaling
        self.n_rounds += 1
        if not added.size:
            return np.zeros(0)
        if scaling.windows:
            self._scaling = scaling.found(added.reshape(-1, 1 + N_LEVELS))
            return None
        n_arrays = len(self._arrays)
        too_large, large, numbers = added[0], added[1 : 1 + n_arrays], added[1 + n_arrays :]
        too_small = [
            e != ZERO and not some for e, some in zip(scaling.exponents, large, strict=True)
        ]
        if too_large or any(too_small):
            self._scaling = scaling.sizing()
            return None
        self._keep(self._kind, scaling.exponents)
        return self._as_floats(numbers.view(np.int64).reshape(1 + self._wide, -1))

    def again(self) -> Addends:
        """Return the words of the next round."""
        attempts, most = self._scaling.attempt, most_rounds(self._number + 1)
        if attempts >= MAX_ROUNDS or self.n_rounds >= most:
            raise MessageError(
                f"after {attempts} rounds of sum {self._number}, and {self.n_rounds} in all, there "
                f"is no scale that fits all parts: {STRAYS}"
            )
        return self._words()

    def log_entry(self) -> State:
        """Return the exponents of the sum."""
        return {"exponents": np.array(self._scaling.exponents, dtype=np.float64)}

    def replay(self, name: str, log_entry: State) -> None:
        """Take the exponents of an earlier sum."""
        exponents = tuple(int(e) for e in np.ravel(log_entry["exponents"]))
        self._keep((name, len(exponents)), exponents)

    def _keep(self, kind: tuple[str, int], exponents: tuple[int, ...]) -> None:
        _, n_sums = self._exponents.get(kind, ((), 0))
        self._exponents[kind] = exponents, n_sums + 1

    def snapshot(self, partial: Addends, last: Addends) -> State:
        """Return the scaling, and the words in halves, each of which is a float64."""
        return {
            "partial": _halves(partial),
            "last": _halves(last),
            "rounds": np.array([self.n_rounds], dtype=np.float64),
            "scaling": self._scaling.as_numbers(),
        }

    def restore(self, snapshot: State, what: str) -> tuple[Addends, Addends | None]:
        """Go to the round of a snapshot, and return what was added up there and before."""
        rounds = require_size(snapshot["rounds"], (1,), what).astype(np.float64)
        self.n_rounds = as_counts(rounds, what)[0]
        n_arrays = len(self._arrays) if sum(array.size for array in self._arrays) else 0
        self._scaling = Scaling.from_numbers(snapshot["scaling"], n_arrays, what)
        partial = require_size(snapshot["partial"], (2, self._size()), what)
        return _words_of(partial), _words_of(snapshot["last"])

    def _size(self) -> int:
        """Return the number of words of the current round."""
        if self._scaling.windows:
            return (1 + N_LEVELS) * sum(window != ZERO for window in self._scaling.windows)
        n_numbers = sum(array.size for array in self._arrays)
        return 1 + len(self._arrays) + (1 + self._wide) * n_numbers if n_numbers else 0

    def _words(self) -> Words:
        """Return the agent's words of the current round, masked."""
        size, scaling = self._size(), self._scaling
        if not size:
            return np.zeros(0, dtype=np.uint64)
        words = self._sizes() if scaling.windows else self._integers()
        n_random = 1 + len(self._arrays) if not (words is None or scaling.windows) else size
        random = self._masks.random(self._number, scaling.attempt, n_random)
        yes = np.where(random == 0, np.uint64(1), random)
        if words is None:
            words = random
            words[0] = yes[0]
        else:
            words[:n_random] *= yes
        words += self._masks.mask(self._number, scaling.attempt, size)
        return words

    def _sizes(self) -> Words:
        """Return 1 for each level that some number reaches, and 0 for the others."""
        words = []
        for top, window in zip(self._tops, self._scaling.windows, strict=True):
            if window != ZERO:
                levels = window + STEP * np.arange(N_LEVELS)
                words.append(np.append(top != ZERO, top > levels))
        return np.concatenate(words).astype(np.uint64)

    def _integers(self) -> Words | None:
        """Return the numbers with their votes, 0 or 1, before them; None if they do not fit."""
        exponents = self._scaling.exponents
        if any(top > e for top, e in zip(self._tops, exponents, strict=True)):
            return None
        small = SMALL_WIDE if self._wide else SMALL
        large = [
            e != ZERO and top > e - small for top, e in zip(self._tops, exponents, strict=True)
        ]
        scaled = np.concatenate(
            [
                np.ldexp(array, 0 if e == ZERO else self._part_bits - e)
                for array, e in zip(self._arrays, exponents, strict=True)
            ]
        )
        votes, words = np.array([0, *large], dtype=np.int64), np.rint(scaled)
        parts = [votes, words.astype(np.int64)]
        if self._wide:
            rest = np.rint(np.ldexp(scaled - words, self._part_bits))
            parts.append(rest.astype(np.int64))
        return np.concatenate(parts).view(np.uint64)

    def _as_floats(self, words: Indices) -> Array:
        """Return totals as floats; what honest agents cannot have added up to is refused.

        ``words`` has a row of words, and in wide sums another one with the rests.
        """
        lengths = [array.size for array in self._arrays]
        shifts = [0 if e == ZERO else e - self._part_bits for e in self._scaling.exponents]
        limits = [0 if e == ZERO else 2**TOTAL_BITS for e in self._scaling.exponents]
        most = np.repeat(np.array(limits, dtype=np.int64), lengths)
        numbers = words[0].astype(np.float64)
        if self._wide:
            numbers += np.ldexp(words[1].astype(np.float64), -self._part_bits)
        with np.errstate(over="ignore"):
            floats = np.ldexp(numbers, np.repeat(shifts, lengths))
        if ((words > most) | (words < -most)).any() or not np.isfinite(floats).all():
            raise MessageError(
                f"the total of sum {self._number} is larger than its parts can be: {STRAYS}"
            )
        return floats


def _halves(words: Words) -> Array:
    """Return the upper and lower halves of words."""
    words = words.astype(np.uint64)  # before the first round there are none
    return np.stack([words >> np.uint64(32), words & np.uint64(2**32 - 1)]).astype(np.float64)


def _words_of(halves: NDArray[np.generic]) -> Words:
    high, low = halves.reshape(2, -1).astype(np.uint64)
    return (high << np.uint64(32)) | low


def most_rounds(n_sums: int) -> int:
    """Return the number of rounds to plan for so many sums; no more are begun."""
    return 3 * n_sums + 2 * MAX_ROUNDS
