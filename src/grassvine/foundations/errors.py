"""Exceptions and warnings.

::

    GrassvineError
    ├── InputError (ValueError)      an argument or input file is invalid
    │   ├── BasisError               a basis or other matrix
    │   ├── DataError                ratings, tasks, samples
    │   ├── NetworkError             a network or timetable
    │   ├── PlanError                options of a run
    │   ├── MessageError             a message, log entry or snapshot
    │   ├── ModelError               a saved model
    │   └── CheckpointError          the checkpoints of a run
    ├── OutputError (OSError)        a file or folder cannot be written
    ├── AgentError (RuntimeError)    an agent failed during a run
    ├── CheckFailed (AssertionError) a check of grassvine.checks failed
    └── MissingExtra (ImportError)   an optional dependency is not installed

    ConvergenceWarning (UserWarning) an iteration stopped before it converged
    UnknownIdWarning (UserWarning)   a model was asked about users, items or tasks it does not know

Each message states what is wrong and where, and how to fix it. It may quote what somebody else
wrote: control characters, which a terminal would obey, are escaped, and long quotations are cut.
"""

import difflib
from collections.abc import Iterable

MAX_LENGTH = 1000


class GrassvineError(Exception):
    """Base class of all exceptions raised by grassvine."""

    def __str__(self) -> str:
        """Return the message, safe to print."""
        text = super().__str__()
        if len(text) > MAX_LENGTH:
            text = f"{text[: MAX_LENGTH // 2]} … {text[-MAX_LENGTH // 2 :]}"
        return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


class InputError(GrassvineError, ValueError):
    """An argument or input file is invalid."""


class BasisError(InputError):
    """A basis or other matrix is invalid."""


class DataError(InputError):
    """Ratings, tasks or samples are invalid."""


class NetworkError(InputError):
    """A network or timetable is invalid."""


class PlanError(InputError):
    """The options of a run are invalid or contradict each other."""


class MessageError(InputError):
    """A message from a neighbour, a log entry or a snapshot is invalid."""


class ModelError(InputError):
    """A saved model is invalid."""


class CheckpointError(InputError):
    """The checkpoints of a run are invalid."""


class OutputError(GrassvineError, OSError):
    """A file or folder cannot be written."""


class AgentError(GrassvineError, RuntimeError):
    """An agent failed during a run."""

    def __init__(self, agent: int, slot: int, cause: str):
        super().__init__(agent, slot, cause)
        self.agent = agent
        self.slot = slot
        self.cause = cause

    def __str__(self) -> str:
        """Return the agent, the slot and the cause."""
        return f"agent {self.agent} failed at slot {self.slot}: {self.cause}"


class CheckFailed(GrassvineError, AssertionError):
    """A check of :mod:`grassvine.checks` failed."""


class MissingExtra(GrassvineError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, wanted_for: str, extra: str):
        super().__init__(wanted_for, extra)
        self.wanted_for = wanted_for
        self.extra = extra

    def __str__(self) -> str:
        """Return the command that installs the dependency."""
        return (
            f"{self.wanted_for} needs an optional dependency: pip install 'grassvine[{self.extra}]'"
        )


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it converged; its result is the best found so far."""


class UnknownIdWarning(UserWarning):
    """A model was asked about users, items or tasks that it does not know."""


def unknown(what: str, given: object, known: Iterable[str]) -> str:
    """Return the error message for an unknown name, suggesting the closest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(str(given), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}."
    return f"unknown {what} {given!r}; {hint}"
