from pathlib import Path

import numpy as np
import pytest

from grassvine.demo import Comparison, compare, draw, masked_digits
from grassvine.foundations.errors import MissingExtra, PlanError


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(masked_digits())


def test_gossip_comes_near_the_owner_of_all_images(comparison: Comparison) -> None:
    alone = comparison.errors(comparison.alone)
    gossip = comparison.errors(comparison.gossip)
    pooled = comparison.errors(comparison.pooled)
    assert pooled < alone
    # Most of what pooling gains is gained by talking.
    assert gossip < pooled + 0.2 * (alone - pooled)


def test_each_agent_completes_its_own_images(comparison: Comparison) -> None:
    assert set(np.bincount(comparison.owner)) == {299, 300}
    erased = ~comparison.images.known
    squares = [
        (comparison.errors(comparison.gossip, agent), comparison.owner == agent)
        for agent in range(6)
    ]
    truth = comparison.images.pixels
    parts = sum(e**2 * np.sum(truth[mine][erased[mine]] ** 2) for e, mine in squares)
    assert np.sqrt(parts / np.sum(truth[erased] ** 2)) == pytest.approx(
        comparison.errors(comparison.gossip), rel=1e-12
    )


def test_the_picture_is_written_whole(comparison: Comparison, tmp_path: Path) -> None:
    path = draw(comparison, tmp_path / "digits.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == ["digits.png"]


def test_without_matplotlib_one_line_says_how_to_get_it(
    comparison: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'grassvine\[plots\]'"):
        draw(comparison, tmp_path / "digits.png")


def test_three_fifths_of_the_pixels_are_erased() -> None:
    images = masked_digits()
    assert images.pixels.shape == (1797, 64)
    # 115 008 coin tosses: three standard deviations are 0.0043.
    assert images.known.mean() == pytest.approx(0.4, abs=0.0043)
    assert images.ratings().n_values == images.known.sum()
    with pytest.raises(PlanError, match=r"missing is 1; choose a finite number .* below 1"):
        masked_digits(missing=1.0)
