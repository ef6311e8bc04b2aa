"""Text of the demonstration: errors relative to pooled data, and a one-sentence summary."""

from grassvine.demo.comparison import Comparison

# Relative differences below this are reported as equal; the exact method and pooled data differ by
# rounding only.
EQUAL = 1e-6
# Relative differences above this are visible in the figure.
VISIBLE = 0.3


def compared_with_pooled(comparison: Comparison, method: str) -> str:
    """Return the error of a method relative to the pooled error, such as ``49.2% worse``."""
    excess = comparison.excess(method)
    if abs(excess) < EQUAL:
        return "equal"
    return f"{abs(excess):.1%} {'worse' if excess > 0 else 'better'}"


def what_to_see(comparison: Comparison) -> str:
    """Return one sentence on what the table and the figure show."""
    alone = compared_with_pooled(comparison, "alone")
    if comparison.excess("alone") < VISIBLE:
        erased = 1.0 - comparison.shares.test.known.mean()
        return (
            f"What to look for: with {100 * erased:.0f}% of the pixels erased, even pooled data "
            f"complete the images badly, so agents alone lose little ({alone}); erase fewer pixels."
        )
    return (
        "What to look for: alone, an agent makes every image look like the one digit that it holds "
        f"({alone} than pooled); with the exact method, every agent completes all digits as well "
        "as with pooled data, although no image was sent."
    )
