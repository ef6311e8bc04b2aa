"""Text that is valid in any document."""

import re


def one_line(text: str) -> str:
    """Join a text to one line and replace characters that documents cannot contain."""
    line = " ".join(text.split())
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", line
    )
