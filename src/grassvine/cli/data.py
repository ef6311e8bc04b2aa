"""``grassvine data``: what is published, what is here, and how to get the rest."""

import json
from pathlib import Path
from typing import Annotated

import typer

data_app = typer.Typer(no_args_is_help=True, help="Published data sets: list them, fetch one.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@data_app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """Show the published data sets and where they are found."""
    from rich.console import Console
    from rich.table import Table

    from grassvine.datasets.sources import SOURCES
    from grassvine.datasets.store import find

    places = {name: find(source) for name, source in SOURCES.items()}
    if as_json:
        rows = [
            {
                "name": name,
                "title": source.title,
                "counts": dict(source.counts),
                "terms": source.terms,
                "address": source.address,
                "path": None if places[name] is None else str(places[name]),
            }
            for name, source in SOURCES.items()
        ]
        typer.echo(json.dumps(rows))
        return
    table = Table("name", "what", "counts", "where")
    for name, source in SOURCES.items():
        counts = ", ".join(f"{count:,} {what}" for what, count in source.counts.items())
        table.add_row(name, source.title, counts, str(places[name] or "absent"))
    Console().print(table)


@data_app.command("fetch")
def fetch_source(
    name: Annotated[str, typer.Argument(help="The name of a data set, as listed.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where its own folder goes; the cache unless told.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download a data set, check it, and print the folder where it is."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from grassvine.datasets.sources import SOURCES
    from grassvine.datasets.store import fetch

    if name in SOURCES:
        typer.echo(f"terms of {SOURCES[name].title}: {SOURCES[name].terms}", err=True)
    console = Console(stderr=True)
    columns = (TextColumn(name), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)
        path = fetch(name, folder, lambda done, all_: bar.update(task, completed=done, total=all_))
    typer.echo(json.dumps({"name": name, "path": str(path)}) if as_json else str(path))
