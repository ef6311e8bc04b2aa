"""Results for the eye and for programs."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from grassvine.demo import Comparison


def demo_object(comparison: Comparison, seconds: float, picture: Path | None) -> dict[str, Any]:
    """The demonstration as one object."""
    run = comparison.run
    return {
        "n_agents": run.plan.network.n_agents,
        "n_images": len(comparison.owner),
        "rank": run.plan.rank,
        "relative_error": {
            "alone": comparison.errors(comparison.alone),
            "gossip": comparison.errors(comparison.gossip),
            "pooled": comparison.errors(comparison.pooled),
        },
        "agreement_degrees": run.agreement_degrees,
        "messages": run.messages,
        "bytes": run.bytes,
        "seconds": seconds,
        "picture": None if picture is None else str(picture),
    }


def demo_table(comparison: Comparison, seconds: float, picture: Path | None) -> None:
    """The demonstration as a table and three lines."""
    run = comparison.run
    n_agents = run.plan.network.n_agents
    table = Table(title="relative error at the erased pixels", title_justify="left")
    for name in ("images of", "each agent alone", "gossip", "pooled"):
        table.add_column(name, justify="left" if name == "images of" else "right")
    for agent in [*range(n_agents), None]:
        if agent is None:
            table.add_section()
        table.add_row(
            "all" if agent is None else f"agent {agent}",
            *(
                f"{comparison.errors(completed, agent):.3f}"
                for completed in (comparison.alone, comparison.gossip, comparison.pooled)
            ),
        )
    console = Console()
    console.print(
        f"{len(comparison.owner)} images of 8×8 pixels, {1 - comparison.images.known.mean():.0%} "
        f"erased, kept by {n_agents} agents in a ring; rank {run.plan.rank}"
    )
    console.print(table)
    console.print(f"neighbours agree to {run.agreement_degrees:.1f}°")
    console.print(
        f"{run.bytes / 1e6:.1f} MB exchanged in {run.messages} messages, no image among them"
    )
    where = "" if picture is None else f"; picture: {picture}"
    console.print(f"{seconds:.1f} s{where}")
