"""Text that any document can hold."""

import re


def one_line(text: str) -> str:
    """Put a text on one line, and a sign in the place of what no document can hold."""
    line = " ".join(text.split())
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", line
    )
