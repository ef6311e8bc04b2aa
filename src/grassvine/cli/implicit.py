"""``grassvine implicit``: recommendations from what users choose."""

from typing import Annotated, Any

import typer

from grassvine.cli import options
from grassvine.cli.fit import run_job
from grassvine.cli.output import AsJson, Overwrite
from grassvine.cli.watch import Live

Split = Annotated[
    str,
    typer.Option(
        metavar="random|users|last|time",
        help="What to hold out: a share of each user's events, of the users, each user's latest "
        "event, or the latest share of all.",
    ),
]
Count = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with the counts or weights of events; found by name if omitted.",
    ),
]


def implicit(
    events: Annotated[
        str,
        typer.Argument(
            help="Table with one row per event (click, purchase, play): a user, an item, and "
            "optionally a count and a time; or published ratings, each of which counts once.",
            show_default=False,
        ),
    ],
    rank: options.Rank = "auto",
    method: Annotated[
        str,
        typer.Option(
            metavar="factors|ease",
            help="factors, or ease: regressions between at most 5,000 items, from one sum.",
        ),
    ] = "factors",
    agents: Annotated[
        str,
        typer.Option(
            metavar="INT|COLUMN",
            help="Number of agents, or the column that names the owner of each event.",
        ),
    ] = "1",
    stored: Annotated[
        bool,
        typer.Option(
            "--stored",
            help="Let each agent read its own part of a Parquet dataset (file, folder or glob "
            "pattern); the driver reads no events, and the model has no users.",
        ),
    ] = False,
    network: options.NetworkName = "ring",
    unobserved: Annotated[
        str,
        typer.Option(
            metavar="FLOAT|auto",
            help="Weight of a pair without an event, in units of the density (factors only).",
        ),
    ] = "auto",
    regularization: Annotated[
        str, typer.Option(metavar="FLOAT|auto", help="Regularisation strength, or auto.")
    ] = "auto",
    holdout: options.Holdout = 0.0,
    split: Split = "random",
    seed: options.Seed = 0,
    engine: options.EngineName = "local",
    address: options.Address = None,
    agents_per_actor: options.AgentsPerActor = 1,
    checkpoints: options.Checkpoints = None,
    resume: options.Resume = False,
    user: options.User = None,
    item: options.Item = None,
    count: Count = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with times; found by name if omitted."),
    ] = None,
    separator: options.Separator = None,
    skip_rows: options.SkipRows = 0,
    encoding: options.Encoding = None,
    missing: options.Missing = "error",
    shared_users: Annotated[
        str,
        typer.Option(
            metavar="separate|error",
            help="How to handle user ids with events of several owners: as separate users of "
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
    """Learn from clicks, purchases or plays what users choose, to recommend what comes next."""
    from grassvine.jobs.implicit import ImplicitJob

    words: dict[str, Any] = {
        "rank": options.rank_of(rank),
        "unobserved": options.number_or_auto("unobserved", unobserved),
        "regularization": options.number_or_auto("regularization", regularization),
        "split": split,
        "missing": missing,
        "shared_users": shared_users,
    }
    job = ImplicitJob(
        events,
        method=method,
        agents=options.agents_of(agents),
        network=network,
        holdout=holdout,
        seed=seed,
        engine=engine,
        address=address,
        agents_per_actor=agents_per_actor,
        checkpoints=checkpoints,
        resume=resume,
        user=user,
        item=item,
        count=count,
        time=time,
        separator=separator,
        skip_rows=skip_rows,
        encoding=encoding,
        stored=stored,
        **words,
    )
    run_job(
        "implicit feedback",
        job,
        out=out,
        run=run,
        live=live,
        overwrite=overwrite,
        as_json=as_json,
        shared_only=shared_only,
    )
