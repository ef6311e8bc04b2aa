"""Principal components over sums, held against the eigenvectors of the pooled samples."""

import numpy as np
import pytest

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.seeds import stream
from grassvine.sums.krylov import MAX_BLOCKS
from grassvine.sums.program import ProgramOutcome, flat, shaped

GRASSMANN = gv.geometry.Grassmann()


def sorted_samples(n_samples: int, spread: Array) -> Array:
    """Sorted by their first item, so that agents hold very different samples."""
    values = stream(5, "data", "krylov").standard_normal((n_samples, len(spread))) * spread
    return np.ascontiguousarray(values[np.argsort(values[:, 0])])


def leading(samples: Array, rank: int) -> Array:
    return np.ascontiguousarray(np.linalg.svd(samples, full_matrices=False)[2][:rank].T)


def find(samples: Array, rank: int) -> tuple[ProgramOutcome, int]:
    """Run the program for one owner of all samples; return its end and the number of sums."""
    start = gv.Plan(samples.shape[1], rank, gv.networks.path(2)).start(0)
    program = gv.Exact().program(gv.PCAProblem(samples), start, 0)
    part, n_sums = next(program), 0
    while True:
        n_sums += 1
        try:
            part = program.send(shaped(*flat(part.compute())))
        except StopIteration as end:
            return end.value, n_sums


@pytest.mark.parametrize(
    "network",
    [
        gv.networks.path(6),
        gv.networks.ring(6),
        gv.networks.grid(6),
        gv.networks.star(6),
        gv.networks.exponential(6),
    ],
    ids=["path", "ring", "grid", "star", "exponential"],
)
def test_agents_with_different_samples_find_the_eigenspace_of_all(
    network: gv.networks.Network,
) -> None:
    samples = sorted_samples(300, np.linspace(3.0, 1.0, 40))
    problems = [gv.PCAProblem(part) for part in gv.datasets.split_samples(samples, 6)]
    result = gv.run(gv.Plan(40, 4, network, gv.Exact()), problems)
    assert result.stop_reason == "the gradient is zero up to rounding"
    assert len({basis.tobytes() for basis in result.bases}) == 1
    # Rounding of 1e-15·‖C‖ over the gap of eigenvalues, here a hundredth of ‖C‖ and more.
    assert GRASSMANN.distance(result.bases[0], leading(samples, 4)) < 1e-12


def test_it_takes_far_fewer_sums_than_orthogonal_iterations() -> None:
    samples = sorted_samples(400, np.linspace(2.0, 1.0, 200))
    wanted = leading(samples, 5)
    ending, n_sums = find(samples, 5)
    assert GRASSMANN.distance(ending.iterate.basis, wanted) < 1e-11
    basis = gv.Plan(200, 5, gv.networks.path(2)).start(0)
    for _ in range(5 * n_sums):
        basis = np.ascontiguousarray(np.linalg.qr(samples.T @ (samples @ basis))[0])
    assert GRASSMANN.distance(basis, wanted) > 1e-6


def test_a_space_that_grew_too_large_shrinks_to_its_best_part() -> None:
    samples = sorted_samples(400, np.linspace(1.5, 1.0, 300))
    ending, n_sums = find(samples, 2)
    assert n_sums > MAX_BLOCKS
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, 2)) < 1e-11


def test_cost_and_gradient_are_those_of_the_basis() -> None:
    samples = sorted_samples(100, np.linspace(3.0, 1.0, 20))
    problem = gv.PCAProblem(samples)
    start = gv.Plan(20, 3, gv.networks.path(2)).start(0)
    program = gv.Exact().program(problem, start, 0)
    part = program.send(shaped(*flat(next(program).compute())))
    for _ in range(3):
        there = problem.evaluate(part.iterate.basis)
        gradient = GRASSMANN.project(part.iterate.basis, there.gradient)
        assert part.iterate.cost == pytest.approx(there.cost, rel=1e-12)
        assert part.iterate.gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-9)
        part = program.send(shaped(*flat(part.compute())))


@pytest.mark.parametrize("rank", [1, 4, 7, 8])
def test_a_space_that_holds_everything_is_the_end(rank: int) -> None:
    samples = sorted_samples(30, np.linspace(2.0, 1.0, 8))
    ending, n_sums = find(samples, rank)
    assert n_sums <= -(-8 // rank)
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, rank)) < 1e-12


def test_samples_of_lower_rank_than_asked_for_are_explained_whole() -> None:
    samples = sorted_samples(30, np.array([2.0, 1.0] + [0.0] * 10))
    basis = find(samples, 4)[0].iterate.basis
    assert np.linalg.norm(samples - samples @ basis @ basis.T) < 1e-12 * np.linalg.norm(samples)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-14)
    nothing = find(np.zeros((5, 6)), 2)[0]
    assert nothing.iterate.cost == 0.0


def test_components_of_uneven_features_are_found() -> None:
    """Variances from 1 to 1e-8, as raw features have them."""
    samples = sorted_samples(200, np.logspace(0, -4, 20))
    ending, n_sums = find(samples, 10)
    # Rounding of the largest variance over the gap behind the tenth: about 1e-16/1e-5.
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, 10)) < 1e-9
    assert n_sums < 20
