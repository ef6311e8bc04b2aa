"""``grassvine pca``: decentralised PCA."""

from typing import Annotated

import typer

from grassvine.cli import options
from grassvine.cli.config import ConfigFile
from grassvine.cli.fit import run_job
from grassvine.cli.output import AsJson, Overwrite


def pca(
    table: Annotated[
        str,
        typer.Argument(
            help="Table with one row per sample; - for standard input.", show_default=False
        ),
    ],
    components: Annotated[int, typer.Option(help="Number of components.")] = 2,
    method: options.Method = "exact",
    agents: options.NumberOfAgents = 1,
    network: options.NetworkName = "ring",
    rho: options.Rho = 1.0,
    max_iter: options.MaxIter = 500,
    seed: options.Seed = 0,
    engine: options.EngineName = "local",
    address: options.Address = None,
    agents_per_actor: options.AgentsPerActor = 1,
    checkpoints: options.Checkpoints = None,
    resume: options.Resume = False,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    config: ConfigFile = None,
    out: options.ModelOut = None,
    run: options.RunOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compute the principal components of samples divided among agents."""
    from grassvine.jobs.pca import PCAJob

    job = PCAJob(
        table,
        components,
        method=method,
        agents=agents,
        network=network,
        rho=rho,
        max_iter=max_iter,
        seed=seed,
        engine=engine,
        address=address,
        agents_per_actor=agents_per_actor,
        checkpoints=checkpoints,
        resume=resume,
        separator=separator,
        skip_rows=skip_rows,
        encoding=encoding,
    )
    run_job("components", job, out=out, run=run, overwrite=overwrite, as_json=as_json)
