import numpy as np
import pytest

from grassvine.cli.show import demo_table
from grassvine.demo import METHODS, Comparison, compare, masked_digits, one_kind_each


@pytest.fixture(scope="module")
def twenty() -> Comparison:
    return compare(one_kind_each(masked_digits(seed=1), 20, seed=1), seed=1)


@pytest.fixture(params=["six agents", pytest.param("twenty agents", marks=pytest.mark.slow)])
def either(request: pytest.FixtureRequest, comparison: Comparison) -> Comparison:
    if request.param == "six agents":
        return comparison
    found: Comparison = request.getfixturevalue("twenty")
    return found


def test_alone_even_the_best_agent_is_far_worse_than_pooled(either: Comparison) -> None:
    assert either.error("alone") >= 1.3 * either.error("pooled")
    assert either.errors("alone").min() >= 1.2 * either.error("pooled")


def test_by_the_exact_method_every_agent_completes_what_one_owner_of_all_completes(
    either: Comparison,
) -> None:
    # Sums of the same numbers in another order: rounding, of a gradient that fell to 1e-8.
    pooled = either.completed["pooled"][0]
    assert np.abs(either.completed["exact"] - pooled).max() < 1e-6
    np.testing.assert_allclose(either.errors("exact"), either.error("pooled"), rtol=1e-9)


def test_by_gossip_every_agent_comes_within_two_per_cent_of_pooled(either: Comparison) -> None:
    assert either.errors("gossip").max() < 1.02 * either.error("pooled")
    assert either.gossip.agreement_degrees < 5.0


@pytest.mark.parametrize("n_agents", [2, pytest.param(13, marks=pytest.mark.slow)])
def test_the_gain_is_there_for_other_numbers_of_agents(n_agents: int) -> None:
    found = compare(one_kind_each(masked_digits(), n_agents))
    assert found.error("alone") >= 1.3 * found.error("pooled")
    assert abs(found.excess("exact")) < 1e-9
    assert found.gossip.plan.network.n_agents == n_agents


def test_errors_are_measured_at_erased_pixels_only(comparison: Comparison) -> None:
    test = comparison.shares.test
    changed = {
        method: np.where(test.known, 99.0, images)
        for method, images in comparison.completed.items()
    }
    other = Comparison(comparison.shares, changed, comparison.gossip, comparison.exact)
    for method in METHODS:
        assert other.error(method) == comparison.error(method)
    nothing = {method: np.zeros((1, *test.pixels.shape)) for method in METHODS}
    zeros = Comparison(comparison.shares, nothing, comparison.gossip, comparison.exact)
    assert zeros.error("alone") == 1.0 and zeros.excess("alone") == 0.0


def test_the_table_names_every_method_and_what_to_look_for(
    comparison: Comparison, capsys: pytest.CaptureFixture[str]
) -> None:
    demo_table(comparison, seconds=1.0, picture=None)
    printed = capsys.readouterr().out
    for part in ("each agent alone", "gossip", "exact (default)", "pooled", "% worse", "equal"):
        assert part in printed
    assert printed.count("What to look for: ") == 1
