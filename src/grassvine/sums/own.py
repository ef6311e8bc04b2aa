"""What each agent has of its own, where the agents of a process share one program.

A program names such a value by an :class:`Own`, which only the computation of a part resolves, with
the :class:`Data` of the agent whose part it is::

    rest = Own(lambda data: data[problem].hold_out(share, seed)[0])
    ...
    sums = yield from all_reduce(iterate, lambda data: data[rest].evaluate(model).sums)
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from grassvine.problems.base import Problem

Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
AnyProblem = TypeVar("AnyProblem", bound=Problem)


class Data:
    """The problem of one agent, and what computations of its parts derived from it.

    A derived value is kept for as long as a program refers to its :class:`Own`.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self._known: WeakKeyDictionary[Own[Any], Any] = WeakKeyDictionary()

    def __getitem__(self, own: "Own[Value]") -> Value:
        """Return this agent's value; derive it if it is needed for the first time."""
        if own not in self._known:
            self._known[own] = own.derive(self)
        value: Value = self._known[own]
        return value

    def __setitem__(self, own: "Own[Value]", value: Value) -> None:
        """Keep a by-product of a part."""
        self._known[own] = value

    def get(self, own: "Own[Value]") -> Value | None:
        """Return a value if it is known; it is not after the program was replayed."""
        return self._known.get(own)


def _not_derived(data: Data) -> Any:
    raise AssertionError("this value is a by-product of a part")


class Own(Generic[Value_co]):
    """A value that each agent has of its own.

    Parameters
    ----------
    derive : callable, optional
        Returns the value of an agent from its data. Without it the value is a by-product, which the
        computation of a part sets.
    """

    def __init__(self, derive: Callable[[Data], Value_co] = _not_derived):
        self.derive = derive


def own_problem(example: AnyProblem) -> Own[AnyProblem]:
    """Return the name of each agent's problem, which is of the same kind as the example."""
    kind = type(example)

    def derive(data: Data) -> AnyProblem:
        assert isinstance(data.problem, kind)
        return data.problem

    return Own(derive)
