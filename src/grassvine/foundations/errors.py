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
    ├── PeerError (ConnectionError)  a member of a run is missing or was refused
    ├── CheckFailed (AssertionError) a check of grassvine.checks failed
    └── MissingExtra (ImportError)   an optional dependency is not installed

    ConvergenceWarning (UserWarning) an iteration stopped before it converged
    UnknownIdWarning (UserWarning)   a model was asked about users, items or tasks it does not know

Each message states what is wrong and where, and how to fix it, in the words of the interface that
was used: where it names a parameter, it contains an :class:`Option`, which reads
``duplicates='mean'`` in Python and ``--duplicates mean`` on the command line. What had been assumed
about a file before the error was found is in the notes of the exception. A message may quote what
somebody else wrote: control characters, which a terminal would obey, are escaped, and long
quotations are cut.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

MAX_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter that a message names, and a value to give it, or ``...`` for none."""

    name: str
    value: object = ...

    def __str__(self) -> str:
        """Return the option as it is written in Python."""
        return self.name if self.value is ... else f"{self.name}={self.value!r}"


class Worded:
    """An exception or warning whose arguments are the parts of its message: text and options."""

    args: tuple[object, ...]

    def __str__(self) -> str:
        """Return the message as a Python user reads it."""
        return self.render(str)

    def render(self, write: Callable[[Option], str]) -> str:
        """Return the message with each option written by ``write``, safe to print."""
        text = self._text(write)
        if len(text) > MAX_LENGTH:
            text = f"{text[: MAX_LENGTH // 2]} … {text[-MAX_LENGTH // 2 :]}"
        return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)

    def _text(self, write: Callable[[Option], str]) -> str:
        return "".join(write(p) if isinstance(p, Option) else str(p) for p in self.args)


class GrassvineError(Worded, Exception):
    """Base class of all exceptions raised by grassvine."""

    def within(self, place: str) -> Self:
        """Return the same error with the place where it occurred in front."""
        error = type(self)(f"{place}: ", *self.args)
        for note in getattr(self, "__notes__", ()):
            error.add_note(note)
        return error


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

    def __init__(self, *parts: object):
        self.args = parts  # OSError would keep two of them


class AgentError(GrassvineError, RuntimeError):
    """An agent failed during a run."""

    def __init__(self, agent: int, slot: int, cause: str):
        super().__init__(agent, slot, cause)
        self.agent = agent
        self.slot = slot
        self.cause = cause

    def _text(self, write: Callable[[Option], str]) -> str:
        return f"agent {self.agent} failed at slot {self.slot}: {self.cause}"


class PeerError(GrassvineError, ConnectionError):
    """A member of a run between organisations is missing, or refuses to take part."""

    def __init__(self, *parts: object):
        self.args = parts  # OSError would keep two of them


class CheckFailed(GrassvineError, AssertionError):
    """A check of :mod:`grassvine.checks` failed."""


class MissingExtra(GrassvineError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, wanted_for: str, extra: str):
        super().__init__(wanted_for, extra)
        self.wanted_for = wanted_for
        self.extra = extra

    def _text(self, write: Callable[[Option], str]) -> str:
        return (
            f"{self.wanted_for} needs an optional dependency: pip install 'grassvine[{self.extra}]'"
        )


class ConvergenceWarning(Worded, UserWarning):
    """An iteration stopped before it converged; its result is the best found so far."""


class UnknownIdWarning(Worded, UserWarning):
    """A model was asked about users, items or tasks that it does not know."""


def unknown(what: str, given: object, known: Iterable[str]) -> str:
    """Return the error message for an unknown name, suggesting the closest known one."""
    return f"unknown {what} {given!r}; {nearest(given, known)}"


def nearest(given: object, known: Iterable[str]) -> str:
    """Return a hint: the known name closest to the given one, or all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(str(given), names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}."


def counted(count: int, one: str, several: str) -> str:
    """Return a number with its noun, and perhaps a verb, in the singular or the plural."""
    return f"{count} {one if count == 1 else several}"


@contextmanager
def noting(notes: Iterable[str]) -> Iterator[None]:
    """Add what was assumed so far to the notes of an error, once each."""
    try:
        yield
    except GrassvineError as error:
        for note in notes:
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        raise
