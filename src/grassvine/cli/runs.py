"""Commands for run folders: plot, rerun."""

from pathlib import Path
from typing import Annotated

import typer

from grassvine.cli.fit import tell
from grassvine.cli.output import AsJson, busy, print_object, say

Run = Annotated[Path, typer.Argument(help="A folder that --run wrote.", show_default=False)]
DIFFERENT = 4  # the exit code of a repeated run that gave other bits


def plot(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the pictures.")] = Path(
        "grassvine-plots"
    ),
    as_json: AsJson = False,
) -> None:
    """Draw a run: its cost, agreement, network, and the angles between agents."""
    from grassvine.jobs.run_folder import load_run
    from grassvine.report.run_pictures import write_run_pictures

    saved = load_run(run)
    paths = write_run_pictures(out, saved.history, saved.plan.network, saved.bases)
    if as_json:
        print_object({path.stem: str(path) for path in paths})
    else:
        for path in paths:
            typer.echo(str(path))


def rerun(
    run: Run,
    data: Annotated[
        str | None, typer.Option(help="Where the same data are now; where they were unless told.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat a run, and say whether the result is the same to the last bit (else exit code 4)."""
    from grassvine.jobs.run_folder import load_run
    from grassvine.jobs.run_folder import rerun as repeat

    saved = load_run(run)
    with busy("learning"):
        again = repeat(saved, data)
    tell({"same": again.same, **again.result.report}, as_json)
    for name, (before, now) in again.other_versions.items():
        say([f"{name} was {before}, and is {now}."])
    say(["the same to the last bit" if again.same else "not the same bits as before"])
    if not again.same:
        raise typer.Exit(DIFFERENT)
