"""The commands of ``grassvine``."""

import time
from pathlib import Path
from typing import Annotated

import typer

import grassvine
from grassvine.cli import options
from grassvine.cli.compare import compare
from grassvine.cli.complete import complete
from grassvine.cli.data import data_app
from grassvine.cli.doctor import doctor
from grassvine.cli.flags import Commands
from grassvine.cli.implicit import implicit
from grassvine.cli.models import explain, fold_in, inspect, predict, recommend
from grassvine.cli.multitask import multitask
from grassvine.cli.output import AsJson, Overwrite, print_messages, print_object
from grassvine.cli.pca import pca
from grassvine.cli.peer import peer_app
from grassvine.cli.peer_join import join
from grassvine.cli.reproduce import reproduce
from grassvine.cli.runs import plot, rerun, runs_app
from grassvine.cli.watch import watch
from grassvine.foundations.errors import MissingExtra
from grassvine.foundations.memory import require_address_space

EPILOG = (
    "Exit codes: 0 success; 1 internal error, failed agent or closed output pipe; 2 usage error or "
    "missing extra; 3 invalid data, options or files; 4 a rerun gave a different result; 7 a file, "
    "folder or stream cannot be written; 130 interrupted; 143 terminated. Results go to standard "
    "output, messages to standard error."
)

app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, epilog=EPILOG)
app.command()(complete)
app.command()(implicit)
app.command()(multitask)
app.command()(pca)
app.command()(predict)
app.command()(recommend)
app.command()(explain)
app.command("fold-in")(fold_in)
app.command()(inspect)
app.command()(compare)
app.command()(plot)
app.command()(rerun)
app.command()(watch)
app.command()(reproduce)
app.command()(doctor)
app.add_typer(data_app, name="data")
app.add_typer(runs_app, name="runs")
peer_app.command()(join)
app.add_typer(peer_app, name="peer")


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
    require_address_space()  # before importing libraries that abort without it


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
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Complete digit images with erased pixels, each agent holding one digit only."""
    from grassvine.cli.show import demo_object, demo_table
    from grassvine.demo import compare, draw, masked_digits, one_kind_each
    from grassvine.foundations.files import exists, make_folder
    from grassvine.report.progress import ProgressBar

    target = out / "digits.png"
    if target.exists() and not overwrite:
        raise exists(target)
    make_folder(out)
    start = time.perf_counter()
    with ProgressBar("gossip", passing=True) as bar:
        shares = one_kind_each(masked_digits(missing, seed), agents, seed)
        comparison = compare(shares, seed, observers=[bar])
    try:
        picture = draw(comparison, target)
    except MissingExtra as error:
        picture = None
        print_messages([str(error)])
    seconds = time.perf_counter() - start
    if as_json:
        print_object(demo_object(comparison, seconds, picture))
    else:
        demo_table(comparison, seconds, picture)
