"""Missing values follow from the known ones as in a normal distribution, written out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import BasisError, DataError
from grassvine.foundations.seeds import stream
from grassvine.sums import FactorModel, IncompleteSamples
from grassvine.sums.incomplete import descent
from grassvine.sums.incomplete.moments import ExpectedMoments

N_FEATURES = 6


def model(n_factors: int = 2, seed: int = 0) -> FactorModel:
    rng = stream(seed, "data", "factor model")
    return FactorModel(
        mean=rng.standard_normal(N_FEATURES),
        loadings=rng.standard_normal((N_FEATURES, n_factors)),
        noise=0.1 + rng.random(N_FEATURES),
    )


def with_holes(n_samples: int = 25, share: float = 0.4, seed: int = 0) -> Array:
    rng = stream(seed, "data", "samples with holes")
    samples = 2.0 * rng.standard_normal((n_samples, N_FEATURES))
    samples[rng.random(samples.shape) < share] = np.nan
    samples[0], samples[1] = 1.5, np.nan  # nothing and everything is missing
    return samples


def conditional(given: FactorModel, sample: Array) -> tuple[Array, Array]:
    """Mean and covariance of the complete sample."""
    covariance = given.loadings @ given.loadings.T + np.diag(given.noise)
    known = ~np.isnan(sample)
    gain = covariance[:, known] @ np.linalg.inv(covariance[np.ix_(known, known)])
    mean = given.mean + gain @ (sample[known] - given.mean[known])
    return mean, covariance - gain @ covariance[known]


@pytest.mark.parametrize("n_factors", [0, 2, 7])
def test_missing_values_are_conditional_expectations(n_factors: int) -> None:
    given, samples = model(n_factors), with_holes()
    for sample, filled in zip(samples, given.impute(samples), strict=True):
        np.testing.assert_allclose(filled, conditional(given, sample)[0], atol=1e-10)


@pytest.mark.parametrize("n_factors", [0, 2])
def test_the_cost_is_the_density_of_the_known_values(n_factors: int) -> None:
    given, samples = model(n_factors), with_holes()
    covariance = given.loadings @ given.loadings.T + np.diag(given.noise)
    wanted = 0.0
    for sample in samples:
        known = np.flatnonzero(~np.isnan(sample))
        if len(known):
            part = covariance[np.ix_(known, known)]
            density = multivariate_normal(given.mean[known], part).logpdf(sample[known])
            wanted -= density + 0.5 * len(known) * np.log(2.0 * np.pi)
    problem = IncompleteSamples(samples)
    assert problem.evaluate(given).cost == pytest.approx(wanted, rel=1e-10)
    (cost, *_), squared_error = descent.own_sums(problem, given)
    assert cost == pytest.approx(wanted, rel=1e-10)
    assert squared_error == pytest.approx(problem.evaluate(given).squared_error, rel=1e-12)


def test_the_gradient_is_that_of_the_cost() -> None:
    given, problem = model(), IncompleteSamples(with_holes())
    samples = problem.samples
    known = descent.Known(
        np.count_nonzero(~np.isnan(samples), axis=0).astype(float),
        float(len(samples)),
        np.nanmean(samples, axis=0),
        np.nanvar(samples, axis=0),
    )
    target = 0.3 * known.variances

    def point(changed: FactorModel) -> descent.Point:
        sums, _ = descent.own_sums(problem, changed)
        return descent._point(changed, [np.asarray(one) for one in sums], known, target)

    here = point(given)
    direction = stream(0, "data", "direction").standard_normal(here.gradient.shape)
    line = descent.Line(direction, 0.0, 1.0)
    step = 1e-5  # errors of about its square, and rounding over it
    ahead, behind = (point(descent._moved(here, line, size)) for size in (step, -step))
    slope = (ahead.cost - behind.cost) / (2.0 * step)
    assert float(np.vdot(here.gradient, direction)) == pytest.approx(slope, rel=1e-6)
    assert float(np.vdot(here.gradient, here.preconditioned)) > 0.0


@pytest.mark.parametrize("n_factors", [0, 3])
def test_moments_are_those_of_the_conditional_distribution(n_factors: int) -> None:
    given, samples = model(n_factors), with_holes()
    centre = np.arange(N_FEATURES, dtype=float)
    wanted = np.zeros((N_FEATURES, N_FEATURES))
    for sample in samples:
        mean, covariance = conditional(given, sample)
        wanted += np.outer(mean - centre, mean - centre) + covariance
    moments = ExpectedMoments(samples, given, centre)
    np.testing.assert_allclose(moments.matrix(), wanted, atol=1e-9)
    assert moments.trace == pytest.approx(np.trace(wanted), rel=1e-12)
    block = stream(0, "data", "block").standard_normal((N_FEATURES, 2))
    np.testing.assert_allclose(moments.matrix_product(block), wanted @ block, atol=1e-9)
    basis = np.linalg.qr(block)[0]
    evaluation = moments.evaluate(basis)
    assert evaluation.cost == pytest.approx(-0.5 * np.trace(basis.T @ wanted @ basis), rel=1e-12)
    assert moments.weights(basis).shape == (len(samples), 2)


def test_moments_of_complete_samples_are_their_scatter() -> None:
    samples = with_holes(share=0.0)[2:]
    moments = ExpectedMoments(samples, model(), samples.mean(axis=0))
    centred = samples - samples.mean(axis=0)
    np.testing.assert_allclose(moments.matrix(), centred.T @ centred, atol=1e-10)


def test_many_samples_are_processed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    given, problem = model(), IncompleteSamples(with_holes())
    whole, _ = descent.own_sums(problem, given)
    filled = given.impute(problem.samples)
    monkeypatch.setattr("grassvine.sums.incomplete.model.BLOCK_SIZE", 60)
    for one, other in zip(descent.own_sums(problem, given)[0], whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(given.impute(problem.samples), filled, rtol=1e-12)


def test_bad_input_is_refused() -> None:
    for change, message in (
        ({"noise": np.zeros(N_FEATURES)}, "the noise of a feature is not positive"),
        ({"noise": np.ones(2)}, r"the noise has shape \(2,\)"),
        ({"mean": np.full(N_FEATURES, np.nan)}, "the mean .* is not finite"),
    ):
        with pytest.raises(BasisError, match=message):
            replace(model(), **change)
    with pytest.raises(DataError, match="contains an infinite number"):
        IncompleteSamples(np.array([[1.0, np.inf]]))
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        IncompleteSamples(np.ones(3))
