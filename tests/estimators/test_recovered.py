"""Estimators say whether a table without noise is certified to be recovered."""

import numpy as np

import grassvine as gv


def matrix(noise: float) -> np.ndarray:
    """A table of rank 2 of which two thirds are known."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 25))
    table += noise * rng.standard_normal(table.shape)
    table[rng.random(table.shape) < 1 / 3] = np.nan
    return table


def completer(**options: object) -> gv.MatrixCompleter:
    # One rank more, for the mean that is subtracted.
    return gv.MatrixCompleter(3, method="exact-subspace", **options)  # type: ignore[arg-type]


def test_a_table_without_noise_is_recovered() -> None:
    fitted = completer(regularization=0.0, agents=3).fit(matrix(0.0))
    assert fitted.recovered_ is True
    assert "recovered" in fitted.stop_reason_


def test_a_noisy_table_is_not() -> None:
    assert completer(regularization=0.0).fit(matrix(0.1)).recovered_ is False


def test_with_regularisation_there_is_nothing_to_certify() -> None:
    assert completer(regularization=0.1).fit(matrix(0.0)).recovered_ is None
    assert gv.MatrixCompleter(2).fit(matrix(0.0)).recovered_ is None
