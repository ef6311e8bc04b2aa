"""Jobs that compute the principal components of samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from grassvine.data.tables import read_table
from grassvine.data.tables.sample_table import SampleTable, samples_from_frame
from grassvine.estimators.pca import EXACT, DecentralizedPCA
from grassvine.fits.options import Rho
from grassvine.foundations.watch import Watch
from grassvine.jobs.base import EngineOptions, JobResult, run_report, stopwatch
from grassvine.protocol import Observer


@dataclass(frozen=True, slots=True)
class PCAJob(EngineOptions):
    """Specification of a :class:`DecentralizedPCA` fit.

    Parameters
    ----------
    data : str
        Source of the samples for :func:`grassvine.data.tables.read_table`; columns that are not
        numeric are ignored. Values may be missing if the method is exact.
    components : int or float
        Number of components, or the fraction of the variance to explain.
    agents : int or str
        Number of agents, or the column that names the owner of each sample.
    """

    command: ClassVar[str] = "pca"

    data: str
    components: int | float = 2
    method: str = "exact"
    agents: int | str = 1
    network: str = "ring"
    rho: Rho = "auto"
    max_iter: int = 500
    seed: int = 0
    separator: str | None = None
    skip_rows: int = 0
    encoding: str | None = None

    def read(self, watch: Watch | None = None) -> SampleTable:
        """Read the samples."""
        owner = self.agents if isinstance(self.agents, str) else None
        table = read_table(
            self.data,
            separator=self.separator,
            skip_rows=self.skip_rows,
            encoding=self.encoding,
            watch=watch,
        )
        return samples_from_frame(table, owner=owner, allow_missing=self.method == EXACT)

    def learn(self, data: SampleTable, observers: Sequence[Observer] = ()) -> JobResult:
        """Fit the components."""
        import polars as pl

        estimator = DecentralizedPCA(
            self.components,
            method=self.method,
            agents=self.agents if data.owners is None else 1,
            network=self.network,
            engine=self.make_engine(),
            rho=self.rho,
            max_iter=self.max_iter,
            random_state=self.seed,
        )
        estimator.set_observers(*observers)
        with stopwatch() as spent:
            estimator.fit(
                pl.DataFrame(data.samples, schema=list(data.features)), owners=data.owners
            )
        report = {
            "n_samples": len(data.samples),
            "n_features": len(data.features),
            "n_missing": int(np.count_nonzero(np.isnan(data.samples))),
            "n_agents": estimator.network_.n_agents,
            "network": self.network,
            "components": estimator.n_components_,
            "method": self.method,
            "seed": self.seed,
            "explained_variance": estimator.explained_variance_.tolist(),
            "explained_variance_ratio": estimator.explained_variance_ratio_.tolist(),
            **run_report(estimator.run_, spent),
        }
        return JobResult(estimator.model_, estimator.run_, report, data.digest(), data.assumed)
