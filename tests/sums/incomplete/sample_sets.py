"""Samples with missing values."""

import numpy as np

from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream

N_ITEMS, RANK = 12, 3


def low_rank(n_samples: int = 120, noise: float = 0.1, seed: int = 0) -> Array:
    rng = stream(seed, "data", "samples of low rank")
    loadings = np.array([5.0, 3.0, 2.0])[:, None] * rng.standard_normal((RANK, N_ITEMS))
    exact = rng.standard_normal((n_samples, RANK)) @ loadings
    return 40.0 + exact + noise * rng.standard_normal(exact.shape)


def with_holes(samples: Array, share: float = 0.3, seed: int = 0) -> Array:
    holes = stream(seed, "data", "holes").random(samples.shape) < share
    return np.where(holes, np.nan, samples)
