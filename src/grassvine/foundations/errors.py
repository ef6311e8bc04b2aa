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
    """Base class of all exceptions raised by grassvine.

    Examples
    --------
    >>> import grassvine as gv
    >>> try:
    ...     gv.networks.from_edges([(0, 1), (2, 3)])
    ... except gv.GrassvineError as error:
    ...     print(type(error).__name__)
    NetworkError
    """

    def within(self, place: str) -> Self:
        """Return the same error with the place where it occurred in front."""
        error = type(self)(f"{place}: ", *self.args)
        for note in getattr(self, "__notes__", ()):
            error.add_note(note)
        return error


class InputError(GrassvineError, ValueError):
    """An argument or input file is invalid.

    Examples
    --------
    >>> import grassvine as gv
    >>> try:
    ...     gv.Gossip(rho=-1.0)
    ... except ValueError as error:  # every InputError is a ValueError
    ...     print(error)
    rho is -1; choose a finite number of at least 0.
    """


class BasisError(InputError):
    """A basis or other matrix is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> try:
    ...     gv.geometry.Grassmann().as_point(np.ones((3, 2)))
    ... except gv.BasisError as error:
    ...     print(str(error).split(" (")[0])
    the columns of basis are not orthonormal
    """


class DataError(InputError):
    """Ratings, tasks or samples are invalid.

    Examples
    --------
    >>> import grassvine as gv
    >>> try:
    ...     gv.Ratings.from_arrays([0, 0], [1, 1], [5.0, 3.0])
    ... except gv.DataError as error:
    ...     print(error)
    1 rating repeats an existing entry: (user 0, item 1); keep one rating per user and item.
    """


class NetworkError(InputError):
    """A network or timetable is invalid.

    Examples
    --------
    >>> import grassvine as gv
    >>> try:
    ...     gv.networks.from_edges([(0, 1), (2, 3)])
    ... except gv.NetworkError as error:
    ...     print(str(error).split(" (")[0])
    the network is not connected: it has 2 components
    """


class PlanError(InputError):
    """The options of a run are invalid or contradict each other.

    Examples
    --------
    >>> import grassvine as gv
    >>> try:
    ...     gv.Plan(n_items=3, rank=5, network=gv.networks.ring(4))
    ... except gv.PlanError as error:
    ...     print(str(error).split(";")[0])
    rank is 5, but a subspace of 3 items has between 1 and 3 dimensions
    """


class MessageError(InputError):
    """A message from a neighbour, a log entry or a snapshot is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> from grassvine.protocol import decode
    >>> try:
    ...     decode(b"nonsense", {"basis": (4, 2)}, sender=0, slot=3)
    ... except gv.MessageError as error:
    ...     print(type(error).__name__)
    MessageError
    """


class ModelError(InputError):
    """A saved model is invalid.

    Examples
    --------
    >>> import grassvine as gv
    >>> try:
    ...     gv.load("not-a-model")
    ... except gv.ModelError as error:
    ...     print(error)
    there is no folder not-a-model; pass the folder of a saved model.
    """


class CheckpointError(InputError):
    """The checkpoints of a run are invalid.

    Examples
    --------
    >>> import grassvine as gv
    >>> issubclass(gv.CheckpointError, gv.InputError)
    True
    """


class OutputError(GrassvineError, OSError):
    """A file or folder cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import grassvine as gv
    >>> _ = Path("taken").write_text("something else")
    >>> model = gv.DecentralizedPCA(2).fit(np.random.default_rng(0).normal(size=(60, 8)))
    >>> try:
    ...     model.save("taken", overwrite=True)  # only saved models are replaced
    ... except OSError as error:
    ...     print(type(error).__name__)
    OutputError
    """

    def __init__(self, *parts: object):
        self.args = parts  # OSError would keep two of them


class AgentError(GrassvineError, RuntimeError):
    """An agent failed during a run.

    Examples
    --------
    >>> import grassvine as gv
    >>> def cost(U):
    ...     raise OSError("the sensor is gone")
    >>> problems = [gv.CustomProblem(3, cost)] * 2
    >>> try:
    ...     gv.run(gv.Plan(3, 1, gv.networks.path(2), gv.Gossip()), problems)
    ... except gv.AgentError as error:
    ...     print(error)
    agent 0 failed at slot 0: OSError: the sensor is gone
    """

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
    """A check of :mod:`grassvine.checks` failed.

    Examples
    --------
    >>> import numpy as np
    >>> import grassvine as gv
    >>> wrong = gv.CustomProblem(6, lambda U: (float(np.sum(U[0] ** 2)), U))
    >>> try:
    ...     gv.checks.check_problem(wrong, rank=2)
    ... except gv.CheckFailed as failure:
    ...     print(str(failure).split(":")[0])
    the gradient must be the derivative of the cost
    """


class MissingExtra(GrassvineError, ImportError):
    """An optional dependency is not installed.

    Examples
    --------
    >>> import grassvine as gv
    >>> print(gv.MissingExtra("RayEngine", "ray"))
    RayEngine needs an optional dependency: pip install 'grassvine[ray]'
    """

    def __init__(self, wanted_for: str, extra: str):
        super().__init__(wanted_for, extra)
        self.wanted_for = wanted_for
        self.extra = extra

    def _text(self, write: Callable[[Option], str]) -> str:
        return (
            f"{self.wanted_for} needs an optional dependency: pip install 'grassvine[{self.extra}]'"
        )


class ConvergenceWarning(Worded, UserWarning):
    """An iteration stopped before it converged; its result is the best found so far.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import grassvine as gv
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = gv.DecentralizedPCA(2, agents=3, method="deepca", max_iter=2).fit(X)
    >>> caught[0].category.__name__
    'ConvergenceWarning'
    """


class UnknownIdWarning(Worded, UserWarning):
    """A model was asked about users, items or tasks that it does not know.

    Examples
    --------
    >>> import warnings
    >>> import polars as pl
    >>> import grassvine as gv
    >>> ratings = pl.DataFrame({"user": [1, 1, 2], "item": [1, 2, 1], "rating": [5, 3, 4]})
    >>> model = gv.MatrixCompleter(rank=1).fit(ratings)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     predicted = model.predict([3], [1])
    >>> caught[0].category.__name__
    'UnknownIdWarning'
    """


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
