import numpy as np
import pytest
from tests.samples import ratings

import grassvine as gv
from grassvine.baselines import spectral_start
from grassvine.foundations.errors import DataError


def test_it_is_the_dominant_subspace_of_the_table_with_zeros() -> None:
    table = ratings()
    dense = np.zeros((table.n_users, table.n_items))
    dense[table.users_of_values(), table.items] = table.values
    wanted = np.linalg.svd(dense)[2][:4].T
    # ARPACK converges to rounding; the gap between singular values is of their own size.
    found = spectral_start(table, 4)
    assert gv.geometry.Grassmann().distance(found, np.ascontiguousarray(wanted)) < 1e-9


def test_it_repeats_its_bits() -> None:
    assert spectral_start(ratings(), 3).tobytes() == spectral_start(ratings(), 3).tobytes()


def test_it_is_near_the_truth_where_much_is_known() -> None:
    data = gv.datasets.low_rank_ratings(100, 2000, 3, oversampling=20.0, seed=1)
    random = gv.Plan(100, 3, gv.networks.path(2)).start(0)
    distance = gv.geometry.Grassmann().distance
    start = spectral_start(data.ratings, 3)
    assert distance(start, data.subspace) < 0.2 * distance(random, data.subspace)


@pytest.mark.parametrize("rank", [0, 20])
def test_its_rank_is_checked(rank: int) -> None:
    with pytest.raises(DataError, match=f"rank is {rank}, but the table has 20 items and 60 users"):
        spectral_start(ratings(), rank)
