"""Options that several commands have, and how their words become values."""

from pathlib import Path
from typing import Annotated

import typer

from grassvine.foundations.errors import PlanError

Rank = Annotated[str, typer.Option(help="How many dimensions, or auto.")]
Method = Annotated[
    str, typer.Option(help="exact, gossip, or another that the documentation names.")
]
NumberOfAgents = Annotated[int, typer.Option(min=1, help="Among how many agents to divide.")]
NetworkName = Annotated[
    str, typer.Option(help="ring, path, star, grid, complete, exponential or random.")
]
Rho = Annotated[float, typer.Option(help="For gossip: the weight of agreement.")]
MaxIter = Annotated[int, typer.Option(help="For gossip: about how many updates each agent makes.")]
Holdout = Annotated[
    float, typer.Option(help="The share to hold out and measure on; 0 learns from all.")
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
EngineName = Annotated[str, typer.Option(help="Where agents run: local, threads or ray.")]
Address = Annotated[
    str | None,
    typer.Option(help="For ray: the cluster, as host:port; a new local one unless given."),
]
AgentsPerActor = Annotated[
    int, typer.Option(min=1, help="For ray: how many agents share an actor.")
]
Checkpoints = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER", help="For ray: a folder that all nodes share; a run then survives losses."
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="For ray: go on from the newest checkpoint, if there is one."),
]
Separator = Annotated[
    str | None, typer.Option(help="What separates the fields of a text; sniffed unless told.")
]
User = Annotated[str | None, typer.Option(help="The column of the users.")]
Item = Annotated[str | None, typer.Option(help="The column of the items.")]
Rating = Annotated[str | None, typer.Option(help="The column of the ratings.")]
Duplicates = Annotated[str, typer.Option(help="Pairs that are rated twice: error, mean or last.")]
Missing = Annotated[str, typer.Option(help="Rows without a rating: error or drop.")]
OnUnknown = Annotated[
    str, typer.Option(help="What is not known to the model: raise, nan or fallback.")
]
ModelOut = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write the model to this folder.")
]
RunOut = Annotated[Path | None, typer.Option("--run", help="Write the run to this folder.")]
TableOut = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Write a .csv, .parquet, .feather or .jsonl file."),
]


def rank_of(text: str) -> int | str:
    """Return a rank: a whole number or auto."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise PlanError(f"rank is {text!r}; give a whole number, or auto.") from None


def number_or_auto(name: str, text: str) -> float | str:
    """Return a number, or auto."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise PlanError(f"{name} is {text!r}; give a number, or auto.") from None


def agents_of(text: str) -> int | str:
    """Return how many agents there are, or the column that names them."""
    try:
        return int(text)
    except ValueError:
        return text
