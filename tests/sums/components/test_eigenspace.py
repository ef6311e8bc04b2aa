"""Principal components over sums, held against the eigenvectors of the pooled samples."""

from itertools import pairwise

import numpy as np
import pytest

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import PlanError
from grassvine.foundations.seeds import stream
from grassvine.sums.components.eigenspace import (
    COLUMNS_PER_COMPONENT,
    MAX_BLOCKS,
    MAX_ITEMS,
    Costs,
    effective_rank,
)
from grassvine.sums.own import Data
from grassvine.sums.program import ProgramOutcome, first_part, flat, next_part, shaped

GRASSMANN = gv.geometry.Grassmann()
MATRIX = "the components are those of the summed matrix"


def sorted_samples(n_samples: int, spread: Array) -> Array:
    """Sorted by their first item, so that agents hold very different samples."""
    values = stream(5, "data", "krylov").standard_normal((n_samples, len(spread))) * spread
    return np.ascontiguousarray(values[np.argsort(values[:, 0])])


def leading(samples: Array, rank: int) -> Array:
    return np.ascontiguousarray(np.linalg.svd(samples, full_matrices=False)[2][:rank].T)


def find(samples: Array, rank: int, share: float = 0.0) -> tuple[ProgramOutcome, list[int]]:
    """Run the program for one owner of all samples; return its end and the sizes of its sums."""
    start = gv.Plan(samples.shape[1], rank, gv.networks.path(2)).start(0)
    method = gv.Exact(explained_variance_ratio=share)
    problem = gv.PCAProblem(samples)
    program, data = method.program(problem, start, 0), Data(problem)
    part, sizes = first_part(program), []
    while True:
        numbers, shapes = flat(part.of(data))
        sizes.append(numbers.size)
        try:
            part = next_part(program, shaped(numbers, shapes))
        except StopIteration as end:
            return end.value, sizes


def number_needed(samples: Array, share: float) -> int:
    """Return what scikit-learn's PCA returns for a share of the variance."""
    squares = np.linalg.svd(samples, compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(squares) / squares.sum(), share, side="right")) + 1


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
@pytest.mark.parametrize(
    ("n_items", "reason"),
    [
        (40, MATRIX),
        (600, "the gradient is zero up to rounding"),
    ],
)
def test_agents_with_different_samples_find_the_eigenspace_of_all(
    network: gv.networks.Network, n_items: int, reason: str
) -> None:
    samples = sorted_samples(300, np.geomspace(3.0, 0.3, n_items))
    problems = [gv.PCAProblem(part) for part in gv.datasets.split_samples(samples, 6)]
    result = gv.run(gv.Plan(n_items, 4, network, gv.Exact()), problems)
    assert result.stop_reason == reason
    # Agents of one process compute what all have in common once.
    assert len({id(state["basis"]) for state in result.states}) == 1
    # Rounding of 1e-15·‖C‖ over the gap of eigenvalues, here a hundredth of ‖C‖ and more.
    assert GRASSMANN.distance(result.bases[0], leading(samples, 4)) < 1e-12


def test_few_items_take_one_sum_of_half_a_matrix() -> None:
    limit = 2 * COLUMNS_PER_COMPONENT * (3 + 1) - 1
    for n_items in (limit, limit + 1):
        samples = sorted_samples(300, np.geomspace(3.0, 0.3, n_items))
        sizes = find(samples, 3)[1]
        if n_items == limit:
            assert sizes == [n_items * (n_items + 1) // 2]
        else:
            assert sizes[0] == 3 * n_items + 2  # numbers of samples and agents


def test_a_flat_spectrum_is_found_by_the_matrix_after_one_block() -> None:
    """No block leads far, because the effective rank is nearly the number of items."""
    samples = sorted_samples(3000, np.linspace(1.1, 1.0, 300))
    ending, sizes = find(samples, 3)
    assert ending.reason == MATRIX
    assert sizes == [3 * 300 + 2, 300 * 301 // 2]
    # Rounding over a gap of eigenvalues of 1e-3·‖C‖.
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, 3)) < 1e-11


def test_blocks_that_cost_as_much_as_the_matrix_give_way_to_it() -> None:
    """Two strong directions hide that the third and fourth are hard to find."""
    samples = sorted_samples(3000, np.r_[30.0, 20.0, np.linspace(1.05, 1.0, 498)])
    ending, sizes = find(samples, 4)
    assert ending.reason == MATRIX
    assert sizes[-1] == 500 * 501 // 2 and len(sizes) > 3
    costs = Costs(500, 4, 3000.0, 1.0)
    columns = sum(sizes[:-1]) / 500
    assert costs.of_columns(columns - 4) <= costs.of_matrix() < costs.of_columns(columns)
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, 4)) < 1e-10


def test_agents_that_send_prefer_blocks_longer() -> None:
    alone, together = Costs(1000, 10, 20_000.0, 1.0), Costs(1000, 10, 200_000.0, 10.0)
    affordable = [
        max(k for k in range(1, 1000) if costs.of_columns(k) < costs.of_matrix())
        for costs in (alone, together)
    ]
    # Of the numbers of the matrix, which are those of 500 columns.
    assert affordable[0] < affordable[1] < 500


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_effective_rank_is_estimated_from_a_block(exponent: float) -> None:
    values = np.arange(1.0, 1001.0) ** -exponent
    turn = np.linalg.qr(stream(1, "data", "effective rank").standard_normal((1000, 1000)))[0]
    block = gv.Plan(1000, 10, gv.networks.path(2)).start(0)
    expected = values.sum() ** 2 / np.sum(values**2)
    found = effective_rank(block, turn @ (values[:, None] * (turn.T @ block)))
    # Ten columns estimate a trace that one eigenvalue dominates to about √(2/10).
    assert found == pytest.approx(expected, rel=0.6)
    assert effective_rank(block, np.zeros((1000, 10))) == 0.0


def test_a_block_shrinks_as_components_are_found() -> None:
    samples = sorted_samples(300, np.geomspace(3.0, 0.003, 400))
    widths = [size // 400 for size in find(samples, 10)[1]]
    assert widths[0] == 10 and widths[-1] < 5
    assert all(after <= before for before, after in pairwise(widths))


def test_fewer_samples_than_items_take_at_most_the_numbers_of_the_samples() -> None:
    """The Krylov space lies in the span of start and samples, and a last block is of rounding."""
    samples = sorted_samples(20, np.linspace(2.0, 1.0, 1000))
    ending, sizes = find(samples, 5)
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, 5)) < 1e-12
    assert sum(sizes) <= (20 + 2 * 5) * 1000


@pytest.mark.parametrize("rank", [4, 10])
def test_an_eigenvalue_of_full_multiplicity_is_found(rank: int) -> None:
    turn = np.linalg.qr(stream(1, "data", "multiple").standard_normal((300, 300)))[0]
    samples = (turn * np.sqrt(np.r_[np.full(rank, 5.0), np.linspace(4.5, 1.0, 300 - rank)])).T
    ending, _ = find(np.ascontiguousarray(samples), rank)
    assert GRASSMANN.distance(ending.iterate.basis, np.ascontiguousarray(turn[:, :rank])) < 1e-11


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("shape", [(400, 30), (400, MAX_ITEMS + 1), (40, 200)], ids=str)
def test_as_many_components_are_found_as_explain_a_share(
    shape: tuple[int, int], share: float
) -> None:
    spread = np.zeros(shape[1])
    spread[:120] = np.arange(1.0, min(shape[1], 120) + 1.0) ** -0.7
    samples = sorted_samples(shape[0], spread)
    ending, sizes = find(samples, 5, share)
    wanted = number_needed(samples, share)
    assert ending.iterate.basis.shape == (shape[1], wanted)
    # Rounding of 1e-15·‖C‖ over gaps of eigenvalues of 1e-4·‖C‖ and more.
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, wanted)) < 1e-9
    assert sizes[0] == 2  # the trace and the number of samples
    assert (len(sizes) == 2) == (shape == (400, 30))


def test_a_share_is_reached_with_eigenvalues_of_high_multiplicity() -> None:
    turn = np.linalg.qr(stream(1, "data", "multiple").standard_normal((100, 100)))[0]
    values = np.r_[np.full(30, 5.0), np.full(70, 1e-3)]
    samples = np.zeros((100, MAX_ITEMS + 1))
    samples[:, :100] = (turn * np.sqrt(values)).T
    basis = find(samples, 10, 0.9)[0].iterate.basis
    assert basis.shape[1] == number_needed(samples, 0.9) == 28
    captured = np.linalg.norm(samples @ basis) ** 2
    assert captured == pytest.approx(28 * 5.0, rel=1e-12)


def test_a_share_is_only_for_components() -> None:
    table = gv.datasets.low_rank_ratings(20, 60, 2, oversampling=4.0, seed=1).ratings
    plan = gv.Plan(20, 2, gv.networks.path(2), gv.Exact(explained_variance_ratio=0.9))
    problems = [gv.CompletionProblem(part) for part in gv.datasets.split_users(table, 2)]
    with pytest.raises(PlanError, match="principal components, not for CompletionPr"):
        gv.run(plan, problems)
    with pytest.raises(PlanError, match="explained_variance_ratio is 1; choose"):
        gv.Exact(explained_variance_ratio=1.0)


def test_it_takes_far_fewer_sums_than_orthogonal_iterations() -> None:
    samples = sorted_samples(400, np.linspace(2.0, 1.0, 200))
    wanted = leading(samples, 5)
    ending, sizes = find(samples, 5)
    assert GRASSMANN.distance(ending.iterate.basis, wanted) < 1e-11
    basis = gv.Plan(200, 5, gv.networks.path(2)).start(0)
    for _ in range(5 * len(sizes)):
        basis = np.ascontiguousarray(np.linalg.qr(samples.T @ (samples @ basis))[0])
    assert GRASSMANN.distance(basis, wanted) > 1e-6


def test_a_space_that_grew_too_large_shrinks_to_its_best_part() -> None:
    spread = np.r_[np.linspace(1.5, 1.0, 300), np.zeros(MAX_ITEMS - 299)]
    samples = sorted_samples(400, spread)
    ending, sizes = find(samples, 2)
    assert len(sizes) > MAX_BLOCKS
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, 2)) < 1e-11


def test_cost_and_gradient_are_those_of_the_basis() -> None:
    samples = sorted_samples(100, np.geomspace(3.0, 0.003, 200))
    problem = gv.PCAProblem(samples)
    start = gv.Plan(200, 3, gv.networks.path(2)).start(0)
    program, data = gv.Exact().program(problem, start, 0), Data(problem)
    part = next_part(program, shaped(*flat(first_part(program).of(data))))
    for _ in range(3):
        there = problem.evaluate(part.iterate.basis)
        gradient = GRASSMANN.project(part.iterate.basis, there.gradient)
        assert part.iterate.cost == pytest.approx(there.cost, rel=1e-12)
        assert part.iterate.gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-9)
        part = next_part(program, shaped(*flat(part.of(data))))


@pytest.mark.parametrize("rank", [1, 4, 7, 8])
def test_a_space_that_holds_everything_is_the_end(rank: int) -> None:
    samples = sorted_samples(30, np.linspace(2.0, 1.0, 8))
    ending, sizes = find(samples, rank)
    assert sizes == [8 * 9 // 2]
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, rank)) < 1e-12


@pytest.mark.parametrize("n_items", [12, 200])
def test_samples_of_lower_rank_than_requested_are_explained_whole(n_items: int) -> None:
    samples = sorted_samples(30, np.array([2.0, 1.0] + [0.0] * (n_items - 2)))
    basis = find(samples, 4)[0].iterate.basis
    assert np.linalg.norm(samples - samples @ basis @ basis.T) < 1e-12 * np.linalg.norm(samples)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-14)
    nothing = find(np.zeros((5, n_items)), 2)[0]
    assert nothing.iterate.cost == 0.0


def test_components_of_uneven_features_are_found() -> None:
    """Variances from 1 to 1e-8, as raw features have them."""
    samples = sorted_samples(400, np.logspace(0, -4, 200))
    ending, sizes = find(samples, 10)
    # Rounding of the largest variance over the gap behind the tenth: about 1e-16/1e-2.
    assert GRASSMANN.distance(ending.iterate.basis, leading(samples, 10)) < 1e-11
    assert len(sizes) < 20
