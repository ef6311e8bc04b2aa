"""The demonstration: agents that each hold one digit complete images of all digits."""

from grassvine.demo.comparison import METHODS, Comparison, compare
from grassvine.demo.images import MaskedImages, masked_digits
from grassvine.demo.picture import draw
from grassvine.demo.shares import Shares, one_kind_each
from grassvine.demo.words import compared_with_pooled, what_to_see

__all__ = [
    "METHODS",
    "Comparison",
    "MaskedImages",
    "Shares",
    "compare",
    "compared_with_pooled",
    "draw",
    "masked_digits",
    "one_kind_each",
    "what_to_see",
]
