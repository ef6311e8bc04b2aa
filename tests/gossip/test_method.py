import pytest

import grassvine as gv
from grassvine.foundations.errors import PlanError


def test_the_four_variants_differ_in_schedule_and_preconditioner() -> None:
    variants = [
        gv.gossip.stochastic(),
        gv.gossip.precon_stochastic(),
        gv.gossip.parallel(),
        gv.gossip.precon_parallel(),
    ]
    assert [(type(v.schedule), v.preconditioner) for v in variants] == [
        (gv.networks.OneEdge, "none"),
        (gv.networks.OneEdge, "curvature"),
        (gv.networks.Matchings, "none"),
        (gv.networks.Matchings, "curvature"),
    ]


def test_the_default_is_the_untuned_unit_step() -> None:
    assert gv.Gossip() == gv.gossip.precon_stochastic()
    assert gv.Gossip().step.at(slot=500, linearised=lambda: 3.0) == 1.0


def test_a_step_size_falls_with_the_slot() -> None:
    assert gv.StepSize(0.4, 0.1).at(slot=30, linearised=lambda: 9.0) == pytest.approx(0.1)
    assert gv.StepSize(None, 0.1).at(slot=30, linearised=lambda: 9.0) == pytest.approx(2.25)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gv.Gossip(rho=-1.0), "rho is -1; choose a finite number of at least 0"),
        (lambda: gv.Gossip(rho=float("inf")), "rho is inf"),
        (lambda: gv.Gossip(rho="large"), "rho must be a number, not 'large'"),  # type: ignore[arg-type]
        (lambda: gv.Gossip(max_iter=2.5), "max_iter must be an integer"),  # type: ignore[arg-type]
        (lambda: gv.Gossip(preconditioner="gramm"), "'gramm'; did you mean 'gram'"),  # type: ignore[arg-type]
        (lambda: gv.Gossip(preconditioner="none"), "the unit step needs a preconditioner"),
        (lambda: gv.StepSize(0.0), "step.a is 0, so no basis would move"),
        (lambda: gv.StepSize(-1.0), "step.a is -1"),
        (lambda: gv.StepSize(1.0, -1.0), "step.b is -1"),
    ],
)
def test_options_are_checked(make: object, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        make()  # type: ignore[operator]
