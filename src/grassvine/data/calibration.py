"""Predictions by true value: counts and quantiles; a value that occurs once has its own row."""

import numpy as np

from grassvine.foundations.arrays import Array

MAX_LEVELS = 25  # distinct true values, such as stars; more are put into bins
N_BINS = 20
QUANTILES = (5, 25, 50, 75, 95)  # per cent


def calibration(truth: Array, predicted: Array) -> dict[str, Array]:
    """Return a table with one row per true value, or per bin of true values.

    The columns are ``truth`` (the mean of the bin), ``count``, ``squared_error`` (their sum), and
    the quantiles ``q5`` to ``q95`` of the predictions.
    """
    levels, places = np.unique(truth, return_inverse=True)
    if len(levels) > MAX_LEVELS:
        edges = np.linspace(truth.min(), truth.max(), N_BINS + 1)[1:-1]
        _, places = np.unique(np.searchsorted(edges, truth), return_inverse=True)
    groups = [places == place for place in range(int(places.max(initial=-1)) + 1)]
    columns = {
        "truth": np.array([truth[group].mean() for group in groups]),
        "count": np.array([float(np.count_nonzero(group)) for group in groups]),
        "squared_error": np.array([np.sum((predicted - truth)[group] ** 2) for group in groups]),
    }
    for quantile in QUANTILES:
        found = [np.percentile(predicted[group], quantile) for group in groups]
        columns[f"q{quantile}"] = np.array(found)
    return columns
