r"""How many users or samples an item or a feature needs to take part in a fit.

Totals hide who contributed what only if enough did: the gradient of an item that one user has rated
is that user's residual times the user's weights, and the row of XᵀX of a feature that is zero in
all samples but one is that sample. The first sums of a run say how many there are; items and
features with fewer than ``min_support`` are left out before anything else is summed.

Samples determine a feature by their differences d from its mean, and

.. math:: (Σd²)² / Σd⁴ = n² / Σ(d/σ)⁴, \qquad σ² = Σd²/n

counts them: it is n if all |d| are equal, about n/3 for a normal distribution, about c if c of many
samples have another value than all others, and about 1 if a single outlier outweighs the rest.
"""

import numpy as np
from numpy.typing import NDArray

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError


def fourth_powers(differences: Array, squares: Array, count: float) -> Array:
    """Return Σ(d/σ)⁴ of each column, 0 for a constant one.

    Parameters
    ----------
    differences : array of shape (n_samples, n_features)
        d of this member.
    squares : array of shape (n_features,)
        Σd² of all members.
    count : float
        The number of samples of all members.
    """
    deviations = np.sqrt(squares / max(count, 1.0))
    scaled = np.divide(differences, deviations, where=deviations > 0.0, out=0.0 * differences)
    return np.sum((scaled * scaled) ** 2, axis=0)


def has_support(fourths: Array, count: float, min_support: int) -> NDArray[np.bool_]:
    """Return which features enough samples determine; constant ones do no harm.

    Parameters
    ----------
    fourths : array of shape (n_features,)
        The sums of :func:`fourth_powers` over all members.
    """
    # A count of exactly min_support must not fail by rounding.
    return count**2 >= (min_support - 1e-6) * fourths


def require_support(count: float, what: str, min_support: int) -> None:
    """Raise :class:`PlanError` if all members together have too few users, tasks or samples."""
    if count < min_support:
        raise PlanError(
            f"all members together have {count:.0f} {what}, fewer than min_support = {min_support}"
            ", so totals would show the data of single ones; draft a plan with more members."
        )
