"""The README's statement on what sums reveal, held by performing the attack on actual messages.

The attacker is the neighbour of a leaf: it follows the plan, and keeps what the leaf sends.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from grassvine import MatrixCompleter
from grassvine.foundations.seeds import stream
from grassvine.protocol.message import Message
from grassvine.sums.agent import SumAgent

N_ITEMS, SHOPS = 40, ("north", "south", "west")
README = Path(__file__).parents[2] / "README.md"

Numbers = NDArray[np.float64]


def half_stars(seed: int, n_users: int) -> pl.DataFrame:
    """The first shop has as many users as asked, the others thirty; all use half stars."""
    rng = stream(seed, "data", "revealed")
    rows = []
    for shop, count in zip(SHOPS, (n_users, 30, 30), strict=True):
        for user in range(count):
            for item in rng.choice(N_ITEMS, size=20, replace=False):
                rows.append((f"{shop} {user}", int(item), float(rng.integers(1, 11)) / 2, shop))
    rows += [("south 0 too", item, 3.0, "south") for item in range(N_ITEMS)]  # all items occur
    return pl.DataFrame(rows, schema=["user", "item", "rating", "shop"], orient="row")


def sent_by_the_leaf(
    monkeypatch: pytest.MonkeyPatch, table: pl.DataFrame, **options: Any
) -> tuple[list[Numbers], list[Numbers]]:
    """Fit, and return what the first shop sent to its neighbour, and the totals."""
    parts: list[Numbers] = []
    totals: list[Numbers] = []
    outgoing = SumAgent.outgoing

    def recorded(self: SumAgent, slot: int) -> Message:
        message = outgoing(self, slot)
        route = self._route
        upward = slot % route.n_slots < route.n_upward
        if upward and self.id == 0:
            parts.append(message.arrays["sum"].copy())
        if not upward and route.parent < 0:
            totals.append(message.arrays["sum"].copy())
        return message

    monkeypatch.setattr(SumAgent, "outgoing", recorded)
    MatrixCompleter(2, agents="shop", network="path", **options).fit(table)
    return parts, totals


def counts_of(table: pl.DataFrame) -> Numbers:
    own = table.filter(pl.col("shop") == SHOPS[0])["item"].to_numpy()
    return np.bincount(own, minlength=N_ITEMS).astype(np.float64)


GIVEN: dict[str, dict[str, Any]] = {"bayes": {}, "map": {"regularization": 10.0}}


@pytest.mark.parametrize("method", GIVEN)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_users", [1, 5, 20])
def test_the_first_message_reveals_the_items_and_how_often_each_occurs(
    monkeypatch: pytest.MonkeyPatch, seed: int, n_users: int, method: str
) -> None:
    table = half_stars(seed, n_users)
    parts, _ = sent_by_the_leaf(monkeypatch, table, method=method, **GIVEN[method])
    assert (parts[0][:N_ITEMS] == counts_of(table)).all()
    assert parts[0][N_ITEMS] == n_users


@pytest.mark.parametrize("n_users", [1, 5])
def test_by_default_two_messages_reveal_the_mean_rating_of_each_item(
    monkeypatch: pytest.MonkeyPatch, n_users: int
) -> None:
    """The second one has the sums of the centred ratings; of a single user, these are its own."""
    table = half_stars(0, n_users)
    parts, totals = sent_by_the_leaf(monkeypatch, table)
    counts = parts[0][:N_ITEMS]
    centre = totals[0][N_ITEMS + 1] / totals[0][:N_ITEMS].sum()
    items = np.flatnonzero(counts)
    stolen = centre + parts[1][:N_ITEMS][items] / counts[items]
    own = table.filter(pl.col("shop") == SHOPS[0])
    own = own.group_by("item").agg(pl.col("rating").mean()).sort("item")
    np.testing.assert_allclose(stolen, own["rating"].to_numpy(), rtol=0, atol=1e-12)


def test_with_a_mode_the_last_fit_reveals_what_the_first_message_holds_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = half_stars(0, 5)
    parts, _ = sent_by_the_leaf(monkeypatch, table, method="map")
    statistics = [part[:N_ITEMS] for part in parts if len(part) == N_ITEMS + 3]
    assert (statistics[0] <= counts_of(table)).all()
    assert 0 < statistics[0].sum() < counts_of(table).sum()
    assert (statistics[-1] == counts_of(table)).all()


@pytest.mark.parametrize("seed", range(3))
def test_two_messages_of_a_leaf_with_one_user_reveal_its_ratings(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    r"""At the start all item biases are 0, and with method ``"map"`` so are the factors.

    The gradient of the item biases is then e_i = μ₀ + a − y_i, where μ₀ is the mean rating of all
    agents. The bias a of the user follows from the sum of its ratings, which the first message
    contains.
    """
    table = half_stars(seed, 1)
    parts, totals = sent_by_the_leaf(monkeypatch, table, method="map")
    counts, total = parts[0][:N_ITEMS], parts[0][N_ITEMS + 1]
    centre = totals[0][N_ITEMS + 1] / totals[0][:N_ITEMS].sum()
    items = np.flatnonzero(counts)
    residuals = parts[1][1 : 1 + N_ITEMS][items]
    bias = (total - (centre - residuals).sum()) / len(items)
    stolen = dict(zip(items.tolist(), (centre + bias - residuals).tolist(), strict=True))
    own = table.filter(pl.col("shop") == SHOPS[0])
    true = dict(own.select("item", "rating").rows())
    assert len(stolen) > 10  # of 20; about a tenth is held out
    # rounding of a sum of 20 ratings of at most 5, once for a and once for the centre
    assert max(abs(stolen[item] - true[item]) for item in stolen) < 2 * 20 * 5 * 2.0**-52


def test_the_readme_states_it() -> None:
    section = README.read_text().split("## What leaves an agent")[1].split("\n## ")[0]
    told = " ".join(section.split())
    for part in ("first message", "exact list of its items", "single user", "two messages"):
        assert part in told
