import numpy as np
import pytest

from grassvine.demo import masked_digits
from grassvine.foundations.errors import PlanError


def test_three_fifths_of_the_pixels_are_erased() -> None:
    images = masked_digits()
    assert images.pixels.shape == (1797, 64)
    # 115 008 coin tosses: three standard deviations are 0.0043.
    assert images.known.mean() == pytest.approx(0.4, abs=0.0043)
    assert images.ratings().n_values == images.known.sum()
    assert set(images.kinds) == set(range(10))


def test_taken_images_keep_their_pixels_and_kinds() -> None:
    images = masked_digits()
    chosen = np.array([7, 3])
    some = images.take(chosen)
    assert np.array_equal(some.pixels, images.pixels[chosen])
    assert np.array_equal(some.known, images.known[chosen])
    assert list(some.kinds) == [images.kinds[7], images.kinds[3]]


def test_all_pixels_cannot_be_erased() -> None:
    with pytest.raises(PlanError, match=r"missing is 1; choose a finite number .* below 1"):
        masked_digits(missing=1.0)
