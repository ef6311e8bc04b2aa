"""Published splits: errors and intervals that others can be compared with."""

import numpy as np
import pytest
from tests.real_data import real_file

from grassvine import MatrixCompleter
from grassvine.data.tables import RatingTable
from grassvine.datasets import read_ratings


def measured(
    train: RatingTable, test: RatingTable, **options: object
) -> tuple[float, float, float]:
    """Test RMSE, coverage of 90 % intervals, and that of the fifth with the widest."""
    fitted = MatrixCompleter(on_unknown="fallback", **options).fit(train)  # type: ignore[arg-type]
    users, items = test.ratings.users_of_values(), test.ratings.items
    pairs = test.users.at(users), test.items.at(items)
    found = fitted.model_.predict(*pairs, "fallback", return_std=True, return_interval=0.9)
    assert found.std is not None and found.lower is not None and found.upper is not None
    truth = test.ratings.values
    inside = (found.lower <= truth) & (truth <= found.upper)
    widest = inside[found.std >= np.quantile(found.std, 0.8)]
    rmse = float(np.sqrt(np.mean((found.ratings - truth) ** 2)))
    return rmse, float(inside.mean()), float(widest.mean())


def test_the_first_published_split_of_movielens_100k() -> None:
    train, test = (read_ratings(real_file(f"ml-100k/u1.{part}")) for part in ("base", "test"))
    rmse, inside, widest = measured(train, test)
    assert rmse < 0.887  # GLocal-K .8889, MG-GAT .890
    assert 0.88 <= inside <= 0.92 and widest >= 0.85


@pytest.mark.parametrize("share", [0.1, 0.03])
def test_movielens_100k_thinned(share: float) -> None:
    """Not worse than the biases alone, beyond one standard error."""
    whole = read_ratings(real_file("ml-100k/u.data"))
    errors, covered = [], []
    for seed in range(5):
        _, kept = whole.hold_out(share, 100 + seed)
        assert kept is not None
        train, test = kept.hold_out(0.2, seed)
        assert test is not None
        rmse, inside, _ = measured(train, test)
        alone = MatrixCompleter(0, method="map", on_unknown="fallback").fit(train)
        pairs = test.users.at(test.ratings.users_of_values()), test.items.at(test.ratings.items)
        biases = alone.model_.predict(*pairs, "fallback").ratings - test.ratings.values
        errors.append(rmse - float(np.sqrt(np.mean(biases**2))))
        covered.append(inside)
    assert np.mean(errors) < np.std(errors, ddof=1) / np.sqrt(len(errors))
    assert 0.88 <= np.mean(covered) <= 0.92


@pytest.mark.slow
def test_movielens_1m() -> None:
    whole = read_ratings(real_file("ml-1m/ratings.dat"))
    for share, most in ((0.2, 0.8245), (0.1, 0.8215)):
        train, test = whole.hold_out(share, 0)
        assert test is not None
        rmse, inside, widest = measured(train, test)
        assert rmse < most
        assert 0.88 <= inside <= 0.92 and widest >= 0.85
