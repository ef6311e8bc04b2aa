"""Complete a table of ratings, and measure on ratings that were held out."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from grassvine.data import RatingTable, hold_out_ratings, read_ratings, table_hash
from grassvine.data.rating_input import Missing
from grassvine.data.rating_table import Duplicates
from grassvine.estimators.completion import GossipCompleter
from grassvine.estimators.formulations import Penalty
from grassvine.estimators.request import Outcome, stopwatch
from grassvine.foundations.errors import DataError


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """The options of :class:`GossipCompleter`, where the ratings are, and what to hold out.

    Parameters
    ----------
    data : str
        As :func:`grassvine.data.read_ratings` takes it.
    holdout : float
        The share of ratings to hold out, drawn over all of them from ``seed``; the order of the
        rows does not matter.
    """

    data: str
    rank: int | Literal["auto"] = 10
    method: str = "exact"
    agents: int | str = 1
    network: str = "ring"
    penalty: Penalty = "auto"
    rho: float | Literal["auto"] = "auto"
    updates: int = 400
    holdout: float = 0.0
    seed: int = 0
    engine: str = "local"
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    separator: str | None = None
    duplicates: Duplicates = "error"
    missing: Missing = "error"

    def read(self) -> RatingTable:
        """Read the ratings."""
        return read_ratings(
            self.data,
            separator=self.separator,
            user=self.user,
            item=self.item,
            rating=self.rating,
            agent=self.agents if isinstance(self.agents, str) else None,
            duplicates=self.duplicates,
            missing=self.missing,
        )

    def hash(self, data: RatingTable) -> str:
        """Return the digest of the ratings."""
        return table_hash(data)

    def learn(self, data: RatingTable) -> Outcome:
        """Learn from what is not held out, and measure on what is."""
        train, test = held_out(data, self.holdout, self.seed)
        estimator = GossipCompleter(
            self.rank,
            method=self.method,
            agents=self.agents,
            network=self.network,
            penalty=self.penalty,
            rho=self.rho,
            updates=self.updates,
            engine=self.engine,
            random_state=self.seed,
        )
        with stopwatch() as spent:
            estimator.fit(train)
        learned = estimator.errors(train)
        measured: dict[str, Any] = {"rmse": None, "mae": None, "known": None}
        if test is not None:
            measured = estimator.errors(test)
        report = {
            "n_users": len(data.users),
            "n_items": len(data.items),
            "n_ratings": data.ratings.n_values,
            "n_held_out": 0 if test is None else test.ratings.n_values,
            "n_agents": estimator.n_agents_,
            "network": self.network,
            "rank": estimator.rank_,
            "method": self.method,
            "seed": self.seed,
            "train_rmse": learned["rmse"],
            "train_mae": learned["mae"],
            "test_rmse": measured["rmse"],
            "test_mae": measured["mae"],
            "test_known": measured["known"],
            "agreement_degrees": estimator.agreement_,
            "messages": estimator.messages_,
            "bytes": estimator.bytes_,
            **spent,
            "stopped_because": estimator.stopped_because_,
        }
        return Outcome(estimator, report, table_hash(data), data.assumed)


def held_out(table: RatingTable, share: float, seed: int) -> tuple[RatingTable, RatingTable | None]:
    """Divide a table into what is learned from and, for a share above 0, what is held out."""
    train, test = hold_out_ratings(table.ratings, share, seed=seed)
    if not test.n_values:
        if share:
            raise DataError(
                f"a share of {share:g} of {train.n_values} ratings is none; hold out a greater "
                "share, or 0."
            )
        return table, None
    if not train.n_values:
        raise DataError(f"a share of {share:g} leaves no rating to learn from; hold out less.")
    return replace(table, ratings=train), replace(table, ratings=test)
