"""Jobs that fit a model to events and evaluate its recommendations on held-out events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from grassvine.data.event_splits import HowToSplit
from grassvine.data.stored import RatingDataset
from grassvine.data.tables.event_input import EventColumns
from grassvine.data.tables.event_table import EventSplit, EventTable
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import SharedUsers
from grassvine.datasets import read_events
from grassvine.fits.events import fit_events, identified_users, rank_and_method, with_events
from grassvine.foundations.errors import Option, PlanError
from grassvine.foundations.watch import Watch
from grassvine.jobs.base import EngineOptions, JobResult, run_report, stopwatch
from grassvine.jobs.ranking_methods import RankingSetting, popularity
from grassvine.metrics import found, ndcg
from grassvine.models import RankingModel
from grassvine.models.ranking.measures import measure_ranking
from grassvine.protocol import Observer

PLACES = (10, 100)  # of the measures in the report


@dataclass(frozen=True, slots=True)
class ImplicitJob(EngineOptions):
    """Specification of a fit to events and its evaluation.

    It has the parameters of :class:`ImplicitRecommender`.

    Parameters
    ----------
    data : str
        Source of the events for :func:`grassvine.datasets.read_events`.
    holdout : float, default=0.0
        Fraction of the events (with ``split="users"``, of the users) to hold out.
    split : {"random", "users", "last", "time"}, default="random"
        How they are chosen: :mod:`grassvine.data.event_splits`.
    stored : bool, default=False
        Whether every agent reads its own part of a Parquet dataset and no process reads all of it.
    """

    command: ClassVar[str] = "implicit"

    data: str
    rank: int | Literal["auto"] = "auto"
    method: str = "factors"
    agents: int | str = 1
    network: str = "ring"
    unobserved: float | Literal["auto"] = "auto"
    regularization: float | Literal["auto"] = "auto"
    holdout: float = 0.0
    split: HowToSplit = "random"
    seed: int = 0
    user: str | None = None
    item: str | None = None
    count: str | None = None
    time: str | None = None
    separator: str | None = None
    skip_rows: int = 0
    encoding: str | None = None
    missing: Missing = "error"
    shared_users: SharedUsers = "separate"
    stored: bool = False

    def read(self, watch: Watch | None = None) -> EventTable | RatingDataset:
        """Read the events; with ``stored``, only their statistics."""
        if self.stored:
            return self._dataset(watch)
        return read_events(
            self.data,
            columns=EventColumns(self.user, self.item, self.count, self.time),
            agent=self.agents if isinstance(self.agents, str) else None,
            missing=self.missing,
            shared_users=self.shared_users,
            times=bool(self.holdout) and self.split in ("last", "time"),
            separator=self.separator,
            skip_rows=self.skip_rows,
            encoding=self.encoding,
            watch=watch,
        )

    def learn(
        self, data: EventTable | RatingDataset, observers: Sequence[Observer] = ()
    ) -> JobResult:
        """Fit the training events and evaluate on the held-out ones; with ``stored``, only fit."""
        split: EventSplit | None = None
        if self.holdout and isinstance(data, EventTable):
            split = data.split_for_test(self.split, self.holdout, self.seed)
        train = data if split is None else split.train
        parts = train.split(self.agents)
        with stopwatch() as spent:
            engine = self.make_engine()
            rank, method = rank_and_method(self, train)
            fitted = fit_events(
                train,
                parts,
                rank,
                method,
                network=self.network,
                seed=self.seed,
                engine=engine,
                observers=observers,
            )
        model = fitted.model
        if split is not None and split.known is not None:
            model = with_events(model, split.known)
        measured = {} if split is None else _measured(model, split)
        report = {
            "n_users": train.n_users,
            "n_items": len(train.items),
            "n_events": data.n_ratings,
            "n_held_out": 0 if split is None else split.test.n_ratings,
            "n_agents": len(parts),
            "network": self.network,
            "rank": model.shared.scorer.rank,
            "method": self.method,
            "seed": self.seed,
            **{name: measured.get(name) for name in _NAMES},
            **run_report(fitted.run, spent),
        }
        return JobResult(model, fitted.run, report, data.digest(), data.assumed)

    def _dataset(self, watch: Watch | None) -> RatingDataset:
        """Return the dataset whose parts the agents will read."""
        if self.holdout:
            raise PlanError(
                "events that the agents read themselves cannot be held out; omit ",
                Option("holdout"),
                " or ",
                Option("stored"),
                ".",
            )
        if not isinstance(self.agents, str):
            raise PlanError(
                Option("agents", self.agents),
                " does not define which part each agent reads; use ",
                Option("agents"),
                " with the column that names each event's owner.",
            )
        return RatingDataset.of_events(
            self.data,
            self.agents,
            user=self.user,
            item=self.item,
            count=self.count,
            missing=self.missing,
            shared_users=self.shared_users,
            watch=watch,
        )


_NAMES = (
    *(f"test_{name}_{k}" for k in PLACES for name in ("ndcg", "recall")),
    *(f"popularity_ndcg_{k}" for k in PLACES),
    f"test_coverage_{PLACES[0]}",
    "test_users",
)


def _measured(model: RankingModel, split: EventSplit) -> dict[str, Any]:
    """Return measures of the recommendations to test users, and the nDCG of popularity."""
    test, users = split.test, identified_users(model, split.test)
    at = {k: measure_ranking(model, users, test.items, test.ratings, k) for k in PLACES}
    table, given = split.test.ratings, split.given.ratings
    tested = np.flatnonzero((np.diff(table.starts) > 0) & (np.diff(given.starts) > 0))
    relevant = table.choose_users(tested)
    lists = popularity(split, tested, PLACES[-1], RankingSetting())
    hits, n_relevant = found(lists, relevant), np.diff(relevant.starts)
    return {
        **{
            f"test_{name}_{k}": one.mean(name)
            for k, one in at.items()
            for name in ("ndcg", "recall")
        },
        **{f"popularity_ndcg_{k}": float(ndcg(hits, n_relevant, k).mean()) for k in PLACES},
        f"test_coverage_{PLACES[0]}": at[PLACES[0]].coverage,
        "test_users": at[PLACES[0]].n_users,
    }
