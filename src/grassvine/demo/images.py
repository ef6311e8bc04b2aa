"""The handwritten digits of scikit-learn with most pixels erased."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grassvine.data import Ratings
from grassvine.foundations.arrays import Array, Indices
from grassvine.foundations.options import real_number
from grassvine.foundations.seeds import stream

BRIGHTEST = 16.0


@dataclass(frozen=True, slots=True, eq=False)
class MaskedImages:
    """Images, one per row, with only some pixels known; pixels are items and images are users.

    ``kinds`` holds the digit that each image shows.
    """

    pixels: Array
    known: NDArray[np.bool_]
    kinds: Indices

    def take(self, chosen: Indices) -> "MaskedImages":
        """Return the chosen images, in the given order."""
        return MaskedImages(self.pixels[chosen], self.known[chosen], self.kinds[chosen])

    def ratings(self) -> Ratings:
        """Return the known pixels as ratings, with images as users."""
        image, pixel = np.nonzero(self.known)
        n_images, n_pixels = self.pixels.shape
        return Ratings.from_arrays(
            image, pixel, self.pixels[self.known], n_users=n_images, n_items=n_pixels
        )


def masked_digits(missing: float = 0.6, seed: int = 0) -> MaskedImages:
    """Return the 1797 digits with a random share of their pixels erased."""
    from sklearn.datasets import load_digits

    real_number("missing", missing, least=0.0, below=1.0)
    digits = load_digits()
    pixels = digits.data.astype(np.float64)
    known = stream(seed, "data", "known pixels").random(pixels.shape) >= missing
    return MaskedImages(pixels, known, digits.target.astype(np.int64))
