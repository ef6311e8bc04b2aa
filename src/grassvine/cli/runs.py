"""Commands for saved runs: plot, rerun, runs show."""

from pathlib import Path
from typing import Annotated

import typer

from grassvine.cli import options
from grassvine.cli.fit import print_report
from grassvine.cli.output import (
    AsJson,
    Overwrite,
    print_messages,
    print_object,
    print_rows,
    progress,
)

Run = Annotated[Path, typer.Argument(help="Run folder, written by --run.", show_default=False)]
AnyRun = Annotated[
    Path,
    typer.Argument(
        help="Run folder, written by --run, also while the run goes on; or the private folder of a "
        "member.",
        show_default=False,
    ),
]
DIFFERENT = 4  # exit code if a rerun gives a different result


def plot(
    run: Run,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Output folder for the figures.")
    ] = Path("grassvine-plots"),
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Plot a run: cost, error, network, predictions; for gossip, agreement and angles."""
    from grassvine.jobs.saved_run import load_run
    from grassvine.report.run_pictures import write_run_pictures

    saved = load_run(run)
    with progress("drawing") as bar:
        paths = write_run_pictures(
            out,
            saved.history,
            saved.plan.network,
            saved.bases,
            saved.tables,
            overwrite=overwrite,
            watch=bar.update,
        )
    if as_json:
        print_object({path.stem: str(path) for path in paths})
    else:
        for path in paths:
            typer.echo(str(path))


def rerun(
    run: Run,
    data: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Path of the same data, if they have moved."),
    ] = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    agents_per_actor: options.AgentsPerActor = 1,
    as_json: AsJson = False,
) -> None:
    """Repeat a run and check that the result is bit-identical (exit code 4 if not).

    The run is repeated on the local engine, whichever engine it used, unless --engine names one.
    """
    from grassvine.jobs.base import EngineOptions
    from grassvine.jobs.saved_run import load_run
    from grassvine.jobs.saved_run import rerun as repeat

    chosen = EngineOptions(engine=engine, address=address, agents_per_actor=agents_per_actor)
    saved = load_run(run)
    if saved.job.engine != engine:
        print_messages(
            [
                f"the saved run used the engine {saved.job.engine} and is repeated on {engine}, "
                f"with the same result; add --engine {saved.job.engine} to use that engine."
            ]
        )
    with progress("fitting") as bar:
        again = repeat(
            saved, data, chosen, (bar,), watch=lambda share: bar.update(share, "reading")
        )
    print_report({"same": again.same, **again.result.report}, as_json)
    for name, (before, now) in again.other_versions.items():
        print_messages([f"{name} was {before} in the saved run and is now {now}."])
    difference = "is bit-identical to" if again.same else "differs from"
    print_messages([f"the result {difference} the saved run"])
    if not again.same:
        raise typer.Exit(DIFFERENT)


runs_app = typer.Typer(no_args_is_help=True, help="Show runs.")


@runs_app.callback()
def _runs() -> None:
    """Show runs."""


@runs_app.command()
def show(run: AnyRun, as_json: AsJson = False) -> None:
    """Show where a run is, while it goes on and after it ended."""
    from grassvine.live.summary import follow, in_time, require_run, summary
    from grassvine.report.remaining import in_words

    reader = follow(run)
    require_run(run, reader)
    shown = summary(reader.progress)
    if as_json:
        print_object(shown)
        return
    shown["started"], shown["updated"] = (
        in_time(shown[name]) if shown[name] else None for name in ("started", "updated")
    )
    left = shown.pop("seconds_left")
    shown["expected end"] = in_words(left) if left is not None else None
    shown["waiting_for"] = ", ".join(" for ".join(pair) for pair in shown["waiting_for"][:20])
    shown["doing"] = ", ".join(f"{n} {what}" for what, n in shown["doing"].items() if n)
    shown["incidents"] = "\n".join(one["text"] for one in shown["incidents"])
    del shown["report"], shown["n_incidents"]
    print_rows({name.replace("_", " "): value for name, value in shown.items() if value != ""})
