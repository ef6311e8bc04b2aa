"""What all agents have in common: steps computed once per process, and reasons to stop.

All agents of a program are sent the same sums and compute the same steps from them. A step written
as a pure function of its sums and of frozen data is memoised by :func:`computed_once`, so agents in
one process share its result. Nothing else is shared: an agent whose arguments differ in a single
bit computes its own step, and a result is forgotten when no agent can ask for it any more.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, ref

import numpy as np

from grassvine.sums.program import Subprogram, decide

NO_STEP = "no step reduces the cost any further"
CONTRADICTION = (
    "no step reduces the cost, although its gradient says so: they do not belong together"
)
# A descent at rounding level expects far less than this fraction of the cost.
CONTRADICTING = 1e-4

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
State = TypeVar("State")


def computed_once(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Memoise a pure function for as long as its result is in use.

    Results must support weak references, and arguments that do are not kept alive either.
    Arguments are arrays, numbers, strings, sequences and dataclasses of these, which must not be
    modified afterwards, nor may the results.
    """
    known: list[tuple[list[Callable[[], Any]], Callable[[], Result | None]]] = []
    lock = Lock()

    @wraps(function)
    def shared(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        with lock:
            for given, known_result in known:
                result = known_result()
                if result is not None and same_bits([each() for each in given], [*arguments]):
                    return result
            known[:] = [entry for entry in known if entry[1]() is not None]
            result = function(*arguments, **options)
            known.append((list(map(_reference, arguments)), ref(result)))
            return result

    return shared


def no_step_reason(expected: float, cost: float) -> Subprogram[str]:
    """Return why a descent ends whose smallest steps do not reduce the cost.

    ``expected`` is by how much the gradient and the preconditioner say that the cost can fall.
    """
    contradicting = yield from decide(expected > CONTRADICTING * abs(cost))
    return CONTRADICTION if contradicting else NO_STEP


def kept_with_state(
    function: Callable[Concatenate[State, Arguments], Result],
) -> Callable[Concatenate[State, Arguments], Result]:
    """Keep each result of a step for as long as the state before it is in use.

    Otherwise the last step of a program, whose result nobody holds, would be computed anew by each
    agent.
    """
    kept: WeakKeyDictionary[State, Result] = WeakKeyDictionary()

    @wraps(function)
    def keeping(state: State, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        result = kept[state] = function(state, *arguments, **options)
        return result

    return keeping


def _reference(value: object) -> Callable[[], object]:
    """Return a weak reference, or a strong one to a value that does not support it."""
    try:
        return ref(value)
    except TypeError:
        return lambda: value


def same_bits(one: Any, other: Any) -> bool:
    """Return whether two values have the same types, shapes and bits."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        if one.__array_interface__ == other.__array_interface__:  # the same memory
            return True
        bits = np.dtype(f"u{one.itemsize}")
        return np.array_equal(one.view(bits), other.view(bits))
    if isinstance(one, float):
        return one.hex() == other.hex()
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_bits, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and same_bits([*one.values()], [*other.values()])
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        return all(same_bits(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)
