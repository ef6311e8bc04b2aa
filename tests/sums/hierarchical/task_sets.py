"""Tasks whose coefficients come from one normal distribution."""

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream

N_FEATURES = 5


def truth(seed: int = 0) -> tuple[Array, Array]:
    """Mean and covariance of slopes and intercept."""
    rng = stream(seed, "data", "distribution of coefficients")
    root = rng.standard_normal((N_FEATURES + 1, 3))
    return 2.0 * rng.standard_normal(N_FEATURES + 1), root @ root.T


def alike(
    n_tasks: int = 12, size: int = 8, noise: float = 0.5, seed: int = 0, spread: float = 1.0
) -> gv.Tasks:
    """Tasks with fewer and more samples than coefficients."""
    mean, covariance = truth(seed)
    rng = stream(seed, "data", "tasks alike")
    x, y = [], []
    for task in range(n_tasks):
        coefficients = rng.multivariate_normal(mean, spread * covariance)
        samples = rng.standard_normal((size + 3 * (task % 3) - 3, N_FEATURES))
        x.append(samples)
        y.append(samples @ coefficients[:-1] + coefficients[-1])
        y[-1] += noise * rng.standard_normal(len(samples))
    return gv.Tasks.from_arrays(x, y)
