r"""The shared model of implicit feedback: item factors and popularity.

With the confidence v_ij of an event (0 for a pair without one), a user's score of an item is

.. math::

    \hat z_{ij} = s_j b_i + A_i·w_j,

and the fit minimises

.. math::

    F(A, b) = Σ_j \min_w \Big[ Σ_i v_{ij} (1 − \hat z_{ij})² + a_0 Σ_i \hat z_{ij}²
              + ρ_j ‖w‖² \Big] + Σ_i ρ_i ‖(A_i, b_i)‖²

over all items i, where the paper's weight on unknown entries is a₀, and the ridges grow with the
numbers of events n_j, n_i (Hu, Koren & Volinsky 2008; Rendle et al. 2021): ρ_j = λ(n_j + a₀m) and
ρ_i = λ(n_i + a₀n). The popularity b_i is what everybody is expected to choose, in proportion to the
user's level of activity s_j = (n_j + c)/(n̄ + c), with the mean n̄ of all users and c = 10: where a
user has few events, w_j is small, and the user gets what is popular. (Without it, the model loses
to popularity on sparse tables.)

The confidence of x, a count or a weight, is log₂(1 + x/x̄), with the geometric mean x̄ of all: it has
no unit, grows slowly, and is 1 if all counts are equal.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grassvine.data.ratings import Ratings
from grassvine.foundations.arrays import Array, as_matrix, as_numbers
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.options import real_number


@dataclass(frozen=True, slots=True)
class Strengths:
    """The numbers of the model that are not learned.

    Parameters
    ----------
    unobserved_weight : float
        a₀ > 0, the weight of all pairs, also of those without an event.
    ridge : float
        λ > 0, the ridge per event.
    base_ridge : float
        λa₀m ≥ 0, the ridge of a user without events.
    typical_count : float
        x̄ > 0, the count of confidence 1.
    mean_events : float
        n̄, the mean number of events of a user.
    prior_events : float
        c ≥ 0, the number of events after which a user's own activity counts as much as n̄.
    """

    unobserved_weight: float
    ridge: float
    base_ridge: float
    typical_count: float
    mean_events: float
    prior_events: float

    def __post_init__(self) -> None:
        """Check the values."""
        for name, value in asdict(self).items():
            real_number(name, value, least=0.0, error=DataError)
            if value == 0.0 and name not in ("base_ridge", "prior_events"):
                raise DataError(f"{name} is 0; choose a positive number.")

    def levels(self, events: Ratings) -> Array:
        """Return s_j."""
        counts = _counts(events) + self.prior_events
        return counts / (self.mean_events + self.prior_events)

    def ridges(self, events: Ratings) -> Array:
        """Return ρ_j."""
        return self.ridge * _counts(events) + self.base_ridge

    def confidences(self, events: Ratings) -> Array:
        """Return v of each event."""
        return np.log2(1.0 + events.values / self.typical_count)


def _counts(events: Ratings) -> Array:
    """Return n_j; numpy.diff takes several times as long for one user."""
    return (events.starts[1:] - events.starts[:-1]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class ImplicitModel:
    """The shared part of the model; the users are a function of it and of their events.

    Parameters
    ----------
    factors : array of shape (n_items, rank)
        A.
    popularity : array of shape (n_items,)
        b.
    strengths : Strengths

    Examples
    --------
    >>> import polars as pl
    >>> import grassvine as gv
    >>> clicks = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": [1, 2, 1, 2, 2, 3]})
    >>> recommender = gv.ImplicitRecommender(rank=1).fit(clicks)
    >>> model = recommender.model_.shared.scorer.model
    >>> model.factors.shape, int(model.popularity.argmax())
    ((3, 1), 1)
    """

    factors: Array
    popularity: Array
    strengths: Strengths

    def __post_init__(self) -> None:
        """Check the values."""
        factors = as_matrix(self.factors, name="factors", allow_empty=True)
        popularity = as_numbers(self.popularity, name="popularity", error=BasisError)
        if popularity.shape != factors.shape[:1] or not np.isfinite(popularity).all():
            raise BasisError(
                f"popularity has shape {popularity.shape} or is not finite; "
                f"pass {len(factors)} finite numbers, one per item."
            )
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "popularity", popularity)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.factors)

    @cached_property
    def rows(self) -> Array:
        """The rows X_i = (A_i, b_i)."""
        return np.column_stack([self.factors, self.popularity])

    @cached_property
    def common(self) -> Array:
        """C = a₀XᵀX."""
        return self.strengths.unobserved_weight * (self.rows.T @ self.rows)

    @cached_property
    def axes(self) -> tuple[Array, Array, Array, Array]:
        """The eigenvalues of C_{A,A}, its eigenvectors Q, the rows (A_iQ, b_i), and QᵀC_{A,b}."""
        rank = self.factors.shape[1]
        values, axes = np.linalg.eigh(self.common[:rank, :rank])
        turned = np.column_stack([self.factors @ axes, self.popularity])
        return np.maximum(values, 0.0), axes.copy(), turned, axes.T @ self.common[:rank, rank]

    def arrays(self) -> dict[str, Array]:
        """Return the model as named arrays; :meth:`from_arrays` is the inverse."""
        return {
            "factors": self.factors,
            "popularity": self.popularity,
            "strengths": np.array([*asdict(self.strengths).values()]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "ImplicitModel":
        """Return the model that :meth:`arrays` describes."""
        factors, popularity, strengths = (
            arrays[name].astype(np.float64) for name in ("factors", "popularity", "strengths")
        )
        return cls(factors, popularity, Strengths(*map(float, strengths)))
