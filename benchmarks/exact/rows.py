"""What a row is, and what all rows have: networks, and the figures of a run.

A *rank-equivalent* sum is one of items·rank + rank² + 2 numbers: smaller and larger sums count by
their size.
"""

from typing import Any, TypeAlias

import grassvine as gv
from grassvine.foundations.arrays import Array

Row: TypeAlias = dict[str, Any]

GRASSMANN = gv.geometry.Grassmann()
# Figures that are compared digit by digit.
LONG = ("test_rmse", "cost")


def networks(n_agents: int) -> dict[str, gv.networks.Network]:
    """A network of every shape."""
    return {
        "path": gv.networks.path(n_agents),
        "ring": gv.networks.ring(n_agents),
        "grid": gv.networks.grid(n_agents),
        "star": gv.networks.star(n_agents),
        "exponential": gv.networks.exponential(n_agents),
        "random": gv.networks.erdos_renyi(n_agents, 0.3, seed=1),
    }


def worst_distance(result: gv.Run, basis: Array) -> float:
    """The distance of the agent that is farthest from a basis."""
    return max(GRASSMANN.distance(mine, basis) for mine in result.bases)


def of_sums(result: gv.Run) -> Row:
    """How much the agents sent to add up."""
    plan = result.plan
    whole = 8 * (plan.n_items * plan.rank + plan.rank**2 + 2)
    messages_of_a_sum = 2 * (plan.network.n_agents - 1)
    return {
        "sums": int(result.history.final()["update"].max()),
        "rank_equivalent": result.bytes / messages_of_a_sum / whole,
        "megabytes": result.bytes / 1e6,
    }


def text(row: Row) -> str:
    """A row as a line."""
    figures = (
        f"{key} {value:.{9 if key in LONG else 3}g}" for key, value in row.items() if key != "what"
    )
    return f"{row['what']}: {', '.join(figures)}"
