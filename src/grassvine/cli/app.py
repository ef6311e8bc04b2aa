"""Entry point of the ``grassvine`` command."""

import json
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated

import typer

import grassvine
from grassvine.cli import options
from grassvine.cli.compare import compare
from grassvine.cli.complete import complete
from grassvine.cli.data import data_app
from grassvine.cli.doctor import doctor
from grassvine.cli.models import fold_in, inspect, predict, recommend
from grassvine.cli.multitask import multitask
from grassvine.cli.output import AsJson
from grassvine.cli.pca import pca
from grassvine.cli.reproduce import reproduce
from grassvine.cli.runs import plot, rerun
from grassvine.foundations.errors import AgentError, GrassvineError, MissingExtra, OutputError

WRONG_INPUT = 3
EXIT_CODES: dict[type[GrassvineError], int] = {AgentError: 1, MissingExtra: 2, OutputError: 7}
EPILOG = (
    "Exit codes: 0 success; 1 internal error, failed agent or closed output pipe; 2 usage error or "
    "missing extra; 3 invalid data, options or files; 4 a rerun gave a different result; 7 output "
    "cannot be written; 130 interrupted; 143 terminated. Results go to standard output, messages "
    "to standard error."
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


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"grassvine {grassvine.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, help="Show the version and exit."),
    ] = False,
) -> None:
    """Decentralised matrix completion, multitask regression and PCA."""


@app.command()
def demo(
    agents: Annotated[
        int, typer.Option(min=2, max=20, help="Number of agents; each holds one digit.")
    ] = 6,
    missing: Annotated[
        float, typer.Option(metavar="FRACTION", help="Fraction of pixels to erase.")
    ] = 0.6,
    seed: options.Seed = 0,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Output folder for the picture.")
    ] = Path("grassvine-demo"),
    as_json: AsJson = False,
) -> None:
    """Complete digit images with erased pixels, each agent holding one digit only."""
    from grassvine.cli.show import demo_object, demo_table
    from grassvine.demo import compare, draw, masked_digits, one_kind_each
    from grassvine.demo.comparison import gossip_method
    from grassvine.foundations.files import make_folder
    from grassvine.report.progress import ProgressBar

    folder = make_folder(out)
    start = time.perf_counter()
    shares = one_kind_each(masked_digits(missing, seed), agents, seed)
    with ProgressBar(gossip_method(shares).max_iter, "gossip") as bar:
        comparison = compare(shares, seed, observers=[bar])
    try:
        picture = draw(comparison, folder / "digits.png")
    except MissingExtra as error:
        picture = None
        typer.echo(str(error), err=True)
    seconds = time.perf_counter() - start
    if as_json:
        typer.echo(json.dumps(demo_object(comparison, seconds, picture)))
    else:
        demo_table(comparison, seconds, picture)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"grassvine: {message}", err=True)


def main() -> None:
    """Run the command, printing expected errors as messages instead of tracebacks."""
    warnings.showwarning = _print_warning
    # Clean up on SIGTERM as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app()
    except GrassvineError as error:
        typer.echo(f"grassvine: {error}", err=True)
        sys.exit(EXIT_CODES.get(type(error), WRONG_INPUT))
