"""What applies to each example of the gallery: its place, and how long it may run."""

import signal
from pathlib import Path
from types import FrameType

SECONDS = 30
ORDER = (
    "ratings",
    "owners",
    "clicks",
    "digits",
    "sensors",
    "tasks",
    "pca",
    "own_network",
    "bytes",
    "asynchronous",
    "own_problem",
    "losses",
    "compare",
)


class Order:
    """The order of the examples, as a reader comes; a new one has to be given a place."""

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, name: str) -> int:
        """Return the place of an example."""
        return ORDER.index(Path(name).stem)


def reset(gallery: dict[str, object], name: str, when: str) -> None:
    """Let an example fail if it runs for too long; called before and after it."""

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{name} runs for more than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS if when == "before" else 0)
