"""Commands for saved runs: plot, rerun."""

from pathlib import Path
from typing import Annotated

import typer

from grassvine.cli.fit import print_report
from grassvine.cli.output import AsJson, Overwrite, print_messages, print_object, spinner

Run = Annotated[Path, typer.Argument(help="Run folder, written by --run.", show_default=False)]
DIFFERENT = 4  # exit code if a rerun gives a different result


def plot(
    run: Run,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Output folder for the figures.")
    ] = Path("grassvine-plots"),
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Plot the cost, agreement and network of a run, and the angles between its agents."""
    from grassvine.jobs.run_folder import load_run
    from grassvine.report.run_pictures import write_run_pictures

    saved = load_run(run)
    paths = write_run_pictures(
        out, saved.history, saved.plan.network, saved.bases, overwrite=overwrite
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
    as_json: AsJson = False,
) -> None:
    """Repeat a run and check that the result is bit-identical (exit code 4 if not)."""
    from grassvine.jobs.run_folder import load_run
    from grassvine.jobs.run_folder import rerun as repeat

    saved = load_run(run)
    with spinner("fitting"):
        again = repeat(saved, data)
    print_report({"same": again.same, **again.result.report}, as_json)
    for name, (before, now) in again.other_versions.items():
        print_messages([f"{name} was {before} in the saved run and is now {now}."])
    difference = "is bit-identical to" if again.same else "differs from"
    print_messages([f"the result {difference} the saved run"])
    if not again.same:
        raise typer.Exit(DIFFERENT)
