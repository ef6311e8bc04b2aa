import numpy as np
import pytest

from grassvine.demo import masked_digits, one_kind_each
from grassvine.foundations.errors import DataError, PlanError


@pytest.mark.parametrize("n_agents", range(2, 21))
def test_every_agent_holds_images_of_one_kind_and_is_tested_on_all(n_agents: int) -> None:
    images = masked_digits()
    shares = one_kind_each(images, n_agents)
    kinds = set(range(min(n_agents, 10)))
    for agent, part in enumerate(shares.parts):
        assert len(part.kinds) > 50
        assert set(part.kinds) == {agent % 10} == {shares.kind_of(agent)}
    assert set(shares.test.kinds) == kinds
    n_of_these = np.isin(images.kinds, list(kinds)).sum()
    assert shares.n_images + len(shares.test.kinds) == n_of_these
    assert len(shares.test.kinds) == pytest.approx(0.2 * n_of_these, abs=len(kinds))


def test_no_image_is_given_twice() -> None:
    images = masked_digits()
    shares = one_kind_each(images, 20)
    given = np.concatenate([*(part.known for part in shares.parts), shares.test.known])
    # Masks of 64 random pixels: two images have the same one with probability 1e-13.
    assert len(np.unique(given, axis=0)) == len(given) == len(images.kinds)


def test_the_seed_decides_which_images_are_test_images() -> None:
    images = masked_digits()
    one, same, other = (one_kind_each(images, 6, seed=seed).test.pixels for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("n_agents", [1, 21])
def test_the_number_of_agents_is_bounded(n_agents: int) -> None:
    with pytest.raises(PlanError, match=rf"n_agents is {n_agents}; .* from 2 to 20"):
        one_kind_each(masked_digits(), n_agents)


def test_too_little_or_too_much_erased_is_refused() -> None:
    with pytest.raises(DataError, match=r"no pixel .* is erased; increase missing"):
        one_kind_each(masked_digits(missing=0.0), 6)
    with pytest.raises(DataError, match=r"agent 0 knows only \d+ pixels .* decrease missing"):
        one_kind_each(masked_digits(missing=0.999), 6)
