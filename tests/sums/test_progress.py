"""Candidates of a selection are data of the run, the same at every agent and in every program."""

import numpy as np
import pytest
from tests.sums.biased.test_method import CANDIDATE_COLUMNS, plan, table

import grassvine as gv
from grassvine.foundations.arrays import Array
from grassvine.sums import BiasedFactorization, Validated
from grassvine.sums.progress import PREFIX


def run(method: BiasedFactorization | Validated, n_agents: int) -> gv.Run:
    parts = gv.datasets.split_users(table(), n_agents)
    make = gv.CompletionProblem if isinstance(method, Validated) else gv.BiasedCompletionProblem
    agreed = gv.Plan(40, 3, gv.networks.path(n_agents), method, seed=2)
    return gv.run(agreed, [make(part) for part in parts])


def path_of(result: gv.Run) -> dict[str, Array]:
    path = result.validation_path
    assert path is not None
    return dict(path)


def test_every_agent_knows_all_candidates_of_the_search() -> None:
    result = run(BiasedFactorization(ranks=(1, 3)), 3)
    path = path_of(result)
    assert set(path) == set(CANDIDATE_COLUMNS)
    assert set(path["rank"]) == {0.0, 1.0, 3.0} and (np.diff(path["n_sums"]) > 0).all()
    assert path["chosen"].sum() == 1.0
    (best,) = np.flatnonzero(path["chosen"])
    final = result.states[0]["regularization"]
    # The final fit has a tenth more ratings, so the noise scale of the same strength is larger.
    assert 1.0 < final[0] / path["regularization"][best] < 1.2
    assert final[1] == path["bias_regularization"][best]
    assert path["rmse"][best] <= path["rmse"].min() * (1 + 1e-4)
    for agent in (1, 2):
        for name, column in path.items():
            np.testing.assert_array_equal(result.states[agent][PREFIX + name], column)


def test_costs_of_a_candidate_never_rise() -> None:
    """The sums between two errors belong to one fit."""
    result = run(BiasedFactorization(), 2)
    rows = result.history.where(result.history["neighbour"] >= 0).of_agent(0)
    ends = path_of(result)["n_sums"]
    for start, end in zip([0.0, *ends[:-1]], ends, strict=True):
        costs = rows["cost"][(rows["update"] > start) & (rows["update"] < end)]
        costs = costs[np.isfinite(costs)]
        assert len(costs) and (np.diff(costs) <= 1e-9 * costs[0]).all()


def test_the_paper_s_formulation_reports_its_candidates_too() -> None:
    result = run(Validated(any_rank=True), 2)
    path = path_of(result)
    assert {"rank", "regularization", "rmse", "n_sums", "chosen"} == set(path)
    (best,) = np.flatnonzero(path["chosen"])
    assert result.states[0]["unobserved"][0] == path["regularization"][best]
    assert f"{path['rmse'][best]:.4g}" in result.stop_reason


@pytest.mark.parametrize("method", [gv.Exact(), BiasedFactorization(2.0)])
def test_a_method_that_chooses_nothing_has_no_candidates(method: object) -> None:
    parts = gv.datasets.split_users(table(), 2)
    make = gv.CompletionProblem if isinstance(method, gv.Exact) else gv.BiasedCompletionProblem
    agreed = gv.Plan(40, 3, gv.networks.path(2), method)  # type: ignore[arg-type]
    result = gv.run(agreed, [make(part) for part in parts])
    assert result.validation_path is None


def test_the_share_of_a_search_never_falls_and_ends_at_one() -> None:
    shares: list[float] = []
    parts = gv.datasets.split_users(table(), 2)
    agreed = plan(BiasedFactorization(ranks=(1, 3)), gv.networks.path(2))
    problems = [gv.BiasedCompletionProblem(part) for part in parts]
    gv.run(agreed, problems, observers=[lambda r: shares.append(r.share)])
    known = np.array(shares[:-2])  # without the final states
    assert (np.diff(known) >= 0.0).all() and known[-1] == 1.0
    assert 0.2 < known[len(known) // 2] < 0.9  # a rough guess is enough
