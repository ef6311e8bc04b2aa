"""``grassvine pca``: decentralised PCA."""

from typing import Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.fit import run_job
from grassvine.cli.output import AsJson, Overwrite
from grassvine.cli.watch import Live
from grassvine.foundations.errors import Option, PlanError


def pca(
    table: Annotated[
        str,
        typer.Argument(
            help="Table with one row per sample; - for standard input.", show_default=False
        ),
    ],
    components: Annotated[
        str,
        typer.Option(
            metavar="INT|FRACTION",
            help="Number of components, or the fraction of variance to explain, such as 0.9.",
        ),
    ] = "2",
    method: options.Method = "exact",
    agents: Annotated[
        str,
        typer.Option(
            metavar="INT|COLUMN",
            help="Number of agents, or the column that names the owner of each sample.",
        ),
    ] = "1",
    network: options.NetworkName = "ring",
    rho: options.Rho = "auto",
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
    config: options.ConfigFile = None,
    out: options.ModelOut = None,
    shared_only: options.SharedOnly = False,
    run: options.RunOut = None,
    live: Live = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Compute the principal components of samples divided among agents.

    Values may be missing if the method is exact.
    """
    from grassvine.jobs.pca import PCAJob

    words: dict[str, Any] = {"rho": options.number_or_auto("rho", rho)}
    job = PCAJob(
        table,
        _components(components),
        method=method,
        agents=options.agents_of(agents),
        network=network,
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
        **words,
    )
    run_job(
        "components",
        job,
        out=out,
        run=run,
        live=live,
        overwrite=overwrite,
        as_json=as_json,
        shared_only=shared_only,
    )


def _components(text: str) -> int | float:
    """Return a number of components, or a fraction of the variance."""
    for number in (int, float):
        try:
            value = number(text)
        except ValueError:
            continue
        if number is int or 0.0 < value < 1.0:
            return value
    raise PlanError(
        Option("components"),
        f" is {text!r}; use an integer, or a fraction of the variance between 0 and 1.",
    )
