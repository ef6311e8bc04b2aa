"""The type of functions that are told how far an operation has come."""

from collections.abc import Callable
from typing import TypeAlias

Watch: TypeAlias = Callable[[float], None]  # is called with the completed fraction
