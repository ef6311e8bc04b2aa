"""Predicted ratings."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """A rating for each pair, and whether its user and item are both known to the model.

    Attributes
    ----------
    ratings : array
    known : bool array
    std : array or None
        The standard deviation of each predicted rating, if asked for.
    lower, upper : array or None
        The ends of the interval of each, if asked for.

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 2], "rating": [5, 3, 4, 2]})
    >>> model = gv.MatrixCompleter(rank=1).fit(ratings).model_
    >>> found = model.predict([1, 2], [1, 2], return_interval=0.9)
    >>> bool((found.lower <= found.ratings).all()), found.known.tolist()
    (True, [True, True])
    """

    ratings: Array
    known: NDArray[np.bool_]
    std: Array | None = None
    lower: Array | None = None
    upper: Array | None = None

    @property
    def spread(self) -> dict[str, Array]:
        """What was asked for of ``std``, ``lower`` and ``upper``."""
        found = {"std": self.std, "lower": self.lower, "upper": self.upper}
        return {name: array for name, array in found.items() if array is not None}
