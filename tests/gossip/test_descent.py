import numpy as np
import pytest
from tests.real_data import movielens_100k
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.errors import BasisError


def test_an_agent_alone_recovers_a_table_it_holds_whole() -> None:
    data = gv.datasets.low_rank_ratings(60, 400, 3, oversampling=6.0, noise=0.0, seed=4)
    start = gv.Plan(60, 3, gv.networks.path(2)).start(0)
    found = gv.gossip.descend(gv.CompletionProblem(data.ratings), start, 200)
    # Noise-free data: the subspace is found to rounding, times the condition of the table.
    assert gv.geometry.Grassmann().distance(found, data.subspace) < 1e-10


def test_unit_steps_descend_on_a_real_table() -> None:
    """Items and users of very unequal counts: a mean density instead of item scales diverges."""
    table = movielens_100k()
    problem = gv.CompletionProblem(table, unobserved=0.1)
    start = gv.Plan(table.n_items, 5, gv.networks.path(2)).start(0)
    points = [gv.gossip.descend(problem, start, n_updates) for n_updates in (0, 5, 20, 80, 300)]
    costs = [problem.evaluate(point).cost for point in points]
    assert costs == sorted(costs, reverse=True)
    gradients = [
        float(np.linalg.norm(gv.geometry.Grassmann().project(p, problem.evaluate(p).gradient)))
        for p in (points[0], points[-1])
    ]
    # Linear convergence: 300 updates gained six digits when this was written.
    assert gradients[1] < 1e-3 * gradients[0]


def test_it_leaves_its_start_alone_and_repeats_its_bits() -> None:
    problem = gv.CompletionProblem(ratings(), unobserved=0.1)
    start = np.eye(N_ITEMS)[:, :3]
    before = start.copy()
    first = gv.gossip.descend(problem, start, 5)
    assert gv.gossip.descend(problem, start, 5).tobytes() == first.tobytes()
    np.testing.assert_array_equal(start, before)


def test_its_start_is_checked() -> None:
    with pytest.raises(BasisError, match="start has shape 3×3, not 20×rank"):
        gv.gossip.descend(gv.CompletionProblem(ratings()), np.eye(3), 5)
