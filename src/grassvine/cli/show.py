"""Output of ``grassvine demo``, as a table or as one object."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from grassvine.demo import METHODS, Comparison, compared_with_pooled, what_to_see
from grassvine.runs import Run

TITLES = {
    "alone": "each agent alone",
    "gossip": "gossip",
    "exact": "exact (default)",
    "pooled": "pooled (all data in one place)",
}


def demo_object(comparison: Comparison, seconds: float, picture: Path | None) -> dict[str, Any]:
    """Return the result of the demo in plain values."""
    shares = comparison.shares
    return {
        "n_agents": shares.n_agents,
        "n_images": shares.n_images,
        "n_test_images": len(shares.test.kinds),
        "rank": comparison.exact.plan.rank,
        "relative_error": {method: comparison.error(method) for method in METHODS},
        "worst_relative_error": {
            method: float(comparison.errors(method).max()) for method in METHODS
        },
        "worse_than_pooled": {method: comparison.excess(method) for method in METHODS},
        "gossip": _communication(comparison.gossip),
        "exact": _communication(comparison.exact),
        "summary": what_to_see(comparison),
        "seconds": seconds,
        "picture": None if picture is None else str(picture),
    }


def demo_table(comparison: Comparison, seconds: float, picture: Path | None) -> None:
    """Print the result of the demo: a table, a summary sentence, and the cost."""
    shares = comparison.shares
    table = Table(title="relative error on the erased pixels", title_justify="left")
    table.add_column("method")
    for name in ("mean of agents", "worst agent", "vs. pooled"):
        table.add_column(name, justify="right")
    for method in METHODS:
        pooled = method == "pooled"
        table.add_row(
            TITLES[method],
            f"{comparison.error(method):.3f}",
            "" if pooled else f"{comparison.errors(method).max():.3f}",
            "" if pooled else compared_with_pooled(comparison, method),
        )
    console = Console()
    console.print(
        f"{shares.n_agents} agents in a ring hold {shares.n_images} images of 8×8 pixels, one "
        f"digit per agent. Each completes {len(shares.test.kinds)} test images of all these "
        f"digits. {100 * (1 - shares.test.known.mean()):.0f}% of all pixels are erased; the "
        f"rank is {comparison.exact.plan.rank}.",
    )
    console.print(table)
    console.print(what_to_see(comparison))
    sent = ", ".join(
        f"{run.bytes / 1e6:.1f} MB ({name})"
        for name, run in (("gossip", comparison.gossip), ("exact", comparison.exact))
    )
    saved = "" if picture is None else f" Picture: {picture}"
    console.print(f"Data sent: {sent}. Time: {seconds:.1f} s.{saved}")


def _communication(run: Run) -> dict[str, Any]:
    return {
        "agreement_degrees": run.agreement_degrees,
        "messages": run.messages,
        "bytes": run.bytes,
    }
