"""What hides a member's part of a sum from all others, and where nothing can."""

from collections.abc import Sequence

from grassvine.foundations.errors import Option, PlanError
from grassvine.peers.fit.learning import Learning
from grassvine.peers.identity.cards import Card
from grassvine.sums.summation import FIXED

NONE, MASKED = "none", "masked"
MIN_SUPPORT = 5  # users or samples that an item or feature needs, if sums are masked


def check_masks(members: Sequence[Card], learning: Learning, sums: str) -> None:
    """Raise :class:`PlanError` if masks would hide nothing, or cannot be used."""
    if sums != FIXED:
        raise PlanError("masks need fixed-point sums; set sums to 'fixed', or secrecy to 'none'.")
    if learning.method.gossips:
        raise PlanError(
            f"method {learning.method.name!r} shows every neighbour a member's own basis, "
            "which masks cannot hide; choose method exact, or secrecy none if that is what all "
            "members want."
        )
    if len(members) < 3:
        raise PlanError(
            "two members cannot hide anything from each other: each subtracts its own part from "
            "the total. Find a third member, or choose ",
            Option("secrecy", NONE),
            " if both may know about each other what 'grassvine peer explain' lists.",
        )
    if learning.kind == "ratings" and learning.scale is None:
        raise PlanError(
            "without a scale every member would tell all others the range of its ratings, which "
            "is no sum; give ",
            Option("lowest"),
            " and ",
            Option("highest"),
            ".",
        )
