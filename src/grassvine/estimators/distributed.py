"""Estimators whose ratings lie with several agents: who holds what, and the run of a fit."""

from typing import Any, Self

from grassvine.data import Ids
from grassvine.data.stored import RatingDataset
from grassvine.data.tables import table_hash
from grassvine.engines import Engine
from grassvine.estimators.callbacks import CallbackSupport, fit_with_callbacks
from grassvine.estimators.fitted import set_run_attributes, warn_not_converged
from grassvine.estimators.options import as_engine, as_network, as_seed
from grassvine.estimators.rating_models import Task
from grassvine.estimators.rating_tables import as_table, backend_of, parts_of
from grassvine.estimators.ratings_summary import RatingsSummary, from_dataset, from_table
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.models import RatingsModel
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
        """Learn from ratings.

        Parameters
        ----------
        X : data frame, SciPy matrix, array, list of data frames, RatingTable or RatingDataset
            A frame (pandas, polars, pyarrow) with one row per rating. Or a matrix with one row per
            user and one column per item; NaN is unknown in a dense one. Or, with ``y``, one pair of
            user and item per row. A list has one frame per agent, whose users it owns. Each agent
            reads its own part of a :class:`RatingDataset`; the model then has no users until
            ``partial_fit`` or ``fold_in`` takes some in.
        y : array-like, optional
            The ratings, where ``X`` holds only users and items.
        """
        stored = isinstance(X, RatingDataset)
        if stored and y is not None:
            raise DataError("a dataset has its ratings in its files; leave y out.")
        column = self.agents if isinstance(self.agents, str) else None
        table = X if stored else as_table(X, y, self._columns(), self._rules(), column)
        ratings = from_dataset(X) if stored else from_table(table, parts_of(table, self.agents))
        task = self._task(ratings)
        plan = Plan(
            n_items=len(ratings.items),
            rank=task.rank,
            network=as_network(self.network, ratings.n_agents),
            method=task.method,
            seed=as_seed(self.random_state),
            first=self._earlier(ratings.items, task.rank),
        )
        engine = as_engine(self.engine)
        result = run(plan, task.problems, engine=engine, observers=self._slot_observers())
        self._slots_done()
        if getattr(task.method, "works_alone", False):  # gossip has no end of its own
            warn_not_converged(result)
        shared = task.read(result)
        users = None if stored else shared.users_from(table.users, table.ratings)
        self._keep(RatingsModel(shared, users), table, X.digest() if stored else table_hash(table))
        set_run_attributes(self, result)
        self.n_agents_ = ratings.n_agents
        self.backend_ = "polars" if stored else backend_of(X)
        return self

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
