"""How long a member waits, and when it writes checkpoints."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds, and when to write checkpoints.

    Attributes
    ----------
    patience : float
        How long to wait for neighbours without any progress.
    grace : float
        How long a member waits for the last confirmations when all its neighbours have finished.
    heartbeat : float
        Time between two :class:`Status` frames.
    silence : float
        A connection on which nothing arrives for so long is closed.
    checkpoint_bytes : int
        Write a checkpoint after this many bytes of messages.
    """

    patience: float = 3600.0
    grace: float = 30.0
    heartbeat: float = 15.0
    silence: float = 60.0
    checkpoint_bytes: int = 2**26
