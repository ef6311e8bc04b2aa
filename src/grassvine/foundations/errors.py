"""The errors of grassvine, and how they are worded.

::

    GrassvineError
    ├── InputError (ValueError)      something given cannot be used
    │   ├── BasisError               a basis or another matrix
    │   ├── DataError                ratings, tasks, samples
    │   ├── NetworkError             agents and links
    │   ├── PlanError                options of a run
    │   ├── MessageError             bytes or arrays from a neighbour, or an agent's past
    │   ├── ModelError               a saved model
    │   └── CheckpointError          what a run kept to go on from
    ├── OutputError (OSError)        a file or folder cannot be written
    ├── AgentError (RuntimeError)    an agent failed in the middle of a run
    ├── CheckFailed (AssertionError) a shipped check found a law broken
    └── MissingExtra (ImportError)   an optional part is not installed

    ConvergenceWarning (UserWarning)         an iteration stopped before it settled

Each message says what is wrong and where, and ends with how to mend it.
"""

import difflib
from collections.abc import Iterable


class GrassvineError(Exception):
    """The root of all errors raised on purpose."""


class InputError(GrassvineError, ValueError):
    """Something given cannot be used."""


class BasisError(InputError):
    """A basis or another matrix cannot be used."""


class DataError(InputError):
    """Ratings, tasks or samples cannot be used."""


class NetworkError(InputError):
    """Agents and links do not make a network."""


class PlanError(InputError):
    """The options of a run are wrong or contradict each other."""


class MessageError(InputError):
    """What a neighbour sent, or what an agent is told of its past, cannot be used."""


class ModelError(InputError):
    """A saved model cannot be used."""


class CheckpointError(InputError):
    """Checkpoints cannot be used."""


class OutputError(GrassvineError, OSError):
    """A file or folder cannot be written."""


class AgentError(GrassvineError, RuntimeError):
    """An agent failed in the middle of a run."""

    def __init__(self, agent: int, slot: int, cause: str):
        super().__init__(agent, slot, cause)
        self.agent = agent
        self.slot = slot
        self.cause = cause

    def __str__(self) -> str:
        """Name the agent, the slot and the cause."""
        return f"agent {self.agent} failed at slot {self.slot}: {self.cause}"


class CheckFailed(GrassvineError, AssertionError):
    """A shipped check found a law broken."""


class MissingExtra(GrassvineError, ImportError):
    """An optional part is not installed."""

    def __init__(self, wanted_for: str, extra: str):
        super().__init__(wanted_for, extra)
        self.wanted_for = wanted_for
        self.extra = extra

    def __str__(self) -> str:
        """Give the exact command."""
        return f"{self.wanted_for} needs an optional part: pip install 'grassvine[{self.extra}]'"


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it settled; its result is the best so far."""


def unknown(what: str, given: object, known: Iterable[str]) -> str:
    """Word the message for an unknown option, with the nearest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(str(given), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}."
    return f"unknown {what} {given!r}; {hint}"
