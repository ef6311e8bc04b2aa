"""Gossip by the estimators: what ``rho="auto"`` means, and the warning where agents end apart."""

import warnings
from typing import Any

import numpy as np
import pytest

import grassvine as gv
from grassvine.fits.convergence import warn_disagreement
from grassvine.foundations.errors import ConvergenceWarning
from grassvine.foundations.seeds import stream
from grassvine.gossip import GrowingRho
from grassvine.runs import Run


def samples() -> Any:
    return stream(0, "data", "consensus").standard_normal((24, 6)) * [3, 2.5, 1, 1, 1, 1]


def ratings() -> Any:
    """Every user has rated every item, as a dense matrix of users × items."""
    return samples() + 3.0


def tasks() -> tuple[Any, Any, Any]:
    rng = stream(0, "data", "consensus tasks")
    x = rng.standard_normal((48, 5))
    return x, x[:, 0] + 0.1 * rng.standard_normal(48), np.repeat(np.arange(6), 8)


def fitted(kind: str, **options: Any) -> Any:
    options = {"agents": 3, "max_iter": 5, "method": "gossip", "random_state": 0, **options}
    if kind == "completion":
        return gv.MatrixCompleter(2, **options).fit(ratings())
    if kind == "pca":
        return gv.DecentralizedPCA(2, **options).fit(samples())
    x, y, ids = tasks()
    return gv.MultitaskRegressor(2, **options).fit(x, y, ids)


KINDS = ("completion", "multitask", "pca")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::grassvine.foundations.errors.ConvergenceWarning")
def test_auto_grows_from_one_start_and_everything_else_is_as_printed(kind: str) -> None:
    method = fitted(kind).plan_.method
    assert isinstance(method.rho, GrowingRho) and method.start == "common"
    assert method.rho.stop == pytest.approx(20 * 3 * method.rho.start)
    assert method.rho.num == method.max_iter == 10
    for printed in ({"rho": 2.0}, {"method": "precon-stochastic"}, {"method": "parallel"}):
        method = fitted(kind, **printed).plan_.method
        assert isinstance(method.rho, float) and method.rho > 0.0 and method.start == "own"


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_without_consensus_warns_and_suggests_what_to_try(kind: str) -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        model = fitted(kind, rho=1e-9)
    assert model.agreement_ > 5.0
    (message,) = {str(warning.message) for warning in caught if "agree" in str(warning.message)}
    assert message == (
        f"the agents do not agree: two neighbours end {model.agreement_:.0f} degrees apart; use "
        "method='gossip' with rho='auto', allow more updates, use a network with more links, or "
        "choose an exact method."
    )
    assert caught[0].filename == __file__ or caught[-1].filename == __file__


def chain(degrees: float, count: int = 9) -> Run:
    """Lines in a plane on a path, each turned from the one before."""
    angles = np.radians(degrees * (np.arange(count) - count // 2))
    bases = tuple(np.array([[np.cos(a)], [np.sin(a)], [0.0]]) for a in angles)
    method = gv.Gossip(GrowingRho(1.0, 2.0, 5), start="common")
    plan = gv.Plan(3, 1, gv.networks.path(count), method)
    history: Any = None
    return Run(plan, bases, (), history, 5, "the timetable ended")


def test_an_agent_that_is_clearly_worse_than_the_mean_warns_though_neighbours_agree() -> None:
    problems = [gv.PCAProblem(np.diag([1.0, 0.1, 0.1])) for _ in range(9)]
    with pytest.warns(ConvergenceWarning) as caught:
        warn_disagreement(chain(4.0), problems)
    # The end of the chain is 16° away, so it misses sin²16° of the long axis.
    assert str(caught[0].message) == (
        "the agents do not agree: on all data, the subspace of agent 0 has an RMS error of 0.103, "
        "that of the mean of all agents 0.0471; allow more updates, use a network with more links, "
        "or choose an exact method."
    )


def test_agents_that_agree_or_are_as_good_as_the_mean_do_not_warn() -> None:
    round_data = [gv.PCAProblem(np.diag([1.0, 1.0, 0.1])) for _ in range(9)]
    elsewhere = [lambda: gv.PCAProblem(np.diag([1.0, 0.1, 0.1]))] * 9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_disagreement(chain(4.0), round_data)
        warn_disagreement(chain(4.0), elsewhere)
        warn_disagreement(chain(0.5), [gv.PCAProblem(np.diag([1.0, 0.0, 0.0]))] * 9)
