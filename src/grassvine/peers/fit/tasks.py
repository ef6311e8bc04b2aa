"""Tasks of one member as a part of what all learn, and the model that it ends with."""

from dataclasses import dataclass

import numpy as np

from grassvine.data.ids import Ids
from grassvine.data.tasks import Tasks
from grassvine.estimators.multitask import CONSENSUS_SHARE
from grassvine.estimators.tasks import standardised
from grassvine.foundations.arrays import Array
from grassvine.gossip import Gossip
from grassvine.models import FeaturePart, PriorPart, TasksModel
from grassvine.models.tasks.parts import centred
from grassvine.peers.fit.learning import BAYES, Learning
from grassvine.peers.fit.methods import gossip_of
from grassvine.peers.fit.plausible import are_counts, are_fourths, require_plausible
from grassvine.peers.fit.support import fourth_powers, has_support, require_support
from grassvine.peers.fit.totals import Totals
from grassvine.problems import MultitaskProblem
from grassvine.problems.base import Evaluation
from grassvine.protocol.agent import State
from grassvine.sums import CoefficientPrior, HierarchicalProblem
from grassvine.sums.own import Data
from grassvine.sums.program import Iterate, Subprogram, all_reduce

COUNT, SUMS, SPREAD = "total.count", "total.sums", "total.spread"
FOURTHS = "total.fourths"
SQUARES, HELD_OUT = "total.squares", "total.held_out"
UNUSED = float(np.finfo(float).max)  # a scale by which a feature vanishes
CONSTANT = 1e-12  # a feature varies less than its mean times this by rounding alone


@dataclass(frozen=True, eq=False)
class MemberTasks:
    """Tasks of one member over the common features.

    Parameters
    ----------
    learning : Learning
    ids : Ids
        The ids of the tasks.
    tasks : Tasks
        The samples to learn from.
    held : Tasks
        Samples of the same tasks to measure on; small tasks have none.
    """

    learning: Learning
    ids: Ids
    tasks: Tasks
    held: Tasks

    @property
    def n_items(self) -> int:
        """The number of features."""
        return self.tasks.n_items

    @property
    def n_values(self) -> int:
        """The number of samples to learn from."""
        return self.tasks.n_values

    def evaluate(self, basis: Array) -> Evaluation:
        """Return the cost of a basis for features that are not standardised."""
        return MultitaskProblem(centred(self.tasks), self._alpha).evaluate(basis)

    def sums_before(self, number: int, iterate: Iterate) -> Subprogram[Totals]:
        """Sum what standardises the features."""
        samples = np.concatenate(self.tasks.features)
        n_tasks = sum(len(y) > 0 for y in self.tasks.targets)
        count, sums = yield from all_reduce(
            iterate,
            lambda _: (np.array([float(len(samples)), n_tasks]), samples.sum(axis=0)),
            wide=True,
        )
        yield from require_plausible(
            are_counts(count) and bool(count[1] <= count[0]),
            "the numbers of tasks and of samples do not fit each other",
        )
        require_support(float(count[1]), "tasks", self.learning.min_support)
        means = sums / max(float(count[0]), 1.0)
        (spread,) = yield from all_reduce(
            iterate, lambda _: (np.sum((samples - means) ** 2, axis=0),), wide=True
        )
        n_samples = float(count[0])
        yield from require_plausible(bool((spread >= 0.0).all()), "a variance is negative")
        totals = {COUNT: count, SUMS: sums, SPREAD: spread}
        if self.learning.min_support > 1:
            (fourths,) = yield from all_reduce(
                iterate, lambda _: (fourth_powers(samples - means, spread, n_samples),)
            )
            yield from require_plausible(are_fourths(fourths, n_samples), "variances do not fit")
            totals[FOURTHS] = fourths
        if not self.learning.method.gossips:
            return totals

        def own(_: Data) -> tuple[Array]:
            targets = self._fitted(totals).targets
            return (np.array([sum(float(y @ y) for y in targets)]),)

        (squares,) = yield from all_reduce(iterate, own)
        return {**totals, SQUARES: squares}

    def problem(self, totals: Totals) -> MultitaskProblem | HierarchicalProblem:
        """Return the regressions on standardised features."""
        if self.learning.method.name == BAYES:
            return HierarchicalProblem(standardised(self.tasks, *self._standards(totals)))
        return MultitaskProblem(self._fitted(totals), self._alpha)

    def gossip(self, totals: Totals, n_agents: int) -> Gossip:
        """Return gossip with a consensus weight on the scale of the targets."""
        return gossip_of(self.learning, n_agents, float(totals[SQUARES][0]), CONSENSUS_SHARE)

    def sums_after(
        self, number: int, totals: Totals, fitted: State, iterate: Iterate
    ) -> Subprogram[Totals]:
        """Sum squared error and number of the held-out samples."""
        if not self.learning.holdout:
            return {}
        held = self.held

        def own(_: Data) -> tuple[Array]:
            model = self.model({**totals, **fitted})
            assert model.private is not None
            wrong = [
                model.shared.coordinates(x) @ w + b - y
                for x, y, w, b, known in zip(
                    held.features,
                    held.targets,
                    model.private.weights,
                    model.private.intercepts,
                    model.private.counts > 0,
                    strict=True,
                )
                if known
            ]
            squares = sum(float(one @ one) for one in wrong)
            return (np.array([squares, float(sum(map(len, wrong)))]),)

        (sums,) = yield from all_reduce(iterate, own)
        yield from require_plausible(
            are_counts(sums[1:]) and bool(sums[0] >= 0.0), "the held-out error is not one"
        )
        return {HELD_OUT: sums}

    def model(self, state: State) -> TasksModel:
        """Return the model: the same features in all houses, this member's tasks."""
        means, scales = self._standards(state)
        names = tuple(map(str, self.learning.catalogue))
        shared: FeaturePart | PriorPart
        if self.learning.method.name == BAYES:
            prior = CoefficientPrior.from_arrays(state)
            shared = PriorPart(names, means, scales, prior, self.learning.rank)
        else:
            basis = np.asarray(state["basis"], dtype=np.float64)
            shared = FeaturePart(names, basis, means, scales, self._alpha, True)
        return TasksModel(shared, shared.tasks_from(self.ids, self.tasks))

    @property
    def _alpha(self) -> float:
        return self.learning.method.alpha or 0.0

    def _fitted(self, totals: Totals) -> Tasks:
        return centred(standardised(self.tasks, *self._standards(totals)))

    def _standards(self, totals: State) -> tuple[Array, Array]:
        """Return the means and scales that standardise all samples; a constant has scale 1."""
        count = max(float(totals[COUNT][0]), 1.0)
        means = np.asarray(totals[SUMS], dtype=np.float64) / count
        scales = np.sqrt(np.asarray(totals[SPREAD], dtype=np.float64) / count)
        scales = np.where(scales <= CONSTANT * np.abs(means), 1.0, scales)
        if FOURTHS in totals:
            fourths = np.asarray(totals[FOURTHS], dtype=np.float64)
            enough = has_support(fourths, count, self.learning.min_support)
            scales = np.where(enough, scales, UNUSED)
        return means, scales
