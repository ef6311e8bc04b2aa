from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import N_ITEMS, ratings, scarce_ratings

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import DataError
from grassvine.foundations.seeds import stream


def dense(table: gv.Ratings) -> tuple[Array, Array]:
    """The table as users×items, and where it is known."""
    values = np.zeros((table.n_users, table.n_items))
    known = np.zeros(values.shape, dtype=bool)
    users = table.users_of_values()
    values[users, table.items] = table.values
    known[users, table.items] = True
    return values, known


def by_the_book(
    table: gv.Ratings, basis: Array, lam: float, regularization: float
) -> tuple[float, Array, Array]:
    """Cost, gradient and weights straight from the definition, user by user."""
    values, known = dense(table)
    gram = basis.T @ basis
    weights = np.zeros((table.n_users, basis.shape[1]))
    for user in range(table.n_users):
        rows = basis[known[user]]
        system = (1 - lam) * rows.T @ rows + (lam + regularization) * gram
        weights[user] = np.linalg.lstsq(system, rows.T @ values[user, known[user]], rcond=1e-10)[0]
    fitted = weights @ basis.T
    errors = np.where(known, fitted - values, 0.0)
    unknown = np.where(known, 0.0, fitted)
    cost = 0.5 * (np.sum(errors**2) + lam * np.sum(unknown**2) + regularization * np.sum(fitted**2))
    return float(cost), (errors + lam * unknown + regularization * fitted).T @ weights, weights


@settings(max_examples=60)
@given(
    rank=st.integers(1, 8),
    lam=st.sampled_from([0.0, 0.01, 0.5]),
    regularization=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 2**32),
    flat=st.booleans(),
)
def test_the_kernel_follows_the_definition(
    rank: int, lam: float, regularization: float, seed: int, flat: bool
) -> None:
    table = ratings(seed)
    space = gv.geometry.Euclidean() if flat else gv.geometry.Grassmann()
    basis = space.random_point(N_ITEMS, rank, stream(seed, "start"))
    problem = gv.CompletionProblem(table, unobserved=lam, tikhonov=regularization)
    cost, gradient, weights = by_the_book(table, basis, lam, regularization)
    found = problem.evaluate(basis)
    # At λ = μ = 0 and rank 8 a user with 8 ratings has a system of condition up to about 1e7.
    np.testing.assert_allclose(found.cost, cost, rtol=1e-8)
    np.testing.assert_allclose(
        found.gradient, gradient, atol=1e-6 * float(np.linalg.norm(gradient))
    )
    np.testing.assert_allclose(
        problem.weights(basis), weights, atol=1e-5 * float(np.linalg.norm(weights))
    )


@pytest.mark.parametrize("lam", [0.0, 0.1, 0.9])
def test_the_jitter_moves_weights_and_gradient_at_every_lambda_but_not_the_cost(lam: float) -> None:
    table, rank = ratings(), 4
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, rank, stream(0, "start"))
    problem = gv.CompletionProblem(table, unobserved=lam)
    weights, (values, known) = problem.weights(basis), dense(table)
    for user in np.flatnonzero(known.sum(axis=1) >= rank):
        rows = basis[known[user]]
        system = (1 - lam) * rows.T @ rows + lam * np.eye(rank)
        raised = 1e-13 * np.trace(rows.T @ rows) * weights[user]
        rest = rows.T @ values[user, known[user]] - system @ weights[user]
        # Rounding is about 1e-16 of the right side, the jitter rank times 1e-13.
        np.testing.assert_allclose(rest, raised, atol=0.02 * float(np.linalg.norm(raised)))
    found = problem.evaluate(basis)
    cost, gradient, _ = by_the_book(table, basis, lam, 0.0)
    assert found.cost == pytest.approx(cost, rel=1e-14)
    moved = np.linalg.norm(found.gradient - gradient) / np.linalg.norm(gradient)
    assert 1e-13 < moved < 1e-11  # the condition of these systems is below 20


@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_users_with_few_or_no_ratings_are_handled(lam: float) -> None:
    table = scarce_ratings()
    problem = gv.CompletionProblem(table, unobserved=lam)
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, 5, np.random.default_rng(0))
    evaluation = problem.evaluate(basis)
    weights = problem.weights(basis)
    assert np.isfinite(evaluation.gradient).all() and np.isfinite(weights).all()
    assert not weights[0].any()  # no ratings, no weights
    assert evaluation.gradient[0] @ evaluation.gradient[0] < 1e-20 or lam  # nobody rated item 0
    if lam == 0.0:
        # Fewer ratings than dimensions: the shortest weights that fit them exactly.
        for user in (1, 2):
            rows = basis[table.items[table.starts[user] : table.starts[user + 1]]]
            known = table.values[table.starts[user] : table.starts[user + 1]]
            shortest = np.linalg.lstsq(rows, known, rcond=None)[0]
            np.testing.assert_allclose(weights[user], shortest, rtol=1e-2)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_bits_do_not_depend_on_the_number_of_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grassvine.problems.blocks.LEAST_VALUES_IN_BLOCK", 50)
    table = ratings(0, n_users=400)
    one = gv.CompletionProblem(table, unobserved=0.1)
    many = gv.CompletionProblem(table, unobserved=0.1, threads=threads)
    assert len(one._blocks) == 8
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, 4, np.random.default_rng(0))
    direction = np.random.default_rng(1).standard_normal((N_ITEMS, 4))
    first, second = one.evaluate(basis), many.evaluate(basis)
    assert first.cost == second.cost and first.squared_error == second.squared_error
    assert first.gradient.tobytes() == second.gradient.tobytes()
    assert first.gram.tobytes() == second.gram.tobytes()
    assert one.weights(basis).tobytes() == many.weights(basis).tobytes()
    product = one.hessian_product(basis, direction)
    assert product.tobytes() == many.hessian_product(basis, direction).tobytes()


def test_blocks_cover_every_user_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grassvine.problems.blocks.LEAST_VALUES_IN_BLOCK", 1)
    bounds = gv.CompletionProblem(ratings(0, n_users=400))._blocks
    assert len(bounds) == 8
    assert [user for first, last in bounds for user in range(first, last)] == list(range(400))


def test_parts_add_up_to_the_whole() -> None:
    table = ratings(0)
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, 4, np.random.default_rng(0))
    whole = gv.CompletionProblem(table, unobserved=0.1).evaluate(basis)
    parts = [
        gv.CompletionProblem(part, unobserved=0.1).evaluate(basis)
        for part in gv.datasets.split_users(table, 7)
    ]
    # The same numbers added in another order.
    assert sum(part.cost for part in parts) == pytest.approx(whole.cost, rel=1e-13)
    total = np.sum([part.gradient for part in parts], axis=0)
    np.testing.assert_allclose(total, whole.gradient, atol=1e-12)


@pytest.mark.parametrize(("lam", "regularization"), [(0.0, 0.0), (0.1, 0.0), (0.1, 2.0)])
def test_the_scale_of_an_item_is_the_share_of_the_energy_of_its_users(
    lam: float, regularization: float
) -> None:
    table = scarce_ratings()
    _, known = dense(table)
    problem = gv.CompletionProblem(table, unobserved=lam, tikhonov=regularization)
    basis = gv.geometry.Grassmann().random_point(N_ITEMS, 3, np.random.default_rng(0))
    seen = np.sum(np.where(known, problem.weights(basis) @ basis.T, 0.0) ** 2, axis=1)
    traces = known @ np.sum(basis**2, axis=1)
    energies = np.divide(3 * seen, traces, out=np.zeros_like(seen), where=traces > 0)
    shares = known.T @ energies / energies.sum()
    shares[0] = 1 / table.n_users  # nobody rated item 0
    counts = np.maximum(known.sum(axis=0), 1)
    wanted = (1 - lam) * shares * (1 + np.sqrt(3 / counts)) ** 2 + lam + regularization
    np.testing.assert_allclose(problem.evaluate(basis).item_scales, wanted, rtol=1e-10)


@pytest.mark.parametrize("lam", [0.0, 0.05, 0.3])
def test_the_curvature_bounds_the_hessian_with_weights_held_fixed(lam: float) -> None:
    """diag(s)·ξ·K against Σ w_j w_jᵀ at each item, for a table with users of unequal counts."""
    table = gv.datasets.low_rank_ratings(60, 500, 3, oversampling=6.0, noise=0.1, seed=2).ratings
    problem = gv.CompletionProblem(table, unobserved=lam)
    basis = gv.gossip.descend(problem, gv.Plan(60, 3, gv.networks.path(2)).start(0), 50)
    weights, evaluation = problem.weights(basis), problem.evaluate(basis)
    _, known = dense(table)
    for item in range(60):
        mine = weights[known[:, item]]
        block = (1 - lam) * mine.T @ mine + lam * evaluation.gram
        bound = evaluation.item_scales[item] * evaluation.curvature
        # A step of length 1 is stable while the block is below twice the bound.
        assert np.linalg.eigvals(np.linalg.solve(bound, block)).real.max() < 2.0


def test_an_agent_without_any_rating_only_follows_its_neighbours() -> None:
    silent = gv.Ratings.from_arrays([0], [0], [1.0], n_users=5, n_items=N_ITEMS).take_users(1, 5)
    evaluation = gv.CompletionProblem(silent).evaluate(np.eye(N_ITEMS)[:, :3])
    assert evaluation.cost == 0.0 and not evaluation.gradient.any()
    assert np.isfinite(evaluation.item_scales).all()


def test_one_compilation_serves_every_rank() -> None:
    from grassvine.problems import _kernels

    def compiled() -> int:
        kernel: Any = _kernels.evaluate_users
        return len(kernel.signatures)

    problem = gv.CompletionProblem(ratings(0))
    problem.evaluate(gv.geometry.Grassmann().random_point(N_ITEMS, 1, np.random.default_rng(0)))
    before = compiled()
    for rank in (2, 3, 4, 7):
        problem.evaluate(
            gv.geometry.Grassmann().random_point(N_ITEMS, rank, np.random.default_rng(0))
        )
    assert compiled() == before > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unobserved": 1.0}, "unobserved is 1; choose a finite number of at least 0 and below 1"),
        ({"unobserved": -0.1}, "unobserved is -0.1"),
        ({"tikhonov": float("nan")}, "tikhonov is nan; choose a finite number"),
        ({"threads": 0}, "threads is 0; choose a number of at least 1"),
    ],
)
def test_options_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        gv.CompletionProblem(ratings(0), **options)  # type: ignore[arg-type]
