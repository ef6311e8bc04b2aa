"""Components of samples with holes: equal at any number of agents, and near those without."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from tests.samples import samples as complete_samples
from tests.sums.incomplete.sample_sets import N_ITEMS, RANK, low_rank, with_holes

import grassvine as gv
from grassvine.engines.in_process import ThreadsEngine
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError, PlanError
from grassvine.foundations.seeds import stream
from grassvine.sums import FactorModel, IncompletePCA, IncompleteSamples
from grassvine.sums.incomplete.fit import ComponentsIterate
from grassvine.sums.program import run_pooled


def fitted(samples: Array, rank: int = RANK, **options: Any) -> ComponentsIterate:
    start = np.eye(samples.shape[1])[:, :rank]
    problem = IncompleteSamples(samples)
    iterate = run_pooled(IncompletePCA(**options).program(problem, start, 0), problem).iterate
    assert isinstance(iterate, ComponentsIterate)
    return iterate


@pytest.mark.parametrize(
    ("n_agents", "network"), [(3, "path"), (10, "ring"), (10, "star"), (100, "star")]
)
def test_agents_find_what_one_owner_finds(n_agents: int, network: str) -> None:
    samples = with_holes(low_rank())
    pooled = fitted(samples)
    made = getattr(gv.networks, network)(n_agents)
    plan = gv.Plan(N_ITEMS, RANK, made, IncompletePCA())
    problems = [IncompleteSamples(part) for part in gv.datasets.split_samples(samples, n_agents)]
    result = gv.run(plan, problems)
    for state in (result.states[0], result.states[-1]):
        assert subspace_angles(state["basis"], pooled.basis).max() < 1e-9
        np.testing.assert_allclose(state["centre"].astype(float), pooled.centre, rtol=1e-9)
        assert state["squares"][0] == pytest.approx(pooled.squares, rel=1e-9)
        found = FactorModel.from_arrays(state)
        assert found.n_factors == pooled.model.n_factors
        np.testing.assert_allclose(
            found.impute(samples), pooled.model.impute(samples), rtol=1e-9, atol=1e-9
        )
    assert result.neighbour_distance < 1e-9
    if n_agents == 10:
        threads = gv.run(plan, problems, engine=ThreadsEngine())
        for one, other in zip(result.states, threads.states, strict=True):
            assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_without_holes_they_are_the_principal_components() -> None:
    samples = complete_samples()
    centred = samples - samples.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    found = fitted(samples)
    assert subspace_angles(found.basis, vectors[:, -RANK:]).max() < 1e-10
    captured = np.linalg.eigvalsh(found.captured)
    np.testing.assert_allclose(captured, values[-RANK:], rtol=1e-10)
    assert found.squares == pytest.approx(np.sum(centred**2), rel=1e-12)
    off = fitted(samples, center=False)
    assert off.squares == pytest.approx(np.sum(samples**2), rel=1e-12) and not off.centre.any()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_low_rank_samples_are_recovered(share: float) -> None:
    """Compared with filling in the means, which is what one would do otherwise."""
    samples = low_rank()
    given = with_holes(samples, share)
    found, holes = fitted(given), np.isnan(given)
    centred = samples - samples.mean(axis=0)
    wanted = np.linalg.svd(centred, full_matrices=False)[2][:RANK].T
    filled = np.where(holes, np.nanmean(given, axis=0), given)
    filling = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)[2][:RANK].T
    assert subspace_angles(found.basis, wanted).max() < 0.1 * subspace_angles(filling, wanted).max()
    errors = (found.model.impute(given) - samples)[holes]
    assert np.sum(errors**2) < 0.1**2 * np.sum((filled - samples)[holes] ** 2)
    assert found.model.n_factors >= RANK


def test_a_share_of_the_variance_determines_the_number_of_components() -> None:
    given = with_holes(low_rank())
    found = fitted(given, 5, explained_variance_ratio=0.9)
    ratios = np.linalg.eigvalsh(found.captured)[::-1] / found.squares
    assert ratios.sum() > 0.9 >= ratios[:-1].sum()


def hostile() -> dict[str, Array]:
    rng = stream(0, "data", "hostile samples")
    plain, mostly = rng.standard_normal((30, 5)), low_rank(30)
    mostly[rng.random(mostly.shape) < 0.9] = np.nan
    mostly[:, np.isnan(mostly).all(axis=0)] = 1.0
    constant = with_holes(np.column_stack([plain, np.full(30, 7.0), np.zeros(30)]))
    units = with_holes(low_rank()) * np.logspace(-20, 20, N_ITEMS)
    return {
        "noise": with_holes(plain),
        "constant features": constant,
        "other units": units,
        "nine in ten missing": mostly,
        "empty samples": np.vstack([with_holes(plain), np.full((9, 5), np.nan)]),
        "two samples": np.array([[1.0, np.nan, 3.0], [2.0, 5.0, 1.0]]),
        "two features": with_holes(plain[:, :2], 0.2),
        "one feature": np.array([[1.0], [np.nan], [3.0], [7.0]]),
        "noise-free": with_holes(low_rank(noise=0.0)),
        "an outlier": np.vstack([with_holes(plain), np.full((1, 5), 1e9)]),
        "all equal": np.where(np.eye(6, 4) > 0.0, np.nan, 2.5),
        "more features than samples": with_holes(low_rank(8).T.repeat(2, axis=0).T, 0.2),
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_samples_are_fitted(name: str) -> None:
    given = hostile()[name]
    found = fitted(given, 1)
    assert np.isfinite(found.captured).all() and np.isfinite(found.centre).all()
    filled = found.model.impute(given)
    assert np.isfinite(filled).all() and (filled == given)[~np.isnan(given)].all()
    assert 0.0 <= found.captured[0, 0] <= found.squares * (1.0 + 1e-9)
    if name == "all equal":
        np.testing.assert_allclose(filled, 2.5, rtol=1e-12)
    if name == "noise-free":  # the prior of the noise leaves some
        np.testing.assert_allclose(filled, low_rank(noise=0.0), rtol=2e-2)


def test_bad_input_is_refused() -> None:
    empty = low_rank(20)
    empty[:, 3] = np.nan
    with pytest.raises(DataError, match=r"feature 3 \(counting from 0\) has no known value"):
        fitted(empty)
    with pytest.raises(PlanError, match="defines another model; pass IncompleteSamples"):
        IncompletePCA().program(gv.PCAProblem(complete_samples()), np.eye(20)[:, :2], 0)
    with pytest.raises(PlanError, match="center is 1; choose True or False"):
        IncompletePCA(center=1)  # type: ignore[arg-type]
    plan = gv.Plan(
        N_ITEMS, 2, gv.networks.path(1), IncompletePCA(), geometry=gv.geometry.Euclidean()
    )
    with pytest.raises(PlanError, match="needs the Grassmann geometry"):
        gv.run(plan, [IncompleteSamples(with_holes(low_rank()))])
