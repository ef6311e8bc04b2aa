"""``grassvine multitask``: multitask regression."""

from typing import Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.fit import run_job
from grassvine.cli.output import AsJson, Overwrite
from grassvine.cli.watch import Live


def multitask(
    table: Annotated[
        str,
        typer.Argument(
            help="Table with one row per sample; - for standard input.", show_default=False
        ),
    ],
    target: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column to predict.", show_default=False)
    ],
    task: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with task ids.", show_default=False)
    ],
    rank: Annotated[
        str | None,
        typer.Option(
            metavar="INT|auto",
            help="Rank of the subspace; method bayes needs none, the others take 3 or auto.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Method: bayes, exact, gossip or another one (see docs/command-line.md).",
        ),
    ] = "bayes",
    agents: Annotated[
        str,
        typer.Option(
            metavar="INT|tasks", help="Number of agents, or tasks for one agent per task."
        ),
    ] = "1",
    network: options.NetworkName = "ring",
    alpha: Annotated[
        float, typer.Option(help="Regularisation strength (ignored by method bayes).")
    ] = 1.0,
    rho: options.Rho = "auto",
    max_iter: options.MaxIter = 200,
    holdout: options.Holdout = 0.0,
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
    """Fit related regressions, one for each task, that learn from each other."""
    from grassvine.jobs.multitask import MultitaskJob

    words: dict[str, Any] = {
        "rank": None if rank is None else options.rank_of(rank),
        "rho": options.number_or_auto("rho", rho),
    }
    job = MultitaskJob(
        table,
        target,
        task,
        method=method,
        agents=options.agents_of(agents),
        network=network,
        alpha=alpha,
        max_iter=max_iter,
        holdout=holdout,
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
        "tasks",
        job,
        out=out,
        run=run,
        live=live,
        overwrite=overwrite,
        as_json=as_json,
        shared_only=shared_only,
    )
