"""The demonstration: six agents complete half-erased images that none of them shows the others."""

from grassvine.demo.comparison import Comparison, compare
from grassvine.demo.images import MaskedImages, masked_digits
from grassvine.demo.picture import draw

__all__ = ["Comparison", "MaskedImages", "compare", "draw", "masked_digits"]
