"""The demonstration in words: how much worse a method is, and the sentence of what to see."""

from grassvine.demo.comparison import Comparison

# Errors that differ by less than this share are told as equal; the exact method and one owner of
# all images differ by rounding only.
EQUAL = 1e-6
# From here on the difference is seen in the picture.
VISIBLE = 0.3


def compared_with_pooled(comparison: Comparison, method: str) -> str:
    """Return by how much the error of a method is larger than the pooled error."""
    excess = comparison.excess(method)
    if abs(excess) < EQUAL:
        return "equal"
    return f"{abs(excess):.1%} {'worse' if excess > 0 else 'better'}".replace("%", " %")


def what_to_see(comparison: Comparison) -> str:
    """Return one sentence of what table and picture show."""
    alone = compared_with_pooled(comparison, "alone")
    if comparison.excess("alone") < VISIBLE:
        erased = 1.0 - comparison.shares.test.known.mean()
        return (
            f"What to see: with {100 * erased:.0f} % of the pixels erased even one owner of all "
            f"images completes them badly, so that agents alone lose little ({alone}); erase less."
        )
    return (
        "What to see: alone, an agent makes every image look like the one digit that it holds "
        f"({alone} than pooled); with the exact method every agent completes all digits as well as "
        "one owner of all images, and no image was sent."
    )
