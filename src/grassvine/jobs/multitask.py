"""Jobs that fit related regressions and evaluate them on held-out samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from grassvine.data import Tasks, hold_out_samples
from grassvine.data.tables import TaskTable, read_table, tasks_from_frame
from grassvine.estimators.multitask import MultitaskRegressor
from grassvine.fits.options import Rho
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, Option
from grassvine.foundations.watch import Watch
from grassvine.jobs.base import EngineOptions, JobResult, run_report, stopwatch
from grassvine.models import PriorPart
from grassvine.models.intervals import normal_interval
from grassvine.protocol import Observer
from grassvine.report.run_pictures import run_tables


@dataclass(frozen=True, slots=True)
class MultitaskJob(EngineOptions):
    """Specification of a :class:`MultitaskRegressor` fit and its evaluation.

    Parameters
    ----------
    data : str
        Source of the samples for :func:`grassvine.data.tables.read_table`.
    target, task : str
        Names of the target and task columns; all others are features.
    holdout : float, default=0.0
        Fraction of each task's samples to hold out.
    """

    command: ClassVar[str] = "multitask"

    data: str
    target: str
    task: str
    rank: int | Literal["auto"] | None = None
    method: str = "bayes"
    agents: int | str = 1
    network: str = "ring"
    alpha: float = 1.0
    rho: Rho = "auto"
    max_iter: int = 200
    holdout: float = 0.0
    seed: int = 0
    separator: str | None = None
    skip_rows: int = 0
    encoding: str | None = None

    def read(self, watch: Watch | None = None) -> TaskTable:
        """Read the samples."""
        table = read_table(
            self.data,
            separator=self.separator,
            skip_rows=self.skip_rows,
            encoding=self.encoding,
            watch=watch,
        )
        return tasks_from_frame(table, target=self.target, task=self.task)

    def learn(self, data: TaskTable, observers: Sequence[Observer] = ()) -> JobResult:
        """Fit the training samples, and evaluate on the held-out ones."""
        import polars as pl

        train, test = hold_out_samples(data.tasks, self.holdout, seed=self.seed)
        if self.holdout and not test.n_values:
            raise DataError(
                Option("holdout", self.holdout),
                " holds out no samples; choose a larger fraction, or 0.",
            )
        estimator = MultitaskRegressor(
            self.rank,
            method=self.method,
            agents=self.agents,
            network=self.network,
            alpha=self.alpha,
            engine=self.make_engine(),
            rho=self.rho,
            max_iter=self.max_iter,
            random_state=self.seed,
        )
        estimator.set_observers(*observers)
        with stopwatch() as spent:
            samples, targets, tasks = _rows(train, data)
            frame = pl.DataFrame(samples, schema=list(data.features))
            estimator.fit(frame, targets, tasks=tasks)
        train_errors = _errors(estimator, train, data)
        test_errors = _errors(estimator, test, data) if test.n_values else (None, None)
        covered = _covered(estimator, test, data) if test.n_values else None
        report = {
            "n_tasks": data.tasks.n_tasks,
            "n_features": len(data.features),
            "n_samples": data.tasks.n_values,
            "n_held_out": test.n_values,
            "n_agents": estimator.network_.n_agents,
            "network": self.network,
            "rank": estimator.rank_,
            "method": self.method,
            "seed": self.seed,
            "train_rmse": train_errors[0],
            "train_r2": train_errors[1],
            "test_rmse": test_errors[0],
            "test_r2": test_errors[1],
            "test_coverage_90": covered,
            **run_report(estimator.run_, spent),
        }
        samples, targets, tasks = _rows(test if test.n_values else train, data)
        predicted = estimator.model_.predict(samples, tasks, "raise").targets
        tables = run_tables(
            estimator.validation_path_, targets, predicted, held_out=bool(test.n_values)
        )
        return JobResult(
            estimator.model_, estimator.run_, report, data.digest(), data.assumed, tables
        )


def _rows(tasks: Tasks, table: TaskTable) -> tuple[Array, Array, Any]:
    """Return samples, targets and the task id of each sample."""
    numbers = np.repeat(np.arange(tasks.n_tasks), [len(y) for y in tasks.targets])
    return np.concatenate(tasks.features), np.concatenate(tasks.targets), table.ids.at(numbers)


def _covered(estimator: MultitaskRegressor, tasks: Tasks, table: TaskTable) -> float | None:
    """Return the share of targets inside their 90 % interval, if the model has intervals."""
    if not isinstance(estimator.model_.shared, PriorPart):
        return None
    samples, targets, ids = _rows(tasks, table)
    found = estimator.model_.predict(samples, ids, "raise", deviations=True)
    assert found.deviations is not None
    lower, upper = normal_interval(found.targets, found.deviations, 0.9)
    return float(np.mean((lower <= targets) & (targets <= upper)))


def _errors(
    estimator: MultitaskRegressor, tasks: Tasks, table: TaskTable
) -> tuple[float, float | None]:
    """Return the RMSE and R², which is None for constant targets."""
    samples, targets, ids = _rows(tasks, table)
    residuals = estimator.model_.predict(samples, ids, "raise").targets - targets
    spread = float(np.sum((targets - targets.mean()) ** 2))
    rmse = float(np.sqrt(np.mean(residuals**2)))
    return rmse, 1.0 - float(residuals @ residuals) / spread if spread > 0.0 else None
