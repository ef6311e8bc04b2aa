"""``grassvine complete``: matrix completion."""

from typing import Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.fit import run_job
from grassvine.cli.output import AsJson, Overwrite
from grassvine.cli.watch import Live


def complete(
    ratings: Annotated[
        str,
        typer.Argument(
            help="Table with one row per rating (CSV, TSV, '::', Parquet, Feather or JSON lines; - "
            "for standard input), files of a published data set, or the name of one.",
            show_default=False,
        ),
    ],
    rank: Annotated[
        str | None,
        typer.Option(
            metavar="INT|auto",
            help="Rank, or auto to choose it on held-out data; by the size of the data if omitted.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Method: bayes, map, gossip or another one (see docs/command-line.md).",
        ),
    ] = "bayes",
    agents: Annotated[
        str,
        typer.Option(
            metavar="INT|COLUMN",
            help="Number of agents, or the column that names the owner of each rating.",
        ),
    ] = "1",
    stored: Annotated[
        bool,
        typer.Option(
            "--stored",
            help="Let each agent read its own part of a Parquet dataset (file, folder or glob "
            "pattern); the driver reads no ratings, and the model has no users.",
        ),
    ] = False,
    network: options.NetworkName = "ring",
    regularization: Annotated[
        str,
        typer.Option(
            metavar="FLOAT|auto", help="Regularisation strength, or auto (bayes has none)."
        ),
    ] = "auto",
    rho: options.Rho = "auto",
    max_iter: options.MaxIter = 400,
    learn_choices: Annotated[
        bool,
        typer.Option(
            "--learn-choices/--no-learn-choices",
            help="Also learn what users choose to rate, by which recommend ranks (bayes, map).",
        ),
    ] = True,
    holdout: options.Holdout = 0.0,
    seed: options.Seed = 0,
    engine: options.EngineName = "local",
    address: options.Address = None,
    agents_per_actor: options.AgentsPerActor = 1,
    checkpoints: options.Checkpoints = None,
    resume: options.Resume = False,
    user: options.User = None,
    item: options.Item = None,
    rating: options.Rating = None,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    duplicates: options.Duplicates = "error",
    missing: options.Missing = "error",
    shared_users: Annotated[
        str,
        typer.Option(
            metavar="separate|error",
            help="How to handle user ids with ratings of several owners: as separate users of "
            "each, or as an error.",
        ),
    ] = "separate",
    config: options.ConfigFile = None,
    out: options.ModelOut = None,
    shared_only: options.SharedOnly = False,
    run: options.RunOut = None,
    live: Live = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Fit a matrix completion model to ratings, and evaluate it on held-out ratings."""
    from grassvine.jobs.completion import CompletionJob

    words: dict[str, Any] = {
        "rank": None if rank is None else options.rank_of(rank),
        "regularization": options.number_or_auto("regularization", regularization),
        "rho": options.number_or_auto("rho", rho),
        "duplicates": duplicates,
        "missing": missing,
        "shared_users": shared_users,
    }
    job = CompletionJob(
        ratings,
        method=method,
        agents=options.agents_of(agents),
        network=network,
        max_iter=max_iter,
        learn_choices=learn_choices,
        holdout=holdout,
        seed=seed,
        engine=engine,
        address=address,
        agents_per_actor=agents_per_actor,
        checkpoints=checkpoints,
        resume=resume,
        user=user,
        item=item,
        rating=rating,
        separator=separator,
        skip_rows=skip_rows,
        encoding=encoding,
        stored=stored,
        **words,
    )
    run_job(
        "ratings",
        job,
        out=out,
        run=run,
        live=live,
        overwrite=overwrite,
        as_json=as_json,
        shared_only=shared_only,
    )
