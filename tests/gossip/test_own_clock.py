"""Asynchronous gossip: steps by an agent's own updates, meetings by its own clock, and replays."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.engines.process_engine import ProcessEngine
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.engines import Engine
from grassvine.foundations.arrays import Array
from grassvine.foundations.errors import NetworkError, PlanError
from grassvine.foundations.seeds import stream
from grassvine.networks import Epochs, PoissonClocks, Recorded, Schedule, Timetable

STEP = gv.StepSize(1e-4, 0.5)
CLOCKS = PoissonClocks((1.0, 10.0, 0.1, 1.0))
OWN = gv.Gossip(2.0, 40, CLOCKS, "none", STEP, "own")
EPOCHS = Epochs(PoissonClocks(), ((5, ((0, 1), (2, 3))), (3, ((1, 2),))))


def plan(method: gv.Gossip = OWN) -> gv.Plan:
    return gv.Plan(N_ITEMS, 3, gv.networks.path(4), method, seed=5)


def run(chosen: gv.Plan, engine: Engine | None = None) -> gv.Run:
    parts = gv.datasets.split_users(ratings(), 4)
    problems = [gv.CompletionProblem(part, unobserved=0.1) for part in parts]
    return gv.run(chosen, problems, engine=engine)


def require_equal_state(one: gv.Run, other: gv.Run) -> None:
    assert [basis.tobytes() for basis in one.bases] == [basis.tobytes() for basis in other.bases]
    for name, column in one.history.columns.items():
        np.testing.assert_array_equal(other.history[name], column, err_msg=name)


def test_steps_fall_with_an_agent_s_own_updates() -> None:
    """a is so small that no step is held back."""
    result = run(plan())
    counts = []
    for agent in range(4):
        steps = result.history.of_agent(agent)["step"][:-1]
        np.testing.assert_array_equal(steps, [1e-4 / (1 + 0.5 * k) for k in range(len(steps))])
        counts.append(len(steps))
    assert max(counts) > 1.5 * min(counts) > 0


def test_on_the_common_clock_steps_fall_with_the_slot() -> None:
    history = run(plan(replace(OWN, clock="common"))).history
    moved = history.where(history["neighbour"] >= 0)
    np.testing.assert_array_equal(moved["step"], 1e-4 / (1 + 0.5 * moved["slot"]))


@pytest.mark.parametrize("preconditioner", ["none", "curvature"])
def test_steps_that_do_not_fall_need_no_clock(preconditioner: str) -> None:
    method = gv.Gossip(2.0, 40, CLOCKS, preconditioner, gv.StepSize(None))  # type: ignore[arg-type]
    require_equal_state(run(plan(method)), run(plan(replace(method, clock="own"))))


def test_where_all_move_at_every_slot_the_clocks_agree() -> None:
    method = replace(OWN, schedule=gv.networks.AllEdges(), clock="common")
    require_equal_state(run(plan(method)), run(plan(replace(method, clock="own"))))


def test_an_agent_with_a_clock_of_its_own_keeps_to_what_engines_rely_on() -> None:
    one, other, *_ = (
        partial(OWN.agent, plan(), number, gv.CompletionProblem(part))
        for number, part in enumerate(gv.datasets.split_users(ratings(), 4))
    )
    gv.checks.check_agent(one, other())


@pytest.mark.parametrize("engine", [gv.ThreadsEngine(3), ProcessEngine()], ids=["threads", "bytes"])
@pytest.mark.parametrize("schedule", [CLOCKS, EPOCHS], ids=["clocks", "epochs"])
def test_engines_agree(engine: Engine, schedule: Schedule) -> None:
    chosen = plan(replace(OWN, schedule=schedule))
    require_equal_state(run(chosen), run(chosen, engine))


def test_a_recorded_run_is_replayed_to_the_same_bits(tmp_path: Path) -> None:
    first = run(plan())
    first.plan.timetable.save(tmp_path / "meetings.safetensors")
    record = Recorded.of(Timetable.load(tmp_path / "meetings.safetensors"))
    again = plan(replace(OWN, schedule=record))
    require_equal_state(first, run(again))
    assert again.timetable.digest() == first.plan.timetable.digest()
    assert again.fingerprint() != first.plan.fingerprint()  # a replay says that it is one


def test_a_record_of_another_network_is_refused_before_anyone_moves() -> None:
    record = Recorded.of(plan(replace(OWN, schedule=gv.networks.OneEdge())).timetable)
    with pytest.raises(NetworkError, match="the network has no such link; pass the network of"):
        _ = replace(plan(replace(OWN, schedule=record)), network=gv.networks.star(4)).timetable


@pytest.mark.parametrize(
    "schedule",
    [PoissonClocks(), CLOCKS, EPOCHS, Recorded.of(plan().timetable)],
    ids=["equal", "rates", "epochs", "recorded"],
)
def test_a_plan_survives_toml(schedule: Schedule) -> None:
    chosen = plan(replace(OWN, schedule=schedule))
    again = gv.Plan.from_toml(chosen.to_toml())
    assert again == chosen and hash(again) == hash(chosen)
    assert again.fingerprint() == chosen.fingerprint()


def test_another_record_has_another_fingerprint() -> None:
    whole = Recorded.of(plan().timetable)
    turned = Recorded(4, whole.meetings[::-1])
    one, other = (plan(replace(OWN, schedule=record)) for record in (whole, turned))
    assert one.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('clock = "own"', 'clock = "mine"', "unknown clock 'mine'; choose from common, own"),
        ('"poisson-clocks"', '"poisson-clock"', "unknown method.schedule 'poisson-clock'; did you"),
        ("rates = ", "rate = ", "method.schedule.rate: unknown key 'rate'; did you mean 'rates'"),
        ('kind = "poisson-clocks"\n', "", "unknown method.schedule None"),
        ("0.1,", '"slow",', "the rate of agent 2 must be a number, not 'slow'"),
    ],
)
def test_a_wrong_plan_file_is_refused_with_the_place(old: str, new: str, message: str) -> None:
    text = plan().to_toml()
    assert old in text
    with pytest.raises(PlanError, match=message):
        gv.Plan.from_toml(text.replace(old, new))


def test_who_meets_more_often_counts_more() -> None:
    """Gossip descends on Σ w_i f_i, w_i being the mean of p_e over the links of agent i.

    Three agents whose samples point in different directions, the first with a fast clock: they end
    at the principal component of w-weighted samples. Where all links meet equally often they end at
    that of all samples alike. The two are 79 degrees apart.
    """
    rng = stream(0, "data", "weights")
    samples = [rng.standard_normal((40, 6)) * (1 + 2 * (np.arange(6) == k)) for k in range(3)]

    def component(weights: tuple[float, ...]) -> Array:
        whole = sum(w * x.T @ x for w, x in zip(weights, samples, strict=True))
        return np.ascontiguousarray(np.linalg.eigh(whole)[1][:, -1:])

    rare, frequent = 1.5 / 22, 20.5 / 22  # p_e of the links (1, 2) and (0, 1)
    weighted = component((frequent, (frequent + rare) / 2, rare))
    alike = component((1.0, 1.0, 1.0))
    space = gv.geometry.Grassmann()
    for schedule, near, far in (
        (PoissonClocks((20.0, 1.0, 1.0)), weighted, alike),
        (gv.networks.OneEdge(), alike, weighted),
    ):
        method = gv.Gossip(1e3, 800, schedule, "curvature", gv.StepSize(1.0, 0.01), "own")
        chosen = gv.Plan(6, 1, gv.networks.path(3), method, seed=3)
        mean = gv.run(chosen, [gv.PCAProblem(part) for part in samples]).mean
        # Directions of nearly equal strength are still being weighed after 800 slots.
        assert space.distance(mean, near) < 0.4 < 1.2 < space.distance(mean, far)
