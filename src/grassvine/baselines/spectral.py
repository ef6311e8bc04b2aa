"""Spectral initialisation: the dominant subspace of the table with zeros at unknown entries."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from grassvine.data import Ratings
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.options import whole_number
from grassvine.foundations.seeds import stream


def spectral_start(ratings: Ratings, rank: int, seed: int = 0) -> Array:
    """Return an orthonormal basis of the ``rank`` leading left singular vectors of P_Ω(Y).

    RTRMC starts from it. It needs all the data in one place.

    Examples
    --------
    >>> import grassvine as gv
    >>> from grassvine.baselines import spectral_start
    >>> ratings = gv.datasets.low_rank_ratings(30, 200, rank=2, oversampling=5.0).ratings
    >>> spectral_start(ratings, rank=2).shape
    (30, 2)
    """
    smaller = min(ratings.n_items, ratings.n_users)
    why = f"the table has {ratings.n_items} items and {ratings.n_users} users"
    whole_number("rank", rank, least=1, most=smaller - 1, why=why, error=DataError)
    shape = (ratings.n_users, ratings.n_items)
    table = csr_array((ratings.values, ratings.items, ratings.starts), shape=shape)
    # By default, ARPACK draws its starting vector from its own generator.
    first = stream(seed, "start", "spectral").standard_normal(smaller)
    leading = svds(table, k=rank, v0=first, return_singular_vectors="vh")[2]
    # If the table has lower rank, QR completes the basis.
    return np.ascontiguousarray(np.linalg.qr(leading.T)[0])
