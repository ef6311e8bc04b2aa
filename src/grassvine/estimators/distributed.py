"""Estimators whose ratings lie with several agents: who holds what, and the run of a fit."""

from typing import Any, Self

from grassvine.data import Ids
from grassvine.data.stored import RatingDataset
from grassvine.data.tables import RatingTable
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import set_run_attributes, warn_not_converged
from grassvine.estimators.options import as_engine, as_network, as_seed
from grassvine.estimators.rating_models import Task
from grassvine.estimators.rating_tables import parts_of
from grassvine.estimators.ratings_summary import RatingsSummary, from_dataset, from_table
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.models import ItemPart, RatingsModel
from grassvine.networks import Network
from grassvine.runs import Plan, run


class DistributedCompleter(CallbackSupport, RatingsEstimator):
    """An estimator whose ratings lie with several agents."""

    agents: int | str
    network: str | Network
    engine: str | Engine
    random_state: Any
    warm_start: bool

    def _task(self, summary: RatingsSummary) -> Task:
        raise NotImplementedError

    @fit_with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings; see :meth:`RatingsEstimator.fit`.

        ``X`` may also be a :class:`RatingDataset`: each agent reads its own part where it lives.
        What is learned is what all share; the model has no users until ``partial_fit`` or
        ``fold_in`` takes some in.
        """
        if not isinstance(X, RatingDataset):
            return super().fit(X, y)
        if y is not None:
            raise DataError("a dataset has its ratings in its files; leave y out.")
        shared = self._learn_together(from_dataset(X))
        self._keep(RatingsModel(shared), X.assumed, X.digest(), X.n_users, X.n_ratings)
        self.backend_ = "polars"
        return self

    def _agent_column(self) -> str | None:
        return self.agents if isinstance(self.agents, str) else None

    def _learn(self, table: RatingTable) -> ItemPart:
        return self._learn_together(from_table(table, parts_of(table, self.agents)))

    def _learn_together(self, summary: RatingsSummary) -> ItemPart:
        task = self._task(summary)
        plan = Plan(
            n_items=len(summary.items),
            rank=task.rank,
            network=as_network(self.network, summary.n_agents),
            method=task.method,
            seed=as_seed(self.random_state),
            first=self._earlier(summary.items, task.rank),
        )
        engine = as_engine(self.engine)
        result = run(plan, task.problems, engine=engine, observers=self._slot_observers())
        self._slots_done()
        if getattr(task.method, "works_alone", False):  # gossip has no end of its own
            warn_not_converged(result)
        set_run_attributes(self, result)
        self.n_agents_ = summary.n_agents
        return task.read(result)

    def _earlier(self, items: Ids, rank: int) -> Array | None:
        """Return the subspace of an earlier fit, where a warm start is wished and possible."""
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        before: Array = self.subspace_
        same = self.model_.shared.items.series.equals(items.series)
        if before.shape != (len(items), rank) or not same:
            raise DataError(
                "a warm start needs the items and the rank of the earlier fit; "
                "set warm_start=False, or give ratings of the same items."
            )
        return before


def rank_of_items(rank: object, n_items: int) -> int:
    """Return a rank between 1 and the number of items."""
    why = f"the table has {n_items} items"
    return whole_number("rank", rank, least=1, most=n_items, why=why)
