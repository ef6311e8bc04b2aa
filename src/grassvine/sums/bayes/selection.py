"""What is learned on ratings that every agent holds out: the rank, and the width of intervals.

Only sums are sent. Candidates are fitted to the rest, in ascending order of their ranks. One must
beat the best so far by more than one standard error of the mean difference of squared errors. The
model is then fitted to all ratings at the rank of the best.

The posterior says how far a prediction may be off. Where ratings are few, that depends on the
prior: then the share of the held-out ratings inside the 90 % interval is counted at a range of
widths. If it differs from 90 % by more than two standard errors, all intervals are scaled
(split-conformal prediction with errors relative to the posterior standard deviation).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array
from grassvine.sums.bayes.fit import BayesianIterate, Table, fit, set_up
from grassvine.sums.bayes.model import BayesianModel
from grassvine.sums.bayes.problem import BayesianCompletionProblem
from grassvine.sums.own import Data, Own
from grassvine.sums.program import Iterate, Subprogram, agree, all_reduce, decide
from grassvine.sums.progress import CandidateLog

N_RANKS_NO_CHANGE = 2  # candidates without improvement, after which the search ends
# The level at which intervals are calibrated, its normal quantile, and the scales that are counted.
LEVEL, QUANTILE = 0.9, 1.6448536269514722
SCALES = np.exp(np.linspace(math.log(0.25), math.log(8.0), 300))
STANDARD_ERRORS = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A fitted rank, and its row in the table of candidates."""

    iterate: BayesianIterate
    row: int

    @property
    def model(self) -> BayesianModel:
        """The fitted model."""
        return self.iterate.model


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Each agent's ratings without those that it holds out, and these."""

    rest: Own[BayesianCompletionProblem]
    held: Own[Ratings]
    table: Table

    def fit(self, start: Array, rank: int, n_iter: int, log: CandidateLog) -> Subprogram[Candidate]:
        """Fit a rank to the rest and add up the held-out error."""
        iterate = yield from fit(self.rest, self.table, start[:, :rank], n_iter)

        def own(data: Data) -> tuple[float, float]:
            residuals = self._residuals(data, iterate.model)
            return float(residuals @ residuals), float(len(residuals))

        error, count = yield from all_reduce(iterate, own)
        rmse = math.sqrt(float(error) / max(float(count), 1.0))
        return Candidate(iterate, log.record(rank=rank, rmse=rmse))

    def is_better(self, candidate: Candidate, best: Candidate) -> Subprogram[bool]:
        """Decide whether a candidate beats another by more than one standard error."""

        def own(data: Data) -> tuple[float, float, float]:
            errors = [self._residuals(data, one.model) ** 2 for one in (candidate, best)]
            gains = errors[1] - errors[0]
            return float(gains.sum()), float(gains @ gains), float(len(gains))

        total, squares, count = yield from all_reduce(candidate.iterate, own)
        n_held = max(float(count), 1.0)
        mean = float(total) / n_held
        variance = max(float(squares) / n_held - mean * mean, 0.0)
        return (yield from decide(mean > math.sqrt(variance / n_held)))

    def interval_scale(self, candidate: Candidate) -> Subprogram[float]:
        """Return by how much intervals must be wider to contain the held-out ratings."""

        def own(data: Data) -> tuple[Array, float]:
            held, model = self._solvable(data), candidate.model
            variances = data[self.rest].variances(model, held.users_of_values(), held.items)
            ratios = np.abs(self._residuals(data, model)) / (QUANTILE * np.sqrt(variances))
            within = np.searchsorted(np.sort(ratios), SCALES, side="right")
            return within.astype(np.float64), float(len(ratios))

        within, count = yield from all_reduce(candidate.iterate, own)
        return (yield from agree(scale_of(within, float(count))))

    def _solvable(self, data: Data) -> Ratings:
        """Return an agent's held-out ratings of users with others."""
        held, solved = data[self.held], np.diff(data[self.rest].ratings.starts) > 0
        return held.take_values(solved[held.users_of_values()])

    def _residuals(self, data: Data, model: BayesianModel) -> Array:
        held = self._solvable(data)
        return data[self.rest].predict(model, held) - held.values


def held_out(
    problem: Own[BayesianCompletionProblem], share: float, seed: int, iterate: Iterate
) -> Subprogram[HeldOut]:
    """Hold out a share of each agent's ratings, and add up what is known of the rest."""
    both = Own(lambda data: data[problem].hold_out(share, seed))
    rest, held = Own(lambda data: data[both][0]), Own(lambda data: data[both][1])
    table = yield from set_up(rest, seed, iterate)
    return HeldOut(rest, held, table)


def choose(
    data: HeldOut, start: Array, ranks: Sequence[int], n_iter: int, log: CandidateLog
) -> Subprogram[Candidate]:
    """Return the best of several ranks and the biases alone."""
    best = yield from data.fit(start, 0, n_iter, log)
    n_no_change = 0
    for rank in sorted(set(ranks) - {0}):
        candidate = yield from data.fit(start, rank, n_iter, log)
        if (yield from data.is_better(candidate, best)):
            best, n_no_change = candidate, 0
        else:
            n_no_change += 1
        if n_no_change == N_RANKS_NO_CHANGE:
            break
    log.chosen = best.row
    return best


def scale_of(within: Array, count: float) -> float:
    """Return the scale at which the share of held-out ratings inside an interval is ``LEVEL``.

    It is 1 if the share at scale 1 does not differ significantly.

    Parameters
    ----------
    within : array
        How many are inside at each of ``SCALES``.
    count : float
        The number of held-out ratings.
    """
    if not count:
        return 1.0
    found = float(np.interp(1.0, SCALES, within)) / count
    if abs(found - LEVEL) <= STANDARD_ERRORS * math.sqrt(LEVEL * (1.0 - LEVEL) / count):
        return 1.0
    enough = np.flatnonzero(within >= min(LEVEL * (count + 1.0), count))
    return float(SCALES[enough[0] if len(enough) else -1])
