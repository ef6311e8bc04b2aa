import pytest
from tests.samples import N_ITEMS, ratings

import grassvine as gv
from grassvine.foundations.errors import PlanError
from grassvine.protocol import StepReport


def report(agent: int, cost: float, distance: float = 0.0) -> StepReport:
    return StepReport(agent, 0, 0, cost, 0.0, 0.0, neighbour=1 - agent, distance=distance)


def test_it_waits_until_every_agent_is_content() -> None:
    stop = gv.EarlyStop(2, cost_change=0.1, n_iter_no_change=2)
    quiet = [stop(report(0, 1.0)), stop(report(0, 1.01)), stop(report(0, 1.02))]
    quiet += [stop(report(1, 5.0)), stop(report(1, 5.1))]
    assert quiet == [None] * 5
    reason = stop(report(1, 5.2))
    assert reason == "no agent's relative cost change exceeded 0.1 in its last 2 updates"


def test_a_jump_or_a_distant_neighbour_starts_the_wait_again() -> None:
    stop = gv.EarlyStop(1, cost_change=0.1, distance=0.5, n_iter_no_change=2)
    costs = [(1.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 0.0), (2.0, 0.9), (2.0, 0.0)]
    assert [stop(report(0, *c)) for c in costs] == [None] * 6
    assert stop(report(0, 2.0))


def test_it_ends_a_run_early_with_its_reason() -> None:
    # All links at once: nothing is random, so the costs settle.
    method = gv.Gossip(rho=10.0, max_iter=2000, schedule=gv.networks.AllEdges())
    plan = gv.Plan(N_ITEMS, 2, gv.networks.ring(3), method)
    problems = [
        gv.CompletionProblem(part, unobserved=0.1) for part in gv.datasets.split_users(ratings(), 3)
    ]
    result = gv.run(
        plan, problems, observers=[gv.EarlyStop(3, cost_change=1e-6, n_iter_no_change=10)]
    )
    assert result.n_slots < 2000
    assert "relative cost change exceeded 1e-06" in result.stop_reason
    full = gv.run(plan, problems)
    assert full.stop_reason == "the timetable ended" and full.n_slots == 2000
    # What was left out would have changed the costs by little more than the tolerance a step.
    gap = abs(full.history.final()["cost"] / result.history.final()["cost"] - 1.0)
    assert gap.max() < 1e-3


@pytest.mark.parametrize("options", [{"n_iter_no_change": 0}, {"cost_change": -1.0}])
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(PlanError, match=next(iter(options))):
        gv.EarlyStop(2, **options)  # type: ignore[arg-type]
