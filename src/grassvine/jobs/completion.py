"""Jobs that fit a model to ratings and evaluate it on held-out ratings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from grassvine.data.stored import RatingDataset
from grassvine.data.tables import RatingTable
from grassvine.data.tables.rating_input import Missing
from grassvine.data.tables.rating_table import Duplicates, SharedUsers
from grassvine.datasets import read_ratings
from grassvine.fits.options import Rho
from grassvine.fits.rating_formulations import Regularization, rating_formulation
from grassvine.fits.ratings import fit_ratings
from grassvine.foundations.errors import Option, PlanError
from grassvine.foundations.watch import Watch
from grassvine.jobs.base import EngineOptions, JobResult, run_report, stopwatch
from grassvine.models.ratings.measures import measure_ratings
from grassvine.protocol import Observer
from grassvine.report.run_pictures import run_tables


@dataclass(frozen=True, slots=True)
class CompletionJob(EngineOptions):
    """Specification of a fit to ratings and its evaluation.

    It has the parameters of :class:`MatrixCompleter`.

    Parameters
    ----------
    data : str
        Source of the ratings for :func:`grassvine.datasets.read_ratings`.
    holdout : float, default=0.0
        Fraction of all ratings to hold out, drawn from ``seed``; the order of the rows does not
        matter.
    stored : bool, default=False
        Whether every agent reads its own part of a Parquet dataset and no process reads all of it.
    """

    command: ClassVar[str] = "complete"

    data: str
    rank: int | Literal["auto"] | None = None
    method: str = "bayes"
    agents: int | str = 1
    network: str = "ring"
    regularization: Regularization = "auto"
    rho: Rho = "auto"
    max_iter: int = 400
    learn_choices: bool = True
    holdout: float = 0.0
    seed: int = 0
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    separator: str | None = None
    skip_rows: int = 0
    encoding: str | None = None
    duplicates: Duplicates = "error"
    missing: Missing = "error"
    shared_users: SharedUsers = "separate"
    stored: bool = False

    def read(self, watch: Watch | None = None) -> RatingTable | RatingDataset:
        """Read the ratings; with ``stored``, only their statistics."""
        if self.stored:
            return self._dataset(watch)
        return read_ratings(
            self.data,
            separator=self.separator,
            skip_rows=self.skip_rows,
            encoding=self.encoding,
            user=self.user,
            item=self.item,
            rating=self.rating,
            agent=self.agents if isinstance(self.agents, str) else None,
            duplicates=self.duplicates,
            missing=self.missing,
            shared_users=self.shared_users,
            watch=watch,
        )

    def learn(
        self, data: RatingTable | RatingDataset, observers: Sequence[Observer] = ()
    ) -> JobResult:
        """Fit the training ratings and evaluate on the held-out ones; with ``stored``, only fit."""
        train: RatingTable | RatingDataset = data
        test: RatingTable | None = None
        if isinstance(data, RatingTable):
            train, test = data.hold_out(self.holdout, self.seed)
        parts = train.split(self.agents)
        with stopwatch() as spent:
            engine = self.make_engine()
            fitted = fit_ratings(
                train,
                parts,
                rating_formulation(self, train, len(parts)),
                network=self.network,
                seed=self.seed,
                engine=engine,
                observers=observers,
            )
        model, run = fitted.model, fitted.run
        measured = measure_ratings(model, train) if isinstance(train, RatingTable) else None
        held_out = None if test is None else measure_ratings(model, test)
        n_held_out = 0 if test is None else test.n_ratings
        report = {
            "n_users": train.n_users,
            "n_items": len(train.items),
            "n_ratings": data.n_ratings,
            "n_held_out": n_held_out,
            "n_agents": len(parts),
            "network": self.network,
            "rank": model.shared.rank,
            "method": self.method,
            "seed": self.seed,
            "train_rmse": measured and measured.rmse,
            "train_mae": measured and measured.mae,
            "test_rmse": held_out and held_out.rmse,
            "test_mae": held_out and held_out.mae,
            "test_known": held_out and held_out.known,
            "test_coverage": held_out and held_out.coverage,
            **model.shared.solver.facts(),
            **run_report(run, spent),
        }
        shown = held_out or measured
        tables = shown and run_tables(
            run.validation_path, shown.truth, shown.predicted, held_out=held_out is not None
        )
        return JobResult(model, run, report, data.digest(), data.assumed, tables or {})

    def _dataset(self, watch: Watch | None) -> RatingDataset:
        """Return the dataset whose parts the agents will read."""
        if self.holdout:
            raise PlanError(
                "ratings that the agents read themselves cannot be held out; omit ",
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
                " with the column that names each rating's owner.",
            )
        return RatingDataset.by_column(
            self.data,
            self.agents,
            user=self.user,
            item=self.item,
            rating=self.rating,
            duplicates=self.duplicates,
            missing=self.missing,
            shared_users=self.shared_users,
            watch=watch,
        )
