"""Estimators whose ratings lie with several agents: who holds what, and the run of a fit."""

from typing import Any, Self

from grassvine.data import RatingTable
from grassvine.engines import Engine, run
from grassvine.estimators.callbacks import Watched, watched_fit
from grassvine.estimators.formulations import Task
from grassvine.estimators.learned import keep_run, warn_unsettled
from grassvine.estimators.options import as_engine, as_network, as_seed
from grassvine.estimators.rating_tables import parts_of
from grassvine.estimators.recommender import RatingsEstimator
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.gossip import Plan
from grassvine.models import ItemPart
from grassvine.network import Network


class Together(Watched, RatingsEstimator):
    """An estimator whose ratings lie with several agents."""

    agents: int | str
    network: str | Network
    engine: str | Engine
    random_state: Any
    warm_start: bool

    def _task(self, parts: Any, n_agents: int) -> Task:
        raise NotImplementedError

    @watched_fit
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings; see :meth:`RatingsEstimator.fit`."""
        return super().fit(X, y)

    def _agent_column(self) -> str | None:
        return self.agents if isinstance(self.agents, str) else None

    def _learn(self, table: RatingTable) -> ItemPart:
        parts = parts_of(table, self.agents)
        task = self._task(parts, len(parts))
        plan = Plan(
            n_items=len(table.items),
            rank=task.rank,
            network=as_network(self.network, len(parts)),
            method=task.method,
            seed=as_seed(self.random_state),
            first=self._earlier(table, task.rank),
        )
        engine = as_engine(self.engine)
        result = run(plan, task.problems, engine=engine, observers=self._slot_observers())
        self._slots_done()
        if getattr(task.method, "works_alone", False):  # gossip has no end of its own
            warn_unsettled(result)
        keep_run(self, result)
        self.n_agents_ = len(parts)
        return task.read(result, table)

    def _earlier(self, table: RatingTable, rank: int) -> Array | None:
        """Return the subspace of an earlier fit, where a warm start is wished and possible."""
        if not self.warm_start or not hasattr(self, "model_"):
            return None
        before: Array = self.subspace_
        if before.shape != (len(table.items), rank) or not self.model_.shared.items.series.equals(
            table.items.series
        ):
            raise DataError(
                "a warm start needs the items and the rank of the earlier fit; "
                "set warm_start=False, or give ratings of the same items."
            )
        return before


def rank_of_items(rank: object, n_items: int) -> int:
    """Return a rank between 1 and the number of items."""
    why = f"the table has {n_items} items"
    return whole_number("rank", rank, least=1, most=n_items, why=why)
