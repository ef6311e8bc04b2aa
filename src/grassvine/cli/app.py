"""The command ``grassvine``. Data go to standard output, messages to standard error."""

import json
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated

import typer

import grassvine
from grassvine.cli.compare import compare
from grassvine.cli.complete import complete
from grassvine.cli.data import data_app
from grassvine.cli.doctor import doctor
from grassvine.cli.models import fold_in, inspect, predict, recommend
from grassvine.cli.multitask import multitask
from grassvine.cli.pca import pca
from grassvine.cli.reproduce import reproduce
from grassvine.cli.runs import plot, rerun
from grassvine.foundations.errors import AgentError, GrassvineError, MissingExtra, OutputError

WRONG_INPUT = 3
EXIT_CODES: dict[type[GrassvineError], int] = {AgentError: 1, MissingExtra: 2, OutputError: 7}
EPILOG = (
    "Exit codes: 0 done; 1 an error of grassvine's own, or nobody reads its output any more; "
    "2 wrong usage, or an optional part is not installed; 3 wrong data, options or files; "
    "4 a repeated run gave another result; 7 a file or folder cannot be written; 130 interrupted; "
    "143 terminated. Data go to standard output, messages to standard error."
)

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, epilog=EPILOG)
app.command()(complete)
app.command()(multitask)
app.command()(pca)
app.command()(predict)
app.command()(recommend)
app.command("fold-in")(fold_in)
app.command()(inspect)
app.command()(compare)
app.command()(plot)
app.command()(rerun)
app.command()(reproduce)
app.command()(doctor)
app.add_typer(data_app, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"grassvine {grassvine.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Learn the common subspace of data that many places hold, without bringing it together."""


@app.command()
def demo(
    agents: Annotated[
        int, typer.Option(min=2, max=20, help="How many agents; each holds one digit.")
    ] = 6,
    missing: Annotated[float, typer.Option(help="The share of pixels to erase.")] = 0.6,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="The folder for the picture.")] = Path("grassvine-demo"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Complete erased pixels of all digits, among agents that hold images of one digit each."""
    from grassvine.cli.show import demo_object, demo_table
    from grassvine.demo import compare, draw, masked_digits, one_kind_each
    from grassvine.demo.comparison import N_SLOTS
    from grassvine.foundations.files import make_folder
    from grassvine.report.progress import ProgressBar

    folder = make_folder(out)
    began = time.perf_counter()
    with ProgressBar(N_SLOTS, "gossip") as bar:
        shares = one_kind_each(masked_digits(missing, seed), agents, seed)
        comparison = compare(shares, seed, observers=[bar])
    try:
        picture = draw(comparison, folder / "digits.png")
    except MissingExtra as absent:
        picture = None
        typer.echo(str(absent), err=True)
    seconds = time.perf_counter() - began
    if as_json:
        typer.echo(json.dumps(demo_object(comparison, seconds, picture)))
    else:
        demo_table(comparison, seconds, picture)


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"grassvine: {message}", err=True)


def main() -> None:
    """Run the command; an error that we foresaw is a sentence, not a traceback."""
    warnings.showwarning = _say_warning
    # A terminated command cleans up behind itself as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app()
    except GrassvineError as error:
        typer.echo(f"grassvine: {error}", err=True)
        sys.exit(EXIT_CODES.get(type(error), WRONG_INPUT))
