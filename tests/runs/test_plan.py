from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.errors import PlanError
from grassvine.gossip import GrowingRho
from grassvine.networks import Schedule

PLAN = gv.Plan(100, 5, gv.networks.path(6), gv.gossip.precon_parallel(rho=1e4, max_iter=50), seed=3)


@given(
    rank=st.integers(1, 9),
    n_agents=st.integers(2, 9),
    seed=st.integers(0, 2**63 - 1),
    rho=st.floats(0.0, 1e12)
    | st.builds(GrowingRho, st.floats(1e-9, 1e9), st.floats(1e-9, 1e12), st.integers(1, 99)),
    start=st.sampled_from(["own", "common"]),
    a=st.none() | st.floats(1e-9, 1e3, exclude_min=True),
    b=st.floats(0.0, 1.0),
    schedule=st.sampled_from(
        [gv.networks.OneEdge(), gv.networks.Matchings(), gv.networks.AllEdges()]
    ),
    geometry=st.sampled_from([gv.geometry.Grassmann(), gv.geometry.Euclidean()]),
    preconditioner=st.sampled_from(["gram", "curvature"]),
)
def test_a_plan_survives_toml(
    rank: int,
    n_agents: int,
    seed: int,
    rho: float | GrowingRho,
    start: str,
    a: float | None,
    b: float,
    schedule: Schedule,
    geometry: gv.geometry.Grassmann | gv.geometry.Euclidean,
    preconditioner: str,
) -> None:
    step = gv.StepSize(a, b)
    method = gv.Gossip(rho, 7, schedule, preconditioner, step, start=start)  # type: ignore[arg-type]
    plan = gv.Plan(9, rank, gv.networks.ring(n_agents), method, geometry, seed)
    again = gv.Plan.from_toml(plan.to_toml())
    assert again == plan
    assert again.fingerprint() == plan.fingerprint()


def test_a_fingerprint_names_exactly_one_plan() -> None:
    others = [
        replace(PLAN, n_items=101),
        replace(PLAN, rank=4),
        replace(PLAN, seed=4),
        replace(PLAN, network=gv.networks.ring(6)),
        replace(PLAN, geometry=gv.geometry.Euclidean()),
        replace(PLAN, method=gv.gossip.precon_parallel(rho=1e5, max_iter=50)),
        replace(PLAN, method=gv.gossip.precon_stochastic(rho=1e4, max_iter=50)),
    ]
    names = {plan.fingerprint() for plan in [PLAN, *others]}
    assert len(names) == 8
    assert replace(PLAN).fingerprint() == PLAN.fingerprint()


def test_a_fingerprint_covers_the_drawn_timetable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents whose random streams differ must not believe that they have the same plan."""
    before = replace(PLAN).fingerprint()
    monkeypatch.setattr(
        "grassvine.runs.plan.stream", lambda seed, *names: np.random.default_rng(99)
    )
    assert replace(PLAN).fingerprint() != before


def test_agents_start_at_different_points() -> None:
    starts = [PLAN.start(agent) for agent in range(6)]
    assert len({start.tobytes() for start in starts}) == 6
    np.testing.assert_array_equal(starts[2], replace(PLAN).start(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(PLAN, rank=101), "rank is 101, but a subspace of 100 items has between"),
        (lambda: replace(PLAN, rank=0), "rank is 0"),
        (lambda: replace(PLAN, rank="2"), "rank must be an integer, not '2'"),  # type: ignore[arg-type]
        (lambda: replace(PLAN, seed=-1), "seed is -1; choose a number of at least 0"),
        (lambda: replace(PLAN, network=gv.networks.path(1)), "a single agent has no neighbours"),
        (
            lambda: PLAN.agent(0, gv.CompletionProblem(ratings())),
            f"the problem of agent 0 has {N_ITEMS} items but the plan has 100",
        ),
    ],
)
def test_options_are_checked(make: object, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 3", "sead = 3", "sead: unknown key 'sead'; did you mean 'seed'"),
        ("seed = 3\n", "", "seed is missing; add it to the plan"),
        ("format = 1", "format = 2", "not of format 1; use the version that wrote it"),
        ("rho = ", "rho_ = ", r"method.rho_: unknown key 'rho_'; did you mean 'rho'"),
        ('"matchings"', '"matching"', "unknown method.schedule 'matching'; did you mean"),
        ('"grassmann"', '"flat"', "unknown geometry 'flat'; choose from euclidean, grassmann"),
        ("rho = 10000.0", 'rho = "much"', "rho must be a number, not 'much'"),
        ("[method]", "[method", "the plan is not valid TOML"),
        ("[method.step]\na = 1.0\nb = 0.0", "step = 3", "step is missing or not a table"),
        ("n_agents = 6", "n_agents = 7", "not connected: it has 2 components"),
        ("n_agents = 6", "n_agents = 100000000000000000000", "it has 99999999999999999995 compon"),
        ("max_iter = 50", "max_iter = 9223372036854775808", "in all; choose a smaller max_iter"),
        ("max_iter = 50", f"max_iter = {'9' * 5000}", "the plan is not valid TOML"),
        ("rho = 10000.0", "rho = 1e999", "rho is inf; choose a finite number"),
        ("seed = 3", f"seed = {'[' * 5000}", r"not valid TOML \(it is nested too deeply"),
        ("format = 1", "format = 1.0", "not of format 1"),
        ('"matchings"', '{ kind = "poisson-clocks", rates = [1.0] }', "got 1 rates for 6 agents"),
        ('"matchings"', '{ kind = "recorded", n_agents = 6, meetings = [] }', "has 0 slots but"),
        (
            '"matchings"',
            '{ kind = "recorded", n_agents = 6, meetings = [[[0, 1], [1, 0]]] }',
            "slot 0 of meetings repeats a pair",
        ),
        (
            '"matchings"',
            '{ kind = "epochs", schedule = "one-edge", epochs = [[5, [[0, 1]]]] }',
            r"the link \(1, 2\) is in no epoch",
        ),
    ],
)
def test_a_wrong_plan_file_is_refused_with_the_place(old: str, new: str, message: str) -> None:
    text = PLAN.to_toml()
    assert old in text
    with pytest.raises(ValueError, match=message):
        gv.Plan.from_toml(text.replace(old, new))


def test_what_has_no_name_cannot_be_written() -> None:
    class Own(gv.geometry.Grassmann):
        pass

    with pytest.raises(PlanError, match="a method of type object cannot be written as TOML"):
        replace(PLAN, method=object()).to_toml()  # type: ignore[arg-type]

    with pytest.raises(PlanError, match="a geometry of type Own cannot be written as TOML"):
        replace(PLAN, geometry=Own()).to_toml()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ('kind = "exact"\nmax_iter = 1000000000', "choose a smaller max_iter"),
        ('kind = "exact"\nby_rank = 3', "by_rank is 3; choose True or False"),
        ('kind = "validated"\nmax_iter = 1000000000', "choose a smaller max_iter"),
        ('kind = "biased-factorization"\nmax_iter = 1000000000', "choose a smaller max_iter"),
        ('kind = "bayesian-factorization"\nranks = 3', "ranks is 3; choose a list of integers"),
        ('kind = "biased-factorization"\nranks = 3', "ranks is 3; choose a list of integers"),
        ('kind = "tracked"\nmax_iter = 1000000000', "choose a smaller max_iter"),
        ('kind = "rextra"\nmax_iter = 1000000000', "choose a smaller max_iter"),
        ('kind = "deepca"\nmax_iter = 1000000000', "choose a smaller max_iter"),
        ('kind = "d-lmafit"\nmax_iter = 1000000000', "choose a smaller max_iter"),
    ],
)
def test_a_plan_without_a_timetable_is_refused_at_once(method: str, message: str) -> None:
    text = PLAN.to_toml()
    with pytest.raises(ValueError, match=message):
        gv.Plan.from_toml(text[: text.index("[method]")] + f"[method]\n{method}\n")
