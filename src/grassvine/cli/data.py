"""``grassvine data``: list and download published data sets."""

import json
from pathlib import Path
from typing import Annotated

import typer

from grassvine.cli.output import print_messages, progress

data_app = typer.Typer(no_args_is_help=True, help="List and download published data sets.")

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@data_app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """List the published data sets and their local paths."""
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
    table = Table("name", "title", "counts", "path")
    for name, source in SOURCES.items():
        counts = ", ".join(f"{count:,} {what}" for what, count in source.counts.items())
        table.add_row(name, source.title, counts, str(places[name] or "absent"))
    Console().print(table)


@data_app.command("fetch")
def fetch_source(
    name: Annotated[str, typer.Argument(help="Data set name, as in data list.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Parent folder for the data set; the cache by default."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download and verify a data set, and print its folder."""
    from grassvine.datasets.sources import SOURCES
    from grassvine.datasets.store import fetch

    if name in SOURCES:
        print_messages([f"terms of {SOURCES[name].title}: {SOURCES[name].terms}"])
    with progress(f"downloading {name}") as bar:

        def downloaded(received: int, total: int | None) -> None:
            if total:
                size = f"{received / 1e6:.1f} of {total / 1e6:.1f} MB"
                bar.update(min(received / total, 1.0), f"downloading {name}, {size}")

        path = fetch(name, folder, downloaded, lambda share: bar.update(share, f"checking {name}"))
    typer.echo(json.dumps({"name": name, "path": str(path)}) if as_json else str(path))
