"""Samples of one member as a part of what all learn, and the components that it ends with."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import svd_flip

from grassvine.estimators.pca import CONSENSUS_SHARE
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.gossip import Gossip
from grassvine.models import SubspaceModel
from grassvine.peers.fit.averages import common_basis
from grassvine.peers.fit.learning import Learning
from grassvine.peers.fit.methods import gossip_of
from grassvine.peers.fit.plausible import are_counts, are_fourths, require_plausible, within
from grassvine.peers.fit.support import fourth_powers, has_support, require_support
from grassvine.peers.fit.totals import Totals
from grassvine.problems import PCAProblem
from grassvine.problems.base import Evaluation
from grassvine.protocol.agent import State
from grassvine.sums.own import Data
from grassvine.sums.program import Iterate, Subprogram, all_reduce

COUNT, SUMS = "total.count", "total.sums"
SPREAD, FOURTHS = "total.spread", "total.fourths"
SQUARES, CAPTURED = "total.squares", "total.captured"
BASIS = "total.basis"


@dataclass(frozen=True, eq=False)
class MemberSamples:
    """Samples of one member over the common features.

    Parameters
    ----------
    learning : Learning
    samples : array of shape (n_samples, n_features)
    """

    learning: Learning
    samples: Array

    @property
    def n_items(self) -> int:
        """The number of features."""
        return self.samples.shape[1]

    @property
    def n_values(self) -> int:
        """The number of entries."""
        return self.samples.size

    def evaluate(self, basis: Array) -> Evaluation:
        """Return the cost of a basis for samples that are not centred."""
        return PCAProblem(self.samples).evaluate(basis)

    def sums_before(self, number: int, iterate: Iterate) -> Subprogram[Totals]:
        """Sum what centres the samples."""
        count, sums = yield from all_reduce(
            iterate, lambda _: (np.array([float(len(self.samples))]), self.samples.sum(axis=0))
        )
        totals = {COUNT: count, SUMS: sums}
        yield from require_plausible(are_counts(count), "the number of samples is not one")
        require_support(float(count[0]), "samples", self.learning.min_support)
        if self.learning.min_support > 1:
            n_samples, centred = float(count[0]), self.samples - _mean(totals)
            (spread,) = yield from all_reduce(
                iterate, lambda _: (np.sum(centred**2, axis=0),), wide=True
            )
            (fourths,) = yield from all_reduce(
                iterate, lambda _: (fourth_powers(centred, spread, n_samples),)
            )
            yield from require_plausible(
                bool((spread >= 0.0).all()) and are_fourths(fourths, n_samples),
                "variances do not fit",
            )
            totals |= {SPREAD: spread, FOURTHS: fourths}
        if not self.learning.method.gossips:
            return totals
        (squares,) = yield from all_reduce(
            iterate, lambda _: (np.array([self.problem(totals).trace]),)
        )
        return {**totals, SQUARES: squares}

    def problem(self, totals: Totals) -> PCAProblem:
        """Return the components of samples centred by the mean of all."""
        n_samples, rank = int(totals[COUNT][0]), self.learning.rank
        if n_samples < max(rank, 2):
            raise PlanError(
                f"all members together have {n_samples} samples, too few for {rank} components; "
                "draft a plan with a smaller rank, or with more members."
            )
        centred = self.samples - _mean(totals)
        if FOURTHS in totals:
            count = float(totals[COUNT][0])
            enough = has_support(totals[FOURTHS], count, self.learning.min_support)
            centred = np.where(enough, centred, 0.0)
        return PCAProblem(centred)

    def gossip(self, totals: Totals, n_agents: int) -> Gossip:
        """Return gossip with a consensus weight on the scale of the samples."""
        return gossip_of(self.learning, n_agents, float(totals[SQUARES][0]), CONSENSUS_SHARE)

    def sums_after(
        self, number: int, totals: Totals, fitted: State, iterate: Iterate
    ) -> Subprogram[Totals]:
        """Take one basis for all, and sum the Gram matrix of the coordinates, and the squares."""
        found = np.asarray(fitted["basis"], dtype=np.float64)
        basis = yield from common_basis(found, number, iterate)

        def own(_: Data) -> tuple[Array, Array]:
            problem = self.problem(totals)
            coordinates = problem.samples @ basis
            return coordinates.T @ coordinates, np.array([problem.trace])

        known = float(np.sum(totals[SPREAD])) if SPREAD in totals else 0.0
        captured, squares = yield from all_reduce(iterate, own, bound=known)
        explained = np.linalg.eigvalsh(captured)
        whole = float(squares[0])
        yield from require_plausible(
            within(float(explained[0]), 0.0, whole) and within(float(explained.sum()), 0.0, whole),
            "the components explain less than nothing, or more than all",
        )
        return {BASIS: basis, CAPTURED: captured, SQUARES: squares}

    def model(self, state: State) -> SubspaceModel:
        """Return the components, which are the same in all houses."""
        basis = np.asarray(state[BASIS], dtype=np.float64)
        captured, rotation = np.linalg.eigh(np.asarray(state[CAPTURED], dtype=np.float64))
        # Signs as in scikit-learn.
        _, axes = svd_flip(None, (basis @ rotation[:, ::-1]).T, u_based_decision=False)
        count = max(float(state[COUNT][0]) - 1.0, 1.0)
        return SubspaceModel(
            tuple(map(str, self.learning.catalogue)),
            _mean(state),
            np.ascontiguousarray(axes.T),
            np.maximum(captured[::-1], 0.0) / count,
            float(state[SQUARES][0]) / count,
        )


def _mean(totals: State) -> Array:
    return np.asarray(totals[SUMS], dtype=np.float64) / max(float(totals[COUNT][0]), 1.0)
